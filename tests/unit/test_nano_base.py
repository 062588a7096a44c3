"""The embedded base: the published bytes, their size, and the digests that name a change."""

import errno
import json
import math
import re
import shutil
import sys
from pathlib import Path

import pytest

from rsi_master.app import plugins
from rsi_master.programs.nano import judge, weights
from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.weights import (
    CARD,
    base_folder,
    digests,
    recorded,
)

WEIGHT_LIMIT = 4 * 1024 * 1024
NARROW = plugins.base_folder("narrow")
CONFIG = json.loads((base_folder() / "config.json").read_text(encoding="utf-8"))
FOLDERS = {"embedded": (base_folder(), 632_640), "narrow": (NARROW, 493_216)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(base_folder(), tmp_path / "base"))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_base_is_the_published_one(name: str) -> None:
    folder, _ = FOLDERS[name]
    assert digests(folder) == recorded(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < WEIGHT_LIMIT


@pytest.mark.parametrize("name", FOLDERS)
def test_the_weights_are_single_precision_and_of_the_stated_size(name: str) -> None:
    folder, parameters = FOLDERS[name]
    body = (folder / "model.safetensors").read_bytes()
    header = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    assert {tensor["dtype"] for tensor in tensors} == {"F32"}
    assert sum(math.prod(tensor["shape"]) for tensor in tensors) == parameters
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"{parameters:,} parameters" in card


def test_the_two_bases_differ_in_width_and_share_the_tokenizer() -> None:
    assert recorded(NARROW)["tokenizer.json"] == recorded(base_folder())["tokenizer.json"]
    widths = {
        json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"]
        for folder, _ in FOLDERS.values()
    }
    assert widths == {96, 128}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_base_scores_within_its_published_interval(name: str) -> None:
    """The judge of a rebuild takes the published weights themselves."""
    folder, _ = FOLDERS[name]
    found, wanted = judge.scores(folder), judge.Published.of(folder)
    told = json.loads((folder / judge.SCORES).read_text(encoding="utf-8"))
    assert list(wanted.outside(judge.shape(folder), found)) == []
    assert found.average == pytest.approx(told["average"], abs=0.02)
    assert 0.10 <= found.average <= 0.30
    assert max(found.tasks.values()) < 1.0


@pytest.mark.parametrize("name", FOLDERS)
def test_the_model_card_lists_the_recorded_digests(name: str) -> None:
    folder, _ = FOLDERS[name]
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", card))
    wanted = recorded(folder)
    del wanted["MODEL_CARD.md"]
    assert table == wanted


@pytest.mark.parametrize("name", FOLDERS)
def test_the_published_scores_have_the_margins_of_the_judge_and_stand_in_the_card(
    name: str,
) -> None:
    folder, _ = FOLDERS[name]
    told = json.loads((folder / judge.SCORES).read_text(encoding="utf-8"))
    assert told["low"] == pytest.approx(max(0.10, told["average"] - judge.MARGIN))
    assert told["high"] == pytest.approx(min(0.30, told["average"] + judge.MARGIN))
    assert told["task_margin"] == judge.TASK_MARGIN
    line = judge.row(judge.Scores(told["tasks"]))
    assert f"\n{line}\n" in (folder / CARD).read_text(encoding="utf-8")


EMBEDDED: dict[Task, float] = {
    **dict.fromkeys(TASKS, 0.0),
    "calls": 0.07,
    "code": 0.88,
    "write": 0.28,
    "care": 0.47,
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, []),
        ({"code": 0.70, "care": 0.60}, []),
        ({"code": 0.32, "facts": 0.24}, ["code"]),
        ({"code": 0.32}, ["code", "average"]),
        ({"code": 0.60, "write": 0.0, "care": 0.45}, ["average"]),
        ({"sums": 0.20, "chain": 0.20, "facts": 0.20}, ["average"]),
        ({"sums": 1.0}, ["sums", "average"]),
    ],
)
def test_a_rebuild_is_judged_by_each_task_and_by_the_average(
    changed: dict[Task, float], named: list[str]
) -> None:
    wanted = judge.Published.of(base_folder())
    found = judge.Scores({**EMBEDDED, **changed})
    outside = list(wanted.outside(judge.shape(base_folder()), found))
    assert [finding.split(" ")[0] for finding in outside] == named


def test_a_base_of_another_shape_is_named_whatever_it_scores() -> None:
    wanted, shape = judge.Published.of(base_folder()), judge.shape(NARROW)
    outside = list(wanted.outside(shape, judge.Scores(EMBEDDED)))
    assert "hidden_size is 96, published is 128" in outside
    assert {one.split(" ")[0] for one in outside} == {
        *("hidden_size", "intermediate_size", "num_hidden_layers"),
        *("num_attention_heads", "num_key_value_heads"),
    }


def test_the_judge_refuses_the_narrow_base_as_the_embedded_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["judge", str(NARROW)])
    with pytest.raises(SystemExit) as ended:
        judge.main()
    assert ended.value.code == 1
    assert "OUTSIDE: hidden_size is 96" in capsys.readouterr().out


def test_what_is_published_agrees_in_scores_card_and_digests(copy: Path) -> None:
    found = judge.Scores({**EMBEDDED, "write": 0.61, "care": 0.53})
    judge.publish(copy, found)
    assert digests(copy) == recorded(copy)
    wanted = judge.Published.of(copy)
    assert wanted.average.low == pytest.approx(found.average - judge.MARGIN, abs=1e-4)
    assert wanted.average.high == 0.30
    assert list(wanted.outside(judge.shape(copy), found)) == []
    card = (copy / CARD).read_text(encoding="utf-8")
    assert "\n| 0 | 0 | 0 | 7 | 88 | 61 | 53 | 29.9 |\n" in card
    table = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", card))
    assert table == {name: one for name, one in recorded(copy).items() if name != CARD}


def test_no_base_is_published_without_a_card_or_out_of_the_required_range(copy: Path) -> None:
    before = digests(copy)
    for score in (0.05, 0.5):
        with pytest.raises(ValueError, match=r"a base has 10\.0 to 30\.0 %"):
            judge.publish(copy, judge.Scores(dict.fromkeys(TASKS, score)))
    assert digests(copy) == before
    card = (copy / CARD).read_text(encoding="utf-8")
    for bare in ("# Nano base, mine", re.sub(r"\| 0 \|.*\|", "", card)):
        (copy / CARD).write_text(bare, encoding="utf-8")
        with pytest.raises(ValueError, match="lacks the table"):
            judge.publish(copy, judge.Scores(EMBEDDED))
        assert (copy / CARD).read_text(encoding="utf-8") == bare
    (copy / CARD).unlink()
    with pytest.raises(ValueError, match=r"MODEL_CARD\.md is missing"):
        judge.publish(copy, judge.Scores(EMBEDDED))


def test_intervals_lie_within_what_a_score_can_be() -> None:
    wanted = judge.Published.of(base_folder())
    assert str(wanted.tasks["code"]) == "52.5 to 100.0 %"
    assert str(wanted.tasks["calls"]) == "0.0 to 41.7 %"


def judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[object, str]:
    """Exit code and standard error of the judge; the latter has to be one line."""
    monkeypatch.setattr(sys, "argv", ["judge", *words])
    with pytest.raises(SystemExit) as ended:
        judge.main()
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return ended.value.code, told


CONFIGURED: dict[str, object] = {
    "hidden_size": 64,
    "vocab_size": 600,
    "num_attention_heads": 0,
    "num_hidden_layers": -1,
    "model_type": "none",
    "hidden_act": "none",
    "pad_token_id": 517_000,
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("tokenizer.json", text) for text in ("", '{"version": "1.0", ', "{}")),
        *(("config.json", text) for text in ("", "[]", "null", '"a"', "{}")),
        *(("model.safetensors", text) for text in ("", "{}")),
        *(
            ("config.json", json.dumps({**CONFIG, field: value}))
            for field, value in (*CONFIGURED.items(), ("hidden_size", "a"))
        ),
    ],
)
def test_the_judge_names_the_file_that_cannot_be_judged(
    copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
) -> None:
    (copy / name).write_text(text, encoding="utf-8")
    code, told = judged(monkeypatch, capsys, str(copy))
    assert code == 2
    assert f"{copy} cannot be judged: {copy / name}" in told


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_the_judge_names_the_file_that_is_missing(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (copy / name).unlink()
    code, told = judged(monkeypatch, capsys, str(copy))
    assert code == 2
    assert str(copy / name) in told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scores.json", None),
        ("scores.json", "[]"),
        ("scores.json", '{"task_margin": 1}'),
        ("config.json", "null"),
    ],
)
def test_what_is_published_is_read_before_anything_is_scored(
    copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
) -> None:
    monkeypatch.setattr(judge, "scores", lambda _: pytest.fail("scored"))
    (copy / name).unlink() if text is None else (copy / name).write_text(text, encoding="utf-8")
    code, told = judged(monkeypatch, capsys, str(base_folder()), "--published", str(copy))
    assert code == 2
    assert told.startswith(f"judge: --published {copy} cannot be compared with: {copy / name}: ")


def test_nothing_is_scored_or_written_where_a_folder_lies_in_a_base(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge, "scores", lambda _: pytest.fail("scored"))
    before = digests(copy)
    (copy / "old").mkdir()
    code, told = judged(monkeypatch, capsys, str(copy), "--publish")
    assert code == 2
    assert f"{copy / 'old'} is no file" in told
    with pytest.raises(judge.Unfit, match="old is no file"):
        judge.publish(copy, judge.Scores(EMBEDDED))
    (copy / "old").rmdir()
    assert digests(copy) == before


def test_a_publication_that_fails_leaves_the_folder_as_it_was(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = digests(copy)
    monkeypatch.setattr(weights, "record", full)
    with pytest.raises(OSError, match="No space"):
        judge.publish(copy, judge.Scores({**EMBEDDED, "write": 0.61}))
    assert digests(copy) == before
    assert list(copy.parent.iterdir()) == [copy]
