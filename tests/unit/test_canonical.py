"""Canonical JSON: one text for one value, and every value comes back."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.core.canonical import decode, digest, encode
from rsi_master.core.errors import Misuse

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text().filter(lambda key: key not in ("$float", "$int"))
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)


def same(left: object, right: object) -> bool:
    """Equality under which NaN is itself and 1.0 is 1, as in JSON."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


@settings(deadline=None)
@given(values)
def test_what_is_written_comes_back_and_is_written_the_same(value: object) -> None:
    back = decode(encode(value))
    assert same(value, back)
    assert encode(back) == encode(value)


@settings(deadline=None)
@given(st.dictionaries(keys, leaves))
def test_the_order_of_keys_does_not_matter(value: dict[str, object]) -> None:
    assert encode(dict(reversed(value.items()))) == encode(value)


def test_known_bytes() -> None:
    value = {"b": 1.0, "a": [2**60, float("nan"), float("-inf"), "é"]}
    text = '{"a":[{"$int":"1152921504606846976"},{"$float":"nan"},{"$float":"-inf"},"é"],"b":1}'
    assert encode(value) == text.encode()


def test_digest_of_known_bytes() -> None:
    expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(b"") == f"sha256:{expected}"


@pytest.mark.parametrize("value", ["\ud800", {"$int": "1"}, {1: 2}, {1, 2}, b"bytes", object()])
def test_what_has_no_form_is_refused(value: object) -> None:
    with pytest.raises(Misuse) as refused:
        encode(value)
    assert refused.value.code == "NOT_CANONICAL"


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b"\xff", b"{", b"-Infinity"])
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(data)
