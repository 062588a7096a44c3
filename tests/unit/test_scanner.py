"""The scanner: what does not hide a sealed item, and what it must leave alone."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row
from rsi_master.programs.sealed.benchmark import Item
from rsi_master.programs.sealed.scanner import Reason, Scanner, words

ITEMS = (
    Item(
        id="1",
        task="facts",
        prompt="Q: home of Bagedo, its river?\nA:",
        stem="home of Bagedo, its river?",
        reference="nilo",
    ),
    Item(id="2", task="sums", prompt="Q: 12+34-45+10?\nA:", stem="12+34-45+10?", reference="11"),
    Item(
        id="3",
        task="prose",
        prompt="Q: Recite the oath of the harbour pilots.\nA:",
        stem="Recite the oath of the harbour pilots.",
        reference="By lamp and line we bring them in",
    ),
)
OTHER = "Q: home of Motilu, its river?\nA:"
SCANNER = Scanner(ITEMS, ("<eos>", "<pad>"))


def reason(prompt: str, completion: str) -> str | None:
    return why(Row(prompt=prompt, completion=completion))


def why(row: AnyRow) -> str | None:
    return next(iter(SCANNER.scan([row]).dropped), None)


def everywhere(text: str) -> list[AnyRow]:
    """The text in each field of rows without answers and with two."""
    return [
        Prompt(prompt=text),
        Pair(prompt=text, chosen=" nilo", rejected=" rhine"),
        Pair(prompt=OTHER, chosen=text, rejected=" rhine"),
        Pair(prompt=OTHER, chosen=" nilo", rejected=text),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Q: home of Bagedo, its river?\nA:",
        "home of Bagedo, its river?",
        "HOME OF BAGEDO ITS RIVER",
        "  home\tof\n\nBagedo ,\u00a0its   river !",
        "ho\u200bme of Ba\u00adgedo, its ri\u2060ver?",
        "\uff48\uff4f\uff4d\uff45 of Bagedo, its river?",
        "home-of-Bagedo; its_river",
        "h.o.m.e of B a g e d o its river",
        "Here is a hard one: home of Bagedo, its river? Think first.",
        "12+34-45+10",
        "12 + 34 \u2212 45 + 10 = ?",
        "What is 12 + 34 - 45 + 10, please?",
    ],
)
def test_a_sealed_question_is_found_in_either_field(text: str) -> None:
    assert reason(text, " nilo") == "SEALED_PROMPT"
    assert reason(OTHER, text) == "SEALED_PROMPT"


@pytest.mark.parametrize(
    ("stem", "text", "found"),
    [
        ("fazure home fruit", "tell me fazure home fruit, please", True),
        ("fazure home fruit", "fazure is home of a fruit", False),
        ("fazure home fruit", "the fazure homes fruit", False),
        ("a b c", "spell a b c for me", False),
        ("a b c", "a b c", False),
        ("1 + 2 + 3 + 4", "say 1 2 3 4 aloud", True),
    ],
)
def test_a_short_question_is_found_inside_a_field_word_by_word(
    stem: str, text: str, found: bool
) -> None:
    item = Item(id="1", task="t", prompt=f"Q: {stem}?\nA:", stem=stem, reference="x")
    kept = Scanner((item,), ()).scan([Row(prompt=text, completion=" y")]).kept
    assert (kept == ()) == found


def test_a_question_split_over_the_two_fields_is_found() -> None:
    assert reason("home of Bagedo,", " its river?") == "SEALED_PROMPT"


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (OTHER, " nilo"),
        ("Q: 99-11?\nA:", " 11"),
        ("Q: 112+34-45+10?\nA:", " 111"),
        ("Q: 12+34-45+101?\nA:", " 102"),
        ("the river", " of the harbour"),
        ("nilo", "11"),
    ],
)
def test_other_questions_and_short_answers_are_kept(prompt: str, completion: str) -> None:
    assert reason(prompt, completion) is None


def test_a_long_sealed_answer_is_found() -> None:
    assert reason("Say it:", "by lamp and line, we bring them in!") == "SEALED_ANSWER"
    assert reason("Say it:", "by lamp and line") is None


def test_a_number_is_not_cut_out_of_a_longer_one() -> None:
    item = Item(id="4", task="t", prompt="Add 12 to 3", stem="please add 12 to 3", reference="15")
    scanner = Scanner([item], ())
    near = Row(prompt="please add 12 to 34", completion=" 46")
    assert scanner.scan([near]).kept == (0,)


@pytest.mark.parametrize(
    ("prompt", "completion", "expected"),
    [
        ("", " nilo", "EMPTY_PROMPT"),
        (" \n", " nilo", "EMPTY_PROMPT"),
        ("\u200b", "", "EMPTY_PROMPT"),
        (OTHER, " \u200b\n", "EMPTY_COMPLETION"),
        (OTHER, "\u00a0\u3164", "EMPTY_COMPLETION"),
        (OTHER, " \n", "EMPTY_COMPLETION"),
        (OTHER, "", "EMPTY_COMPLETION"),
        (OTHER, " nilo<eos>", "CONTROL_TOKEN"),
        ("a\x00b", " c", "CONTROL_TOKEN"),
        ("a\x1bb", " c", "CONTROL_TOKEN"),
        ("a\ufffdb", " c", "NOT_TEXT"),
    ],
)
def test_unfit_text_is_dropped_with_its_reason(prompt: str, completion: str, expected: str) -> None:
    assert reason(prompt, completion) == expected


@pytest.mark.parametrize("completion", ["", " x<eos>", " \x00", " \ufffd"])
def test_no_other_fault_hides_a_sealed_question(completion: str) -> None:
    assert reason("home of Bagedo, its river?", completion) == "SEALED_PROMPT"


def test_duplicates_are_dropped_once_and_positions_are_those_of_the_rest() -> None:
    rows = [
        Row(prompt="a", completion="b"),
        Row(prompt=ITEMS[0].prompt, completion="x"),
        Row(prompt="a", completion="b"),
        Row(prompt="a", completion="c"),
    ]
    report = SCANNER.scan(rows)
    assert report.kept == (0, 3)
    assert report.dropped == {"SEALED_PROMPT": 1, "DUPLICATE": 1}


def test_without_items_nothing_is_sealed() -> None:
    report = Scanner((), ()).scan([Row(prompt=ITEMS[0].prompt, completion="x")])
    assert report.kept == (0,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("home of Bagedo, its river?", "SEALED_PROMPT"),
        ("by lamp and line, we bring them in!", "SEALED_ANSWER"),
        ("a\ufffdb", "NOT_TEXT"),
        ("a<eos>", "CONTROL_TOKEN"),
        ("a\x1bb", "CONTROL_TOKEN"),
    ],
)
def test_every_field_of_prompts_and_pairs_is_scanned(text: str, expected: str) -> None:
    assert [why(row) for row in everywhere(text)] == [expected] * 4


@pytest.mark.parametrize(
    ("chosen", "rejected"), [(" its river?", " none"), (" none", " its river?")]
)
def test_a_question_split_over_a_prompt_and_either_answer_is_found(
    chosen: str, rejected: str
) -> None:
    assert why(Pair(prompt="home of Bagedo,", chosen=chosen, rejected=rejected)) == "SEALED_PROMPT"


@pytest.mark.parametrize(
    ("chosen", "rejected", "expected"),
    [
        (" nilo", " rhine", None),
        (" nilo", "", "EMPTY_COMPLETION"),
        ("\n", " rhine", "EMPTY_COMPLETION"),
        (" ", " ", "EMPTY_COMPLETION"),
        (" nilo", " nilo", "NO_PREFERENCE"),
        (" nilo", " nilo\u200b", "NO_PREFERENCE"),
        (" ni\u00adlo", " nilo", "NO_PREFERENCE"),
        (" nilo\ufe0f", " nilo", "NO_PREFERENCE"),
        (" nilo", "nilo\n", "NO_PREFERENCE"),
        (" caf\u00e9", " cafe\u0301", "NO_PREFERENCE"),
        (" caf\u00e9", " cafe", None),
        (" Nilo", " nilo", None),
        (" x = 1", " x  = 1", None),
        (" 2", " \u00b2", None),
        (" nilo", " nilo.", None),
        (" +", " -", None),
    ],
)
def test_a_pair_has_two_answers_that_differ(
    chosen: str, rejected: str, expected: str | None
) -> None:
    assert why(Pair(prompt=OTHER, chosen=chosen, rejected=rejected)) == expected


def test_a_prompt_alone_needs_no_answer() -> None:
    assert why(Prompt(prompt=OTHER)) is None
    assert why(Prompt(prompt="?")) is None


@pytest.mark.parametrize("prompt", ["", " \n", "\u200b", "\u2060 \u2800", "\ufe0f"])
def test_a_row_of_any_kind_has_a_prompt_that_can_be_seen(prompt: str) -> None:
    rows: list[AnyRow] = [
        Row(prompt=prompt, completion=" nilo"),
        Prompt(prompt=prompt),
        Pair(prompt=prompt, chosen=" nilo", rejected=" rhine"),
    ]
    assert SCANNER.scan(rows).dropped == {"EMPTY_PROMPT": 3}


def test_an_empty_prompt_does_not_hide_a_sealed_answer() -> None:
    assert reason("", "home of Bagedo, its river?") == "SEALED_PROMPT"


def test_the_documentation_names_every_reason() -> None:
    told = (Path(__file__).parents[2] / "docs" / "records.md").read_text(encoding="utf-8")
    assert [name for name in get_args(Reason) if f"| `{name}` |" not in told] == []


def test_a_duplicate_is_equal_in_all_fields() -> None:
    rows: list[AnyRow] = [
        Pair(prompt="a", chosen="b", rejected="c"),
        Pair(prompt="a", chosen="b", rejected="d"),
        Pair(prompt="a", chosen="c", rejected="b"),
        Pair(prompt="a", chosen="b", rejected="c"),
        Prompt(prompt="a"),
        Prompt(prompt="a"),
        Row(prompt="a", completion="b"),
    ]
    report = SCANNER.scan(rows)
    assert (report.kept, report.dropped) == ((0, 1, 2, 4, 6), {"DUPLICATE": 2})


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_is_read_as_any_other(text: str) -> None:
    """A letter beyond ASCII takes the long way through all of the text."""
    assert (*words(text), "é") == words(f"{text} é")
