"""When two prompts are one question: what tells them apart, and what does not."""

import pytest

from rsi_master.programs.sealed.own.sameness import key


@pytest.mark.parametrize(
    "prompts",
    [
        ("12 + 3", "12+3", " 12  +\n3 ", "12 + 3?", "12 + 3 ?", "\uff11\uff12 \uff0b 3"),
        ("7 - 2 =", "7\u22122=", "7 \u2013 2 = ?"),
        (
            "Capital of France?",
            "capital of  France",
            "Capital, of France:",
            "capital of fra\u200bnce.",
        ),
        ("(1 + 2) * 3", "(1+2)*3"),
        ("Z\u00fcrich", "Zu\u0308rich"),
    ],
)
def test_case_space_and_sentence_punctuation_do_not_tell_questions_apart(
    prompts: tuple[str, ...],
) -> None:
    assert len({key(prompt) for prompt in prompts}) == 1


@pytest.mark.parametrize(
    "prompts",
    [
        ("12 + 3", "12 - 3", "12 * 3", "12 / 3", "1 + 23", "-12 + 3", "12 + -3", "123", "12 3"),
        ("largest of 5, -3", "largest of 5 - 3", "largest of 5, 3"),
        ("2 * (3 + 4)", "2 * 3 + 4"),
        ("5!", "5", "5%", "$5"),
        ("x\u00b2", "x2"),
        ("1.5 + 1", "15 + 1", "1 5 + 1"),
        ("a nice day", "an ice day"),
        ("is x < 3", "is x > 3", "is x = 3", "is x != 3"),
        ("?", "...", "-", ":"),
        ("\u0939\u093f\u0928 \u0926\u0940 \u0915", "\u0939\u093f\u0928 \u0926\u0940\u0915"),
    ],
)
def test_symbols_signs_and_borders_of_words_tell_questions_apart(prompts: tuple[str, ...]) -> None:
    assert len({key(prompt) for prompt in prompts}) == len(prompts)
