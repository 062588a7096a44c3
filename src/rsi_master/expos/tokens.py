"""Capability tokens: a secret text that stands for a role at a node of one run.

Only hashes are kept, in a file outside the run folder that the owner alone may read. Whoever holds
a token is its caller; ids in arguments never are.
"""

import hashlib
import json
import os
import secrets
from pathlib import Path

from pydantic import ValidationError

from rsi_master.core.action import Caller
from rsi_master.core.errors import PolicyDenied


class Tokens:
    """The table of issued tokens: in memory for this process, in a file for lasting ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: dict[str, Caller] = {}

    def issue(self, caller: Caller) -> str:
        """A token that dies with this process."""
        token = "rsi_" + secrets.token_urlsafe(32)
        self._own[_hash(token)] = caller
        return token

    def revoke(self, token: str) -> None:
        """The token of this process opens nothing from now on."""
        self._own.pop(_hash(token), None)

    def issue_lasting(self, caller: Caller) -> str:
        """A token that outlives this process; its hash is in the file, the token is not."""
        token = "rsi_" + secrets.token_urlsafe(32)
        table = self._read()
        table[_hash(token)] = caller.model_dump(mode="json")
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._path.with_suffix(f".{os.getpid()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            with os.fdopen(os.open(fresh, flags, 0o600), "w") as file:
                json.dump(table, file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        finally:
            fresh.unlink(missing_ok=True)
        return token

    def caller(self, token: str) -> Caller:
        """Who holds the token; raises PolicyDenied for an unknown one."""
        key = _hash(token)
        if key in self._own:
            return self._own[key]
        table = self._read()
        if key in table:
            try:
                return Caller.model_validate(table[key])
            except ValidationError as cause:
                raise self._unreadable() from cause
        raise PolicyDenied(
            "UNKNOWN_TOKEN", "this token opens nothing here; ask the operator for `rsi token`"
        )

    def _read(self) -> dict[str, object]:
        if not self._path.exists():
            return {}
        try:
            table = json.loads(self._path.read_text(encoding="utf-8"))
        except ValueError as cause:
            raise self._unreadable() from cause
        if not isinstance(table, dict):
            raise self._unreadable()
        return table

    def _unreadable(self) -> PolicyDenied:
        what = f"{self._path.name} is no table of tokens; remove it and issue tokens again"
        return PolicyDenied("TOKENS_UNREADABLE", what)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
