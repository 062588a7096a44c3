"""Contracts that come with the package: the demonstration, and one to start from by profile."""

import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Final

from rsi_master.app import bases
from rsi_master.app.home import Home
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse, Refused

BASE: Final = "nano"
# A profile is a base, after which it is named, with the benchmark and the budget that suit it.
PROFILES: Final[Mapping[str, str]] = {BASE: "fresh.toml", "smollm2": "smollm2.toml"}


def demo(seed: int) -> str:
    """The demonstration's contract under that seed, with the digest of the installed base."""
    return _fill("demo.toml", BASE, seed=str(seed))


def fresh(name: str, profile: str = BASE) -> str:
    """A commented contract of that profile; raises Misuse for a word, Refused without its base,
    Finding where the base was damaged.

    The contract of `nano` explains every key and sets it to its default.
    """
    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise Misuse("PROFILE", f"there is no profile {profile!r}; there are: {known}")
    text = _fill(PROFILES[profile], profile, name=json.dumps(name))
    try:
        parse(text, "the new contract")
    except Refused as cause:
        raise Misuse("NAME", f"{name!r} cannot name a contract: {cause.message}") from cause
    return text


def _fill(file: str, base: str, **values: str) -> str:
    text = (files(__package__) / file).read_text(encoding="utf-8")
    digest = bases.pin(base, Home.default())
    return Template(text).substitute(values, base=base, digest=digest)
