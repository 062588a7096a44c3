"""The scanner: what does not hide a sealed item, and what it must leave alone."""

import pytest

from rsi_master.core.artifact import Row
from rsi_master.programs.sealed.benchmark import Item
from rsi_master.programs.sealed.scanner import Scanner

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
    dropped = SCANNER.scan([Row(prompt=prompt, completion=completion)]).dropped
    return next(iter(dropped), None)


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
