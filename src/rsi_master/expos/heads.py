"""Signed heads against a ledger: what they cover, where it was changed, whether it was forked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rsi_master.expos.merkle import Tree
from rsi_master.expos.notes import Note
from rsi_master.expos.order import Flaw, span


@dataclass(frozen=True)
class Head:
    """A note whose signature is good: where it was found, and who holds it but the operator."""

    where: str
    note: Note
    holder: str | None


@dataclass(frozen=True)
class Leaves:
    """Leaf hashes: `actual` are computed from the bodies, `stored` stand beside them."""

    actual: Sequence[bytes]
    stored: Sequence[bytes]


@dataclass(frozen=True)
class Judgement:
    """`signed`: events under a note that fits; `anchor`: who vouches for them, in words."""

    signed: int
    anchor: str
    flaws: tuple[Flaw, ...]


def judge_heads(leaves: Leaves, heads: Sequence[Head]) -> Judgement:
    """Compare each head with the ledger.

    A changed event lies between the longest head that fits and the shortest longer one that does
    not; one that fits the stored hashes but not the bodies is left to those who compare the two. A
    head that does not fit below one that fits was signed over another history.
    """
    size = len(leaves.actual)
    actual, stored = _roots(leaves.actual, heads), _roots(leaves.stored, heads)
    fit = [head for head in heads if actual.get(head.note.size) == head.note.root]
    known = [head for head in heads if head in fit or stored.get(head.note.size) == head.note.root]
    signed, vouched = _longest(fit), _longest(known)
    off = [head for head in heads if head.note.size <= size and head not in known]
    flaws = [
        *_truncated(size, heads),
        *_forked(heads, [head for head in off if head.note.size < vouched]),
        *_changed([head for head in off if head.note.size > vouched], vouched),
    ]
    return Judgement(signed, _anchor(fit, signed, size), tuple(flaws))


def _longest(heads: Sequence[Head]) -> int:
    return max((head.note.size for head in heads), default=0)


def _roots(leaves: Sequence[bytes], heads: Sequence[Head]) -> dict[int, bytes]:
    """The root at the size of each head, as far as the leaves reach."""
    wanted = {head.note.size for head in heads}
    tree = Tree()
    roots = {0: tree.root()}
    for leaf in leaves:
        tree.append(leaf)
        if tree.size in wanted:
            roots[tree.size] = tree.root()
    return roots


def _truncated(size: int, heads: Sequence[Head]) -> Iterator[Flaw]:
    longest = max(heads, key=lambda head: head.note.size, default=None)
    if longest is not None and longest.note.size > size:
        what = f"cut off: {longest.where} covers {longest.note.size} events, {size} are there"
        yield Flaw(code="LEDGER_TRUNCATED", where=span(size, longest.note.size - 1), what=what)


def _forked(heads: Sequence[Head], below: Sequence[Head]) -> Iterator[Flaw]:
    first: dict[int, Head] = {}
    for head in heads:
        other = first.setdefault(head.note.size, head)
        if other.note.root != head.note.root:
            what = f"same key and size as {other.where}, another history"
            yield Flaw(code="FORK", where=head.where, what=what)
        elif head in below:
            what = "signed over another history than a longer note that fits"
            yield Flaw(code="FORK", where=head.where, what=what)


def _changed(later: Sequence[Head], vouched: int) -> Iterator[Flaw]:
    if later:
        head = min(later, key=lambda head: head.note.size)
        what = f"changed, removed or inserted: {head.where} was signed over other events"
        yield Flaw(code="EVENTS_CHANGED", where=span(vouched, head.note.size - 1), what=what)


def _anchor(fit: Sequence[Head], signed: int, size: int) -> str:
    held = [head for head in fit if head.holder is not None and head.note.size > 0]
    if held:
        best = max(held, key=lambda head: head.note.size)
        return f"anchored by {best.holder}, {_covered(best.note.size, size)}"
    if signed:
        return f"operator-signed only, {_covered(signed, size)}"
    return "not signed: anyone could have written it"


def _covered(count: int, size: int) -> str:
    return f"all {size} events" if count == size else f"the first {count} of {size} events"
