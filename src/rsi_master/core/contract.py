"""The contract: the frozen rules of a run. Its digest stands in every event.

The digest is over the canonical JSON of the parsed model with all defaults, so comments and order
of the TOML do not matter and every default is part of the promise; see `ADDED` for what is not.
"""

import difflib
import tomllib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Refused
from rsi_master.core.job import Tier
from rsi_master.core.model import Value
from rsi_master.core.score import Feedback

Share = Annotated[float, Field(gt=0, le=1)]


# Keys of contract version 1 that the first release did not have, with their defaults.
ADDED: Mapping[str, Mapping[str, object]] = {
    "evaluator": {"practice": 8, "items": None},
    "policy": {"seeds_of_promotion": 1, "promoted": 2, "programs": 0},
    "research": {"probes_per_worker": 6},
}


def _distinct(items: tuple[str, ...]) -> tuple[str, ...]:
    twice = [item for item in items if items.count(item) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} stands twice")
    return items


Names = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_distinct)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]


# The way to make a checkpoint that no package brings.
MERGE = "merge"


class Section(Value):
    """A part of the contract: every number is finite, and nothing is converted on the way in."""

    model_config = ConfigDict(allow_inf_nan=False, strict=True)


class Base(Section):
    """The pinned base model."""

    name: Name = "nano"
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Evaluator(Section):
    """The fixed evaluator: a benchmark, the digest of the file that its items come from if a person
    gives one, items drawn per task and split, open practice questions per task, the device seconds
    that one evaluation of a checkpoint may take, the form of feedback."""

    benchmark: Name = "nano"
    items: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    dev: Annotated[int, Field(ge=1, le=10_000)] = 60
    confirm: Annotated[int, Field(ge=1, le=10_000)] = 80
    holdout: Annotated[int, Field(ge=1, le=10_000)] = 120
    practice: Annotated[int, Field(ge=0, le=100)] = 8
    seconds: Annotated[float, Field(gt=0)] = 120.0
    feedback: Feedback = "exact"
    feedback_step: Share = 0.05


class Budget(Section):
    """What the whole run may use. Seconds of device time are summed over devices."""

    device_seconds: Annotated[float, Field(gt=0)]
    wall_seconds: Annotated[float, Field(gt=0)]
    evaluations: Annotated[int, Field(ge=1)]
    experiments: Annotated[int, Field(ge=1)]


class Devices(Section):
    """Devices that jobs and the sealed process share."""

    slots: Annotated[int, Field(ge=1, le=64)] = 2


class Research(Section):
    """Limits of the orchestration and who fills the roles."""

    workers: Annotated[int, Field(ge=1, le=100)] = 8
    parallel_workers: Annotated[int, Field(ge=1, le=32)] = 2
    experiments_per_worker: Annotated[int, Field(ge=1, le=1000)] = 3
    probes_per_worker: Annotated[int, Field(ge=0, le=1000)] = 6
    reviewer: bool = True
    roles: Literal["playbook"] = "playbook"
    turn_seconds: Annotated[float, Field(gt=0)] = 120.0
    turn_failures: Annotated[int, Field(ge=1, le=10)] = 2


class Policy(Section):
    """Grey rules, decided before the run. `programs` is how many programs agents may add."""

    merging: bool = False
    selection: Literal["confirmed"] = "confirmed"
    seed_of_promotion: Annotated[int, Field(ge=0, le=2**31 - 100)] = 1009
    seeds_of_promotion: Annotated[int, Field(ge=1, le=20)] = 1
    promoted: Annotated[int, Field(ge=1, le=4)] = 2
    attempts_per_experiment: Annotated[int, Field(ge=1, le=10)] = 3
    submissions: Annotated[int, Field(ge=1)] = 64
    programs: Annotated[int, Field(ge=0, le=1_000)] = 0
    recipes: Annotated[Names, Field(min_length=1)] = ("sft",)
    sources: Annotated[Names, Field(min_length=1)]

    def ways(self) -> tuple[str, ...]:
        """All ways to make a checkpoint: the recipes, and merging where it is allowed."""
        return (*self.recipes, MERGE) if self.merging else self.recipes

    def promotion_seeds(self) -> range:
        """The fresh seeds, the first of them that of the checkpoint which is returned."""
        return range(self.seed_of_promotion, self.seed_of_promotion + self.seeds_of_promotion)


class Isolation(Section):
    """The weakest isolation under which the run may work; `none` voids every integrity claim."""

    floor: Tier = "landlock"


class Contract(Section):
    """The parsed contract with defaults filled in."""

    contract_version: Literal[1] = 1
    name: Name
    target: Annotated[str, Field(min_length=1, max_length=2000)]
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    base: Base
    evaluator: Evaluator = Evaluator()
    budget: Budget
    devices: Devices = Devices()
    research: Research = Research()
    policy: Policy
    isolation: Isolation = Isolation()

    @model_validator(mode="after")
    def _seeds_differ(self) -> Self:
        if self.seed in self.policy.promotion_seeds():
            raise ValueError(
                f"seed {self.seed} is one of the {self.policy.seeds_of_promotion} from "
                f"policy.seed_of_promotion {self.policy.seed_of_promotion} on; a verification "
                "needs a fresh seed"
            )
        return self

    def digest(self) -> str:
        """The digest that identifies these rules. What a later release added counts only where it
        is set, so that a contract keeps its digest."""
        rules = self.model_dump(mode="json")
        for section, added in ADDED.items():
            for name, default in added.items():
                if rules[section][name] == default:
                    del rules[section][name]
        return digest(encode(rules))

    def differences(self, other: "Contract") -> tuple[str, ...]:
        """Dotted names of the fields in which the two differ, with both values."""
        mine, theirs = _flat(self.model_dump(mode="json")), _flat(other.model_dump(mode="json"))
        names = sorted(set(mine) | set(theirs))
        return tuple(
            f"{name}: {mine.get(name)!r} != {theirs.get(name)!r}"
            for name in names
            if mine.get(name) != theirs.get(name)
        )


def parse(text: str, origin: str) -> Contract:
    """The contract of a TOML text; `origin` names it in errors. Raises Refused in one line."""
    try:
        return Contract.model_validate(tomllib.loads(text.removeprefix("\ufeff")))
    except ValidationError as cause:
        raise Refused("CONTRACT_INVALID", f"{origin}: {_first(cause)}") from cause
    except (ValueError, RecursionError) as cause:
        raise Refused("CONTRACT_SYNTAX", f"{origin} is not TOML: {cause}") from cause


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(problem["loc"][-1]), _keys(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"unknown key {place!r}{hint}"
    if problem["type"] == "missing":
        return f"key {place!r} is missing; add it"
    return f"{place} = {problem['input']!r}: {problem['msg']}"


def _keys() -> list[str]:
    sections = (Contract, Base, Evaluator, Budget, Devices, Research, Policy, Isolation)
    return [name for section in sections for name in section.model_fields]


def _flat(value: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, object] = {}
    for key, inner in value.items():
        flat.update(_flat(inner, f"{prefix}.{key}" if prefix else key))
    return flat
