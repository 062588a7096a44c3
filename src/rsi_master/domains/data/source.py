"""Source texts of agents' programs as the owner reads them: parsed, never run.

The parser gets a text of bounded length, which it may refuse; what it gives is walked without
recursion. Strings that constants amount to are folded for the scan: sums, repeats, joins, slices,
formats and a few methods. What a program puts together only when it runs is not found here.
"""

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from rsi_master.core.program import FUNCTIONS, ProgramKind

FOLDED_CHARS: Final = 20_000
"""A constant that grows longer is not followed: no question is as long."""
ALL_CHARS: Final = 400_000
"""The most that all constants may amount to: the scan of them holds up whoever waits for it."""
_PARTS = 4_000
UNPARSED: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for a text that it does not take."""
UNFOLDED: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    MemoryError,
)
"""What an operation on constants raises: counts beyond any length too, which overflow."""
_METHODS: Final[Mapping[str, Callable[..., str]]] = {
    name: getattr(str, name)
    for name in ("lower", "upper", "title", "capitalize", "swapcase", "strip", "replace", "format")
}


class TooMuch(Exception):
    """The constants amount to more text than is scanned."""


Constant: TypeAlias = str | int | tuple[str | int, ...]


def flaw(kind: ProgramKind, source: str) -> str | None:
    """Why the text is no program of that kind, in one line with its line number; None if it is."""
    try:
        tree = _tree(source)
    except UNPARSED as cause:
        line = getattr(cause, "lineno", None)
        place = f"line {line}" if line else "source"
        return f"{place}: {getattr(cause, 'msg', None) or str(cause) or 'nested too deep'}"
    try:
        _fold(list(ast.walk(tree)))
    except TooMuch:
        return f"source: its constants amount to over {ALL_CHARS:,} characters; write fewer"
    name, parameters = FUNCTIONS[kind]
    told = f"a {kind} defines {name}({', '.join(parameters)}) at its top"
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        return told
    taken = found[-1].args
    if len(taken.args) + len(taken.posonlyargs) != len(parameters) or taken.kwonlyargs:
        return f"line {found[-1].lineno}: {told}"
    return None


def says(source: str) -> tuple[str, ...]:
    """The texts that the constants of a program amount to, and all of them in a row; nothing for a
    text in which `flaw` finds that it does not parse or amounts to too much."""
    try:
        nodes = list(ast.walk(_tree(source)))
        folded, used = _fold(nodes)
    except (*UNPARSED, TooMuch):
        return ()
    said = [
        text
        for node in nodes
        if id(node) in folded and id(node) not in used
        for text in _texts(folded[id(node)])
    ]
    constants = sorted(
        (node for node in nodes if isinstance(node, ast.Constant)),
        key=lambda node: (node.lineno, node.col_offset),
    )
    values = (_constant(node) for node in constants)
    row = "".join(str(value) for value in values if value is not None)
    # Half a surrogate pair is a text in Python, and none that can be sent or stored.
    sent = (text.encode("utf-8", "replace").decode() for text in (*said, row))
    return tuple(dict.fromkeys(sent))


def _tree(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would stand on the owner's screen
        return ast.parse(source)


def _texts(value: Constant) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        yield "".join(map(str, value))


def _fold(nodes: list[ast.AST]) -> tuple[dict[int, Constant], set[int]]:
    """The constants that expressions amount to, by id of their node, and the ids of those that went
    into a greater one; raises TooMuch. Children come before parents in the reverse of a walk."""
    folded: dict[int, Constant] = {}
    chars = 0
    used: set[int] = set()
    for node in reversed(nodes):
        try:
            value = _value(node, folded)
        except UNFOLDED:
            continue
        if value is None or len(value if not isinstance(value, int) else "") > FOLDED_CHARS:
            continue
        parts = {id(child) for child in ast.iter_child_nodes(node)} - used
        chars += _size(value) - sum(_size(folded[part]) for part in parts if part in folded)
        if chars > ALL_CHARS:
            raise TooMuch
        folded[id(node)] = value
        used |= parts
    return folded, used


def _size(value: Constant) -> int:
    """Its characters; of a number none."""
    return 0 if isinstance(value, int) else sum(len(str(part)) for part in value)


def _value(node: ast.AST, folded: Mapping[int, Constant]) -> Constant | None:
    """What a node amounts to; LookupError for a part that is no constant."""
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.BinOp):
        return _binary(node.op, folded[id(node.left)], folded[id(node.right)])
    if isinstance(node, ast.JoinedStr):
        return "".join(str(folded[id(part)]) for part in node.values)
    if isinstance(node, ast.FormattedValue) and node.format_spec is None:
        return folded[id(node.value)]
    if isinstance(node, ast.Tuple | ast.List):
        return _several(folded[id(part)] for part in node.elts[:_PARTS])
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _sliced(node.slice, folded[id(node.value)], folded)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = folded[id(node.operand)]
        return -inner if isinstance(inner, int) else None
    return _called(node, folded) if isinstance(node, ast.Call) else None


def _constant(node: ast.Constant) -> str | int | None:
    value = node.value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**30:
        return value
    return value if isinstance(value, str) else None


def _several(values: Iterator[Constant]) -> tuple[str | int, ...]:
    found = tuple(values)
    if any(isinstance(value, tuple) for value in found):
        raise ValueError("a list of lists")
    return found  # type: ignore[return-value]


def _binary(operation: ast.operator, left: Constant, right: Constant) -> Constant | None:
    if isinstance(operation, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(operation, ast.Mult) and isinstance(left, str) and isinstance(right, int):
        return left * right if len(left) * right <= FOLDED_CHARS else None
    if isinstance(operation, ast.Mod) and isinstance(left, str) and len(left) <= FOLDED_CHARS:
        # A width in the format may ask for any length: only the plain marks are followed.
        plain = left.replace("%s", "").replace("%d", "")
        return left % right if "%" not in plain else None
    return None


def _sliced(cut: ast.Slice, value: Constant, folded: Mapping[int, Constant]) -> Constant | None:
    bounds: list[Any] = [
        None if bound is None else folded[id(bound)] for bound in (cut.lower, cut.upper, cut.step)
    ]
    return None if isinstance(value, int) else value[slice(*bounds)]


def _called(node: ast.Call, folded: Mapping[int, Constant]) -> Constant | None:
    """A method of a constant text with constant arguments."""
    if not isinstance(node.func, ast.Attribute) or node.keywords:
        return None
    text = folded[id(node.func.value)]
    given: list[Any] = [folded[id(argument)] for argument in node.args]
    if not isinstance(text, str):
        return None
    if node.func.attr == "join" and len(given) == 1 and isinstance(given[0], str | tuple):
        parts = [str(part) for part in given[0]]
        long = len(text) * len(parts) + sum(map(len, parts)) > FOLDED_CHARS
        return None if long else text.join(parts)
    method = _METHODS.get(node.func.attr)
    if method is None or (node.func.attr == "format" and not _plain_format(text)):
        return None
    if node.func.attr == "replace" and len(text) * len(str(given[1])) > FOLDED_CHARS:
        return None
    return method(text, *given)


def _plain_format(text: str) -> bool:
    """Whether a format has no mark but `{}`: others may ask for any length."""
    rest = text.replace("{}", "")
    return "{" not in rest and "}" not in rest
