"""Source texts of programs: what the owner refuses to store, and what it reads out for the scan."""

import pytest

from rsi_master.core.program import KINDS, ProgramKind
from rsi_master.domains.data.source import FOLDED_CHARS, flaw, says

WRITTEN: dict[ProgramKind, str] = {
    "transform": "def transform(row):\n    return row\n",
    "verifier": "def verify(prompt, answer):\n    return 1\n",
    "reward": "def reward(episode):\n    return 1\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_function(kind: ProgramKind) -> None:
    assert flaw(kind, f'"""A text."""\nimport re\n{WRITTEN[kind]}') is None
    others = [other for other in KINDS if other != kind]
    assert all(flaw(kind, WRITTEN[other]) for other in others)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def transform(row:\n", "line 1: '(' was never closed"),
        ("x = 1\nif x:\n", "line 2: expected an indented block after 'if' statement on line 2"),
        ("transform = len\n", "a transform defines transform(row) at its top"),
        ("class A:\n    def transform(row): pass\n", "a transform defines transform(row)"),
        ("\ndef transform(row, more): pass\n", "line 2: a transform defines transform(row)"),
        ("def transform(*row): pass\n", "line 1: a transform defines transform(row)"),
        ("x = '\0'\n", "source: source code string cannot contain null bytes"),
        ("x = '\ud800'\n", "source: 'utf-8' codec can't encode character"),
        ("(" * 9_000, "line 1: too many nested parentheses"),
        ("x = " + "1 + " * 4_000 + "1", "source: maximum recursion depth exceeded"),
        ("x = " + "-" * 15_000 + "1", "source: nested too deep"),
        ("x = a" + ".a" * 7_000, "source: maximum recursion depth exceeded"),
        ("'a b '*4999\n" * 30, "source: its constants amount to over 400,000 characters"),
    ],
)
def test_a_text_that_is_no_program_is_told_in_a_line(source: str, told: str) -> None:
    found = flaw("transform", source)
    assert found is not None
    assert told in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'what is ' + '12' + ' and 3'", "what is 12 and 3"),
        ("'what is ' '12 and 3'", "what is 12 and 3"),
        ("'ab ' * 3", "ab ab ab "),
        ("f'what is {12} and {\"3\"}'", "what is 12 and 3"),
        ("''.join(['what', ' is', ' 12'])", "what is 12"),
        ("' '.join(('what', 'is', '12'))", "what is 12"),
        ("'what is %s and %d' % ('12', 3)", "what is 12 and 3"),
        ("'what is {} and {}'.format('12', 3)", "what is 12 and 3"),
        ("'3 dna 21 si tahw'[::-1]", "what is 12 and 3"),
        ("'xxwhat is 12'[2:]", "what is 12"),
        ("'whaX is 12'.replace('X', 't')", "what is 12"),
        ("b'what is 12'", "what is 12"),
        ("['what is ', '12 and 3']", "what is 12 and 3"),
        ("'a' + ('b' + ('c' + 'd' * 2)).upper()", "aBCDD"),
    ],
)
def test_what_constants_amount_to_is_read_out(expression: str, text: str) -> None:
    assert text in says(f"x = {expression}\n")
    assert text in says(f"def transform(row):\n    return {{'prompt': {expression}}}\n")


def test_constants_are_read_out_in_a_row_as_well() -> None:
    source = "a = 'what is'\nb = 12\nc = [' and', 3]\nd = a + str(b)\n"
    assert "what is12 and3" in says(source)


@pytest.mark.parametrize(
    "expression",
    [
        "'a' * 10**9",
        f"'a' * {FOLDED_CHARS + 1}",
        "'%9999999999s' % 'a'",
        "'{:9999999999}'.format('a')",
        f"'{'a' * 200}'.replace('a', '{'b' * 200}')",
        "9**9**9",
        "'a'[::0]",
        "'' * 99999999999999999999999",
        "'a' * -99999999999999999999999",
        "'a'.replace('a', 'b', 99999999999999999999999)",
        "'a'.join(3)",
        "'a'.title(1)",
        "'a' + 1",
        "'%s %s' % 'a'",
    ],
)
def test_what_is_no_text_or_too_long_is_left_alone(expression: str) -> None:
    assert all(len(text) <= FOLDED_CHARS for text in says(f"x = {expression}\n"))


def test_half_a_surrogate_pair_is_read_out_as_a_text_that_can_be_sent() -> None:
    assert "what is ?" in says(r"x = 'what is \ud800'")


def test_a_text_that_does_not_parse_says_nothing() -> None:
    assert says("x = (") == says("(" * 9_000) == ()


def test_a_long_text_put_together_of_many_lines_is_no_flaw() -> None:
    """Each sum on the way to it is a text of its own, and only the last one is scanned."""
    lines = "\n    + ".join(
        ["'" + "a text of sixty letters, as an honest author writes one" + "'"] * 150
    )
    source = f"GUIDE = (\n    {lines}\n)\ndef transform(row):\n    return row\n"
    assert flaw("transform", source) is None
    assert max(map(len, says(source))) == 150 * 55
