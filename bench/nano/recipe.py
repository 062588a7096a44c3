"""What the table is made of: recipes, pairs of equal cost, curves over steps; and their nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bench.nano.steps import (
    Base,
    Dpo,
    Exam,
    Grpo,
    Merge,
    Node,
    Prompted,
    Rejection,
    Sft,
    Step,
    node,
)

from rsi_master.programs.nano.format import Style, Task

Seeds = tuple[int, ...]
Method = Literal["GRPO", "rejection sampling"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A row of the table: a lineage, named by its last step."""

    group: str
    name: str
    step: Step
    seeds: Seeds


@dataclass(frozen=True, slots=True)
class Contest:
    """On one task: a method after SFT against as many CPU seconds more of the same SFT."""

    method: Method
    task: Task
    start: Step
    treated: Step
    control: Step
    seeds: Seeds


@dataclass(frozen=True, slots=True)
class Curve:
    """The steps after which one style is scored; `task` is None for all tasks together."""

    task: Task | None
    style: Style
    steps: tuple[tuple[int, Step], ...]
    seeds: Seeds


@dataclass(frozen=True, slots=True)
class Table:
    """Everything that is measured; `best` is the lineage that is shown and examined."""

    recipes: tuple[Recipe, ...]
    contests: tuple[Contest, ...]
    curves: tuple[Curve, ...]
    best: Step
    seeds: Seeds

    def nodes(self) -> Iterator[Node]:
        """The nodes to carry out, without what they need."""
        for recipe in self.recipes:
            yield from _under(recipe.seeds, recipe.step)
        for contest in self.contests:
            steps = (contest.start, contest.treated, contest.control)
            yield from _under(contest.seeds, *steps)
        for curve in self.curves:
            yield from _under(curve.seeds, *(step for _, step in curve.steps))

    def only(self, words: tuple[str, ...]) -> "Table":
        """The parts whose names hold one of the words; the whole table for no word."""
        if not words:
            return self
        return Table(
            tuple(r for r in self.recipes if _named(f"{r.group}: {r.name}", words)),
            tuple(c for c in self.contests if _named(f"{c.method}: {c.task}", words)),
            tuple(c for c in self.curves if _named(f"curve: {c.task} {c.style}", words)),
            self.best,
            self.seeds,
        )

    def quick(self) -> "Table":
        """The same shape in a fraction of the time: one seed and hardly any training."""
        one = self.seeds[:1]
        return Table(
            tuple(Recipe(r.group, r.name, shortened(r.step), one) for r in self.recipes),
            tuple(
                Contest(
                    c.method,
                    c.task,
                    shortened(c.start),
                    shortened(c.treated),
                    shortened(c.control),
                    one,
                )
                for c in self.contests
            ),
            tuple(
                Curve(c.task, c.style, tuple((n, shortened(s)) for n, s in c.steps), one)
                for c in self.curves
            ),
            shortened(self.best),
            one,
        )


def shortened(step: Step) -> Step:
    """The step and its lineage with two updates where there were many."""
    match step:
        case Base():
            return step
        case Merge():
            return step.model_copy(update={"inits": tuple(map(shortened, step.inits))})
        case Prompted() | Exam():
            return step.model_copy(update={"init": shortened(step.init)})
        case Sft():
            other = {"steps": 2} if step.like is None else {"like": shortened(step.like)}
            return step.model_copy(update={"init": shortened(step.init), **other})
        case Rejection():
            small = {"rounds": 1, "prompts": 8, "samples": 2, "steps": 2}
            return step.model_copy(update={"init": shortened(step.init), **small})
        case Grpo() | Dpo():
            return step.model_copy(update={"init": shortened(step.init), "steps": 2})


def _under(seeds: Seeds, *steps: Step) -> Iterator[Node]:
    yield from (node(step, seed) for seed in seeds for step in steps)


def _named(name: str, words: tuple[str, ...]) -> bool:
    return any(word.casefold() in name.casefold() for word in words)
