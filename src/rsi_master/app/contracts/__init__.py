"""Contracts that come with the package: the demonstration, and those to start from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from string import Template
from typing import Final

from rsi_master.app import bases
from rsi_master.app.home import Home
from rsi_master.app.questions import Questions
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse, Refused
from rsi_master.core.score import Split

BASE: Final = "nano"


@dataclass(frozen=True)
class Means:
    """What a run on own questions may use, by the size of its base."""

    seconds: float
    device_seconds: int
    wall_seconds: int
    evaluations: int
    experiments: int
    workers: int
    experiments_per_worker: int


@dataclass(frozen=True)
class Profile:
    """A base, after which it is named: its benchmark's template, and for own questions the means,
    the most of them that each split takes over all tasks, and the recipes that the means afford."""

    template: str
    means: Means
    most: Mapping[Split, int]
    recipes: tuple[str, ...]


PROFILES: Final[Mapping[str, Profile]] = {
    BASE: Profile(
        "fresh.toml",
        Means(120.0, 4000, 3600, 80, 12, 8, 3),
        {"dev": 400, "confirm": 600, "holdout": 1000},
        ("sft", "rejection", "grpo"),
    ),
    "smollm2": Profile(
        "smollm2.toml",
        Means(400.0, 20000, 3600, 24, 8, 6, 2),
        {"dev": 40, "confirm": 64, "holdout": 96},
        ("sft",),
    ),
}


def demo(seed: int) -> str:
    """The demonstration's contract under that seed, with the digest of the installed base; raises
    Finding where that was damaged."""
    return _fill("demo.toml", BASE, _pin(BASE), seed=str(seed))


def fresh(name: str, profile: str = BASE) -> str:
    """A commented contract of that profile; raises Misuse for a word, Refused without its base,
    Finding where the base was damaged.

    The contract of `nano` explains every key and sets it to its default.
    """
    template = known(profile).template
    text = _fill(template, profile, _pin(profile), name=json.dumps(name))
    return _parsed(text, name)


def own(name: str, profile: str, questions: Questions) -> str:
    """A contract of that profile on a person's own questions, for the base that they were looked at
    with; raises Misuse for a word."""
    values = {key: f"{value:g}" for key, value in asdict(known(profile).means).items()}
    values |= {split: str(count) for split, count in questions.each.items()}
    values |= {"name": json.dumps(name), "items": questions.found.digest}
    values["seconds"] = str(known(profile).means.seconds)
    recipes = known(profile).recipes
    sources = ["own/train", "own/prompts"] if len(recipes) > 1 else ["own/train"]
    values |= {"recipes": json.dumps(recipes), "sources": json.dumps(sources)}
    return _parsed(_fill("own.toml", profile, questions.base, **values), name)


def known(profile: str) -> Profile:
    """The profile of a word; raises Misuse with those that there are."""
    if profile not in PROFILES:
        names = ", ".join(PROFILES)
        raise Misuse("PROFILE", f"there is no profile {profile!r}; there are: {names}")
    return PROFILES[profile]


def _parsed(text: str, name: str) -> str:
    """The text, which a name alone can make a bad contract."""
    try:
        parse(text, "the new contract")
    except Refused as cause:
        raise Misuse("NAME", f"{name!r} cannot name a contract: {cause.message}") from cause
    return text


def _pin(base: str) -> str:
    return bases.pin(base, Home.default())


def _fill(file: str, base: str, digest: str, **values: str) -> str:
    text = (files(__package__) / file).read_text(encoding="utf-8")
    return Template(text).substitute(values, base=base, digest=digest)
