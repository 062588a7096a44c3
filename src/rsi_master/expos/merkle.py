"""The Merkle tree of RFC 6962: an incremental root, and proofs of inclusion and consistency.

A root over n leaves commits to each of them and to their order; two roots with a consistency proof
show that the larger tree extends the smaller one.
"""

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """RFC 6962, section 2.1: the hash of a leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 6962, section 2.1: the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """An append-only tree that keeps the roots of its perfect subtrees alone: O(log n) memory."""

    def __init__(self) -> None:
        self._size = 0
        self._peaks: list[bytes] = []

    @property
    def size(self) -> int:
        """How many leaves."""
        return self._size

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash at the right."""
        carry = self._size
        while carry & 1:
            leaf = node_hash(self._peaks.pop(), leaf)
            carry >>= 1
        self._peaks.append(leaf)
        self._size += 1

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        root = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over a sequence of leaf hashes."""
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """RFC 6962, section 2.1.1: the audit path of the leaf at `index`, lowest node first."""
    if not 0 <= index < len(leaves):
        raise IndexError(f"leaf {index} of {len(leaves)}")
    if len(leaves) == 1:
        return ()
    split = _split(len(leaves))
    left, right = leaves[:split], leaves[split:]
    if index < split:
        return (*inclusion_proof(left, index), root_of(right))
    return (*inclusion_proof(right, index - split), root_of(left))


def consistency_proof(leaves: Sequence[bytes], old: int) -> tuple[bytes, ...]:
    """RFC 6962, section 2.1.2: that the tree over `leaves` extends that over the first `old`."""
    if not 0 < old <= len(leaves):
        raise IndexError(f"tree of {old} in a tree of {len(leaves)}")
    return _subproof(leaves, old, whole=True)


def inclusion_holds(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """RFC 9162, section 2.1.3.2: whether `leaf` stands at `index` under `root`."""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(step, found)
            at, last = _climb(at, last)
        else:
            found = node_hash(found, step)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def consistency_holds(
    old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """RFC 9162, section 2.1.4.2: whether the tree of size `new` extends that of size `old`."""
    if old == new:
        return not proof and old_root == new_root
    if not 0 < old < new or not proof:
        return False
    steps = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node_hash(step, before), node_hash(step, after)
            at, last = _climb(at, last)
        else:
            after = node_hash(after, step)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == new_root


def _subproof(leaves: Sequence[bytes], old: int, *, whole: bool) -> tuple[bytes, ...]:
    if old == len(leaves):
        return () if whole else (root_of(leaves),)
    split = _split(len(leaves))
    left, right = leaves[:split], leaves[split:]
    if old <= split:
        return (*_subproof(left, old, whole=whole), root_of(right))
    return (*_subproof(right, old - split, whole=False), root_of(left))


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _climb(at: int, last: int) -> tuple[int, int]:
    """Skip the levels at which the path has no sibling to its right."""
    while at and not at & 1:
        at, last = at >> 1, last >> 1
    return at, last
