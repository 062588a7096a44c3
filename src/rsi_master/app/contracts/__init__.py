"""Contracts that come with the package: the demonstration, and a commented one to start from."""

import json
from importlib.resources import files
from string import Template

from rsi_master.adapters.store.objects import digest_of
from rsi_master.app.plugins import base_folder
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse, Refused

BASE = "nano"


def demo(seed: int) -> str:
    """The demonstration's contract under that seed, with the digest of the installed base."""
    return _fill("demo.toml", seed=str(seed))


def fresh(name: str) -> str:
    """A contract with every key explained and set to its default; raises Misuse for the name."""
    text = _fill("fresh.toml", name=json.dumps(name))
    try:
        parse(text, "the new contract")
    except Refused as cause:
        raise Misuse("NAME", f"{name!r} cannot name a contract: {cause.message}") from cause
    return text


def _fill(file: str, **values: str) -> str:
    text = (files(__package__) / file).read_text(encoding="utf-8")
    return Template(text).substitute(values, base=BASE, digest=digest_of(base_folder(BASE)))
