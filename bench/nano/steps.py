"""The steps that lineages are made of: closed values, so that a digest of one names its result."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rsi_master.core.model import Value
from rsi_master.domains.training.tuning import Schedule
from rsi_master.programs.nano.format import ANSWER_TOKENS, Task

Count = Annotated[int, Field(ge=1)]
Tasks = tuple[Task, ...]


class Part(Value):
    """Rows of one source. No `tasks` means all rows, off-topic ones too; `rows` counts by task.

    `verified` leaves out rows whose answer the open verifier knows to be less than right.
    """

    source: str
    tasks: Tasks = ()
    rows: Count | None = None
    verified: bool = False


class Base(Value):
    """The embedded base as it is."""

    kind: Literal["base"] = "base"

    def parents(self) -> tuple["Step", ...]:
        return ()


class Prompted(Value):
    """No training: direct examples of the task stand before the question."""

    kind: Literal["prompted"] = "prompted"
    init: "Step"
    shots: Count = 3

    def parents(self) -> tuple["Step", ...]:
        return (self.init,)


class Exam(Value):
    """No training: the checkpoint is scored on the holdout, which no choice was made on."""

    kind: Literal["exam"] = "exam"
    init: "Step"

    def parents(self) -> tuple["Step", ...]:
        return (self.init,)


class Sft(Value):
    """The shipped recipe `sft`: `steps`, or as many as take the CPU seconds of the step `like`.

    The latter at the pace of `init`, which then is an SFT step on the same rows.
    `shift` is added to the seed of the lineage: merges need ingredients that differ by seed alone.
    """

    kind: Literal["sft"] = "sft"
    init: "Step"
    parts: tuple[Part, ...]
    steps: Count | None = None
    like: "Step | None" = None
    rate: float = 3e-3
    schedule: Schedule = "cosine"
    batch: Count = 8
    shift: int = 0

    @model_validator(mode="after")
    def _one_length(self) -> "Sft":
        if (self.steps is None) == (self.like is None):
            raise ValueError("an SFT step has either a number of steps or a step to be like")
        if self.like and not (isinstance(self.init, Sft) and self.paced_by(self.init)):
            raise ValueError("an SFT step like another goes on from SFT on the same rows")
        return self

    def paced_by(self, other: "Sft") -> bool:
        """Whether an update of the other costs as much as one of this step."""
        return (self.parts, self.batch) == (other.parts, other.batch)

    def parents(self) -> tuple["Step", ...]:
        return (self.init, self.like) if self.like else (self.init,)


class Grpo(Value):
    """The shipped recipe `grpo` on `nano/prompts`; `tokens` limits an answer."""

    kind: Literal["grpo"] = "grpo"
    init: "Step"
    tasks: Tasks
    steps: Count
    rate: float = 5e-4
    prompts: Count = 8
    samples: Count = 8
    temperature: float = 1.0
    tokens: Count = ANSWER_TOKENS

    def parents(self) -> tuple["Step", ...]:
        return (self.init,)


class Rejection(Value):
    """The shipped recipe `rejection` on `nano/prompts`.

    `keep` are demonstrations that every round trains on as well.
    """

    kind: Literal["rejection"] = "rejection"
    init: "Step"
    tasks: Tasks
    keep: tuple[Part, ...] = ()
    rounds: Count = 2
    prompts: Count = 200
    samples: Count = 4
    temperature: float = 1.0
    steps: Count = 80
    rate: float = 1e-3
    batch: Count = 8

    def parents(self) -> tuple["Step", ...]:
        return (self.init,)


class Dpo(Value):
    """The shipped recipe `dpo` on `nano/pairs`, or on right and wrong answers of its own to
    `prompts` prompts."""

    kind: Literal["dpo"] = "dpo"
    init: "Step"
    tasks: Tasks = ()
    prompts: Count | None = None
    samples: Count = 8
    steps: Count = 30
    rate: float = 2e-4
    beta: float = 0.1

    def parents(self) -> tuple["Step", ...]:
        return (self.init,)


class Merge(Value):
    """The shipped recipe `merge`: checkpoints of one base in one.

    `linear` is the mean of their weights, `ties` TIES at half density on their changes to the
    base, `task_arithmetic` the first with `scale` times the changes of the others to it.
    """

    kind: Literal["merge"] = "merge"
    inits: tuple["Step", ...]
    method: Literal["linear", "ties", "task_arithmetic"] = "linear"
    density: float = 0.5
    scale: float = 1.0

    def parents(self) -> tuple["Step", ...]:
        return self.inits


Step = Annotated[
    Base | Prompted | Exam | Sft | Grpo | Rejection | Dpo | Merge, Field(discriminator="kind")
]

for _model in (Prompted, Exam, Sft, Grpo, Rejection, Dpo, Merge):
    _model.model_rebuild()


class Node(Value):
    """One step under one seed of its lineage."""

    step: Step
    seed: int

    def parents(self) -> tuple["Node", ...]:
        """What has to be there before."""
        return tuple(node(step, self.seed) for step in self.step.parents())


def node(step: Step, seed: int) -> Node:
    """The step under the seed; without any training in its lineage there is one seed only."""
    return Node(step=step, seed=seed if _trained(step) else 0)


def ancestry(one: Node) -> Iterator[Node]:
    """The nodes whose weights `one` is made of, itself last, each once; yardsticks are left out."""
    seen: set[str] = set()
    for found in _walk(one):
        name = found.model_dump_json()
        if name not in seen:
            seen.add(name)
            yield found


def _walk(one: Node) -> Iterator[Node]:
    step = one.step
    ingredients = (step.init,) if isinstance(step, Sft) else step.parents()
    for parent in ingredients:
        yield from _walk(node(parent, one.seed))
    yield one


def _trained(step: Step) -> bool:
    if isinstance(step, Base):
        return False
    if isinstance(step, Prompted | Exam | Merge):
        return any(_trained(parent) for parent in step.parents())
    return True
