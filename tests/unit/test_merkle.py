"""The Merkle tree against the known vectors of Certificate Transparency and a naive definition."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.expos.merkle import EMPTY_ROOT, Tree, leaf_hash, node_hash, root_of

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


@settings(deadline=None)
@given(some_leaves)
def test_every_prefix_has_the_root_of_the_definition(leaves: list[bytes]) -> None:
    tree = Tree()
    for count, leaf in enumerate(leaves, 1):
        tree.append(leaf)
        assert tree.root() == root_of(leaves[:count]) == naive_root(leaves[:count])
