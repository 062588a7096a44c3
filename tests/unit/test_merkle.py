"""The Merkle tree against the known vectors of Certificate Transparency and a naive definition."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.expos.merkle import (
    EMPTY_ROOT,
    Tree,
    consistency_holds,
    consistency_proof,
    inclusion_holds,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
)

INPUTS = [
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]  # fmt: skip
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PATH_OF_FIRST = [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
]
LEAVES = [leaf_hash(bytes.fromhex(text)) for text in INPUTS]
some_leaves = st.lists(st.binary(max_size=4).map(leaf_hash), min_size=1, max_size=40)


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word by word."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(naive_root(leaves[:split]), naive_root(leaves[split:]))


def test_known_roots() -> None:
    tree = Tree()
    assert tree.root() == EMPTY_ROOT
    for leaf, root in zip(LEAVES, ROOTS, strict=True):
        tree.append(leaf)
        assert tree.root().hex() == root
    assert tree.size == len(INPUTS)


def test_known_paths() -> None:
    assert [step.hex() for step in inclusion_proof(LEAVES, 0)] == PATH_OF_FIRST
    assert [step.hex() for step in consistency_proof(LEAVES, 1)] == PATH_OF_FIRST


@settings(deadline=None)
@given(some_leaves)
def test_every_prefix_has_the_root_of_the_definition(leaves: list[bytes]) -> None:
    tree = Tree()
    for count, leaf in enumerate(leaves, 1):
        tree.append(leaf)
        assert tree.root() == naive_root(leaves[:count])


@settings(deadline=None)
@given(some_leaves, st.data())
def test_inclusion_holds_for_the_leaf_and_for_nothing_else(
    leaves: list[bytes], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    size, proof, root = len(leaves), inclusion_proof(leaves, index), root_of(leaves)
    assert inclusion_holds(leaves[index], index, size, proof, root)
    assert not inclusion_holds(leaf_hash(b"another"), index, size, proof, root)
    assert not inclusion_holds(leaves[index], size, size, proof, root)
    assert not inclusion_holds(leaves[index], index, size, (*proof, root), root)
    if proof:
        assert not inclusion_holds(leaves[index], index, size, proof[:-1], root)


@settings(deadline=None)
@given(some_leaves, st.data())
def test_consistency_holds_for_the_prefix_and_for_nothing_else(
    leaves: list[bytes], data: st.DataObject
) -> None:
    new = len(leaves)
    old = data.draw(st.integers(1, new))
    before, after, proof = root_of(leaves[:old]), root_of(leaves), consistency_proof(leaves, old)
    assert consistency_holds(old, before, new, after, proof)
    assert not consistency_holds(old, leaf_hash(b"another"), new, after, proof)
    assert not consistency_holds(old, before, new, leaf_hash(b"another"), proof)
    assert not consistency_holds(old, before, new, after, (*proof, before))
    assert not consistency_holds(0, EMPTY_ROOT, new, after, proof)


@pytest.mark.parametrize("index", [-1, 8])
def test_there_is_no_proof_outside_of_the_tree(index: int) -> None:
    with pytest.raises(IndexError):
        inclusion_proof(LEAVES, index)
    with pytest.raises(IndexError):
        consistency_proof(LEAVES, index + 1)
