"""Events: one recorded fact each, with who, when and under which contract. All state is a
projection of events."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationError

from rsi_master.core.action import Caller
from rsi_master.core.canonical import decode, encode
from rsi_master.core.errors import Finding
from rsi_master.core.model import Value


class Fact(Value):
    """The body of an event. `type` and `version` are recorded; a changed shape is a new version."""

    type: ClassVar[str]
    version: ClassVar[int] = 1

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """The fields of an older version in today's shape; raises KeyError for one unknown, and
        ValueError for fields that it did not have."""
        raise KeyError(f"{cls.type} version {version} of {len(fields)} fields")

    @classmethod
    def extended(cls, fields: Mapping[str, object], **added: object) -> Mapping[str, object]:
        """The fields of version 1 with those that a later version added; raises ValueError where
        one of them is there already."""
        odd = sorted(fields.keys() & added.keys())
        if odd:
            raise ValueError(f"{cls.type} version 1 has no field {odd[0]!r}")
        return {**fields, **added}


class Event(Value):
    """A fact at its place in the ledger; `at` is in seconds since the epoch."""

    position: int
    id: str
    at: float
    contract: str
    caller: Caller
    fact: Fact

    def to_bytes(self) -> bytes:
        """The canonical bytes that are stored, hashed and signed. An event that was up-cast on
        read has others on record, of its own version."""
        return encode(
            {
                "position": self.position,
                "id": self.id,
                "at": self.at,
                "contract": self.contract,
                "caller": self.caller.model_dump(mode="json"),
                "type": self.fact.type,
                "version": self.fact.version,
                "fact": self.fact.model_dump(mode="python"),
            }
        )


class Codec:
    """Reads events back: a closed set of fact types, older versions up-cast on read."""

    def __init__(self, facts: tuple[type[Fact], ...]) -> None:
        self._facts = {fact.type: fact for fact in facts}

    def read(self, data: bytes) -> Event:
        """The event of recorded bytes; raises Finding when they are not one."""
        try:
            raw: Any = decode(data)
            fact = self._facts[raw["type"]]
            version, fields = _version(raw["version"]), raw["fact"]
            if version != fact.version:
                fields = fact.upcast(version, fields)
            return Event(
                position=raw["position"],
                id=raw["id"],
                at=raw["at"],
                contract=raw["contract"],
                caller=Caller.model_validate(raw["caller"]),
                fact=fact.model_validate(fields),
            )
        except (ValueError, KeyError, TypeError, ValidationError) as cause:
            reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
            raise Finding("EVENT_UNREADABLE", f"event cannot be read: {reason}") from cause


def _version(recorded: object) -> int:
    """Python calls True and 1.0 equal to 1; a record holds integers alone."""
    if type(recorded) is not int:
        raise TypeError(f"version {recorded!r} is no integer")
    return recorded
