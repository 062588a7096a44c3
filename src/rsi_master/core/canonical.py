"""Canonical JSON (RFC 8785) and digests: equal values give equal bytes on every machine.

JSON has no NaN, no infinity and no integer beyond 2**53; these are tagged as
`{"$float": "nan"}` and `{"$int": "1267650600228229401496703205376"}` and read back as themselves.
"""

import hashlib
import json
import math
from collections.abc import Mapping

import rfc8785

from rsi_master.core.errors import Misuse

SAFE_INTEGER = 2**53 - 1
TAGS = ("$float", "$int")


def encode(value: object) -> bytes:
    """The canonical bytes of a JSON-like value; Misuse for lone surrogates and other kinds."""
    try:
        return rfc8785.dumps(_tag(value))  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as cause:
        raise Misuse(
            "NOT_CANONICAL", f"value cannot be written as canonical JSON: {cause}"
        ) from cause


def decode(data: bytes) -> object:
    """The value of bytes that `encode` wrote; raises ValueError on all but strict JSON."""
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse, parse_int=_number)
        return _untag(value)
    except RecursionError as cause:
        raise ValueError("nested too deeply") from cause


def digest(data: bytes) -> str:
    """`sha256:<hex>` of the bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _tag(value: object) -> object:
    match value:
        case bool() | str() | None:
            return value
        case int():
            return value if abs(value) <= SAFE_INTEGER else {"$int": str(value)}
        case float():
            return value if math.isfinite(value) else {"$float": str(value)}
        case Mapping():
            return {_key(key): _tag(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_tag(inner) for inner in value]
        case _:
            raise Misuse("NOT_CANONICAL", f"{type(value).__name__} has no canonical JSON form")


def _key(key: object) -> str:
    if not isinstance(key, str) or key in TAGS:
        raise Misuse("NOT_CANONICAL", f"{key!r} cannot be a key of a recorded object")
    return key


def _untag(value: object) -> object:
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        if set(value) == {"$int"}:
            return int(value["$int"])
        return {key: _untag(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_untag(inner) for inner in value]
    return value


def _number(digits: str) -> int | float:
    """Great integers are tagged: great digits without a tag were a float (1e16 is written so)."""
    number = int(digits)
    return number if abs(number) <= SAFE_INTEGER else float(digits)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
