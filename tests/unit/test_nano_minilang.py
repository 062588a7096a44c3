"""The mini-language agrees with Python wherever it gives a value, and refuses all else."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.minilang import (
    DEPTH_LIMIT,
    LENGTH_LIMIT,
    EvaluationError,
    ExpressionError,
    evaluate,
    parse,
)

_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)
_NAMES = {"abs": abs, "min": min, "max": max}
_INPUTS = st.integers(-200, 200)


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    gaps = st.sampled_from(("", " "))
    joined = st.tuples(inner, gaps, st.sampled_from(("+", "-", "*", "//", "%")), gaps, inner)
    signed = st.tuples(st.sampled_from("+-"), inner)
    several = st.lists(inner, min_size=2, max_size=3).map(",".join)
    return st.one_of(
        joined.map("".join),
        signed.map("".join),
        inner.map("({})".format),
        inner.map("abs({})".format),
        st.tuples(st.sampled_from(("min", "max")), several).map(
            lambda part: "{}({})".format(*part)
        ),
    )


_LEAVES = st.one_of(st.just("x"), st.integers(0, 120).map(str))
_PROGRAMS = st.recursive(_LEAVES, _extended, max_leaves=10).filter(
    lambda text: len(text) <= LENGTH_LIMIT
)


def _python(text: str, x: int) -> int | None:
    """The value by Python itself, of a text whose syntax tree holds nothing but arithmetic."""
    tree = ast.parse(text, mode="eval")
    assert all(isinstance(node, _NODES) for node in ast.walk(tree))
    try:
        value = eval(compile(tree, "<law>", "eval"), {"__builtins__": {}}, {**_NAMES, "x": x})
    except ZeroDivisionError:
        return None
    assert isinstance(value, int)
    return value


@given(_PROGRAMS, _INPUTS)
def test_a_program_has_the_value_that_python_gives(text: str, x: int) -> None:
    try:
        value = evaluate(parse(text), x)
    except (EvaluationError, ExpressionError) as fault:
        assert "exceeds" in str(fault) or "deeper" in str(fault) or _python(text, x) is None
        return
    assert value == _python(text, x)


@given(st.text(alphabet="x0123456789+-*/%(), abmins", max_size=24), _INPUTS)
def test_what_parses_is_python_too(text: str, x: int) -> None:
    try:
        value = evaluate(parse(text), x)
    except (ExpressionError, EvaluationError):
        return
    assert value == _python(text.strip(), x)


@pytest.mark.parametrize(
    ("text", "x", "value"),
    [
        ("-x//2", 3, -2),
        ("-(x//2)", 3, -1),
        ("-x%5", 3, 2),
        ("x-3-2", 10, 5),
        ("x//3*3", 10, 9),
        ("2+x*3", 4, 14),
        ("x--3", 1, 4),
        ("max(x,2,9)-abs(-x)", 4, 5),
        (" x + 1 ", 1, 2),
    ],
)
def test_precedence_and_integer_semantics(text: str, x: int, value: int) -> None:
    assert evaluate(parse(text), x) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "x+", "2x", "x x", "(x", "x)", "x**2", "x/2", "007", "0x10", "1_0", "1.5", "y", "xx",
        "abs(x,1)", "min(x)", "max()", "min(x,)", "x if x else 1", "__import__('os')", "x=1",
        "x\n+1", "(lambda: 1)()", "x.real", "\u0663", "True",
    ],
)  # fmt: skip
def test_refused_as_syntax(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize("text", ["x//0", "1%(x-x)", "99999999*99999999", "9999999999999"])
def test_refused_at_evaluation(text: str) -> None:
    with pytest.raises(EvaluationError):
        evaluate(parse(text), 2)


def test_length_and_depth_are_bounded() -> None:
    assert evaluate(parse("(" * (DEPTH_LIMIT - 1) + "x" + ")" * (DEPTH_LIMIT - 1)), 5) == 5
    with pytest.raises(ExpressionError, match="deeper"):
        parse("(" * DEPTH_LIMIT + "x" + ")" * DEPTH_LIMIT)
    with pytest.raises(ExpressionError, match="limit"):
        parse("x" + "+1" * LENGTH_LIMIT)
