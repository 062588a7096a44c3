"""Rows of three kinds: told apart by their fields, one kind a source, and their bytes stay."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rsi_master.core.action import OS
from rsi_master.core.artifact import ROW, AnyRow, Artifact, Pair, Prompt, Row, RowKind, kind_of
from rsi_master.core.canonical import decode, encode
from rsi_master.core.dataset import DatasetRegistered, Source
from rsi_master.core.errors import Finding, Misuse
from rsi_master.core.event import Event
from rsi_master.core.facts import CODEC
from rsi_master.core.failure import Failure
from rsi_master.domains.data.pool import render
from rsi_master.programs.jobs import rows
from rsi_master.programs.jobs.result import Untrainable

WORKED = Row(prompt="Q: ü?\nA:", completion=" 1")
ALONE = Prompt(prompt="Q: ü?\nA:")
PAIR = Pair(prompt="Q: ü?\nA:", chosen=" 1", rejected=" 2")
BYTES: dict[AnyRow, bytes] = {
    WORKED: b'{"completion":" 1","prompt":"Q: \xc3\xbc?\\nA:"}\n',
    ALONE: b'{"prompt":"Q: \xc3\xbc?\\nA:"}\n',
    PAIR: b'{"chosen":" 1","prompt":"Q: \xc3\xbc?\\nA:","rejected":" 2"}\n',
}
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
any_row = st.one_of(
    st.builds(Row, prompt=text, completion=text),
    st.builds(Prompt, prompt=text),
    st.builds(Pair, prompt=text, chosen=text, rejected=text),
)


@pytest.mark.parametrize("row", BYTES, ids=lambda row: row.kind)
def test_the_canonical_bytes_of_a_row_hold_its_fields_alone(row: AnyRow) -> None:
    assert render([row]) == BYTES[row]


@given(any_row)
def test_the_fields_tell_the_kind(row: AnyRow) -> None:
    again = ROW.validate_json(row.model_dump_json())
    assert type(again) is type(row)
    assert again == row


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"completion": "c"},
        {"prompt": "p", "chosen": "c"},
        {"prompt": "p", "completion": "c", "rejected": "r"},
        {"prompt": "p", "completion": "c", "kind": "rows"},
        {"prompt": "p", "completion": "c", "chosen": "c", "rejected": "r"},
    ],
)
def test_other_fields_make_no_row(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ROW.validate_python(fields)


@pytest.mark.parametrize(
    ("row", "kind", "answers"),
    [(WORKED, "rows", (" 1",)), (ALONE, "prompts", ()), (PAIR, "pairs", (" 1", " 2"))],
)
def test_a_row_knows_its_kind_and_its_answers(
    row: AnyRow, kind: RowKind, answers: tuple[str, ...]
) -> None:
    assert (kind_of("a source", [row, row]), row.answers()) == (kind, answers)


def test_rows_of_several_kinds_are_refused_by_the_name_of_their_origin() -> None:
    with pytest.raises(Misuse, match="source nano/x holds pairs and rows") as refused:
        kind_of("source nano/x", [WORKED, PAIR])
    assert refused.value.code == "MIXED_ROWS"


def registered(kind: RowKind) -> Event:
    fact = DatasetRegistered(
        artifact=Artifact(digest="sha256:" + "1" * 64, kind="dataset", size=9),
        source=Source(origin="a source"),
        holds=kind,
        rows=1,
        offered=1,
        dropped={},
        completion_chars=2,
        prompt_chars=8,
        by="main",
    )
    return Event(position=0, id="e", at=1.0, contract="c", caller=OS, fact=fact)


@pytest.mark.parametrize("kind", ["rows", "prompts", "pairs"])
def test_a_registration_is_read_back_with_its_kind(kind: RowKind) -> None:
    assert CODEC.read(registered(kind).to_bytes()) == registered(kind)


def test_a_registration_without_its_kind_is_unreadable() -> None:
    """Of version 1, which had none: test_golden.py."""
    raw = decode(registered("rows").to_bytes())
    assert isinstance(raw, dict)
    del raw["fact"]["holds"]
    with pytest.raises(Finding, match="event cannot be read"):
        CODEC.read(encode(raw))


def test_a_job_reads_worked_rows_in_the_order_of_their_files(tmp_path: Path) -> None:
    other = Row(prompt="p", completion="c")
    (tmp_path / "data2.jsonl").write_bytes(render([other]))
    (tmp_path / "data1.jsonl").write_bytes(render([WORKED]))
    assert rows.load(tmp_path, Row) == [WORKED, other]


@pytest.mark.parametrize("row", [ALONE, PAIR], ids=lambda row: row.kind)
def test_a_job_says_which_line_is_of_a_kind_that_it_does_not_take(
    tmp_path: Path, row: AnyRow
) -> None:
    (tmp_path / "data.jsonl").write_bytes(render([WORKED, row]))
    with pytest.raises(Untrainable) as refused:
        rows.load(tmp_path, Row)
    detail = f"line 2 of data.jsonl holds {row.kind}; the recipe takes rows"
    assert refused.value.failure == Failure(code="WRONG_ROWS", detail=detail)
