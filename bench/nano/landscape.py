"""The results by recipe, contest and curve, as the page and the claims ask for them."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from bench.nano import tally
from bench.nano.plan import Bench
from bench.nano.recipe import Contest, Curve, Recipe, Seeds, Table
from bench.nano.result import Result
from bench.nano.steps import Base, Exam, Node, Sft, Step, ancestry, node
from bench.nano.tally import Sample, Score

from rsi_master.programs.nano.format import Task


class Missing(LookupError):
    """A figure needs a step that was not carried out."""


@dataclass(frozen=True)
class Entry:
    """A recipe with what came out: `seconds` are CPU seconds over its whole lineage, a mean."""

    recipe: Recipe
    average: Score
    tasks: Mapping[Task, Score]
    seconds: float


@dataclass(frozen=True)
class Match:
    """A contest with what came out; the seconds are those of the two rivals alone.

    `rows` are the demonstrations of the training before, `updates` those of the control by seed.
    """

    contest: Contest
    rows: int
    updates: tuple[int, ...]
    base: Score
    start: Score
    treated: Score
    control: Score
    gain: Score
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A curve with what came out: (steps, score), in order of steps."""

    curve: Curve
    points: tuple[tuple[int, Score], ...]


@dataclass(frozen=True)
class Landscape:
    """A table and the bench that holds its results."""

    table: Table
    bench: Bench

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All recipes that were carried out under all their seeds."""
        return tuple(self._entry(recipe) for recipe in self.table.recipes if self._has(recipe))

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """All contests that were carried out."""
        return tuple(self._match(one) for one in self.table.contests if self._has(one))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All curves that were carried out."""
        return tuple(self._line(curve) for curve in self.table.curves if self._has(curve))

    def choices(self) -> tuple[Entry, ...]:
        """The entries that were scored on dev after training: what a best recipe is sought in."""
        return tuple(
            one for one in self.entries if one.seconds > 0 and not isinstance(one.recipe.step, Exam)
        )

    def entry(self, step: Step) -> Entry:
        """The entry of this step; raises Missing."""
        for one in self.entries:
            if one.recipe.step == step:
                return one
        raise Missing(f"bench: no entry for {step.kind}; run the whole table")

    def results(self, step: Step, seeds: Seeds) -> list[Result]:
        """What the step gave under each seed; raises Missing."""
        return [self._result(node(step, seed)) for seed in seeds]

    def samples(self, step: Step, seeds: Seeds) -> dict[Task, Sample]:
        """The points of each task, seed by seed; raises Missing."""
        return tally.samples(self.results(step, seeds))

    def average(self, step: Step, seeds: Seeds) -> Score:
        """The average over tasks; raises Missing."""
        return tally.average(self.samples(step, _seeds(step, seeds)))

    def gain(self, over: Step, under: Step, seeds: Seeds) -> Score:
        """The difference of two averages over tasks, paired by seed and item; raises Missing."""
        return tally.average_gain(self.samples(over, seeds), self.samples(under, seeds))

    def experiments(self) -> dict[str, list[float]]:
        """CPU seconds of the last step of each recipe and of each contest, seed by seed."""
        recipes = {
            one.recipe.name: self._spent(one.recipe.step, one.recipe.seeds)
            for one in self.choices()
            if one.recipe.step.kind != "merge"
        }
        contests = {
            f"{one.contest.method} on {one.contest.task}": self._spent(
                one.contest.treated, one.contest.seeds
            )
            for one in self.matches
        }
        return recipes | contests

    def _entry(self, recipe: Recipe) -> Entry:
        samples = self.samples(recipe.step, _seeds(recipe.step, recipe.seeds))
        return Entry(
            recipe=recipe,
            average=tally.average(samples),
            tasks={task: tally.of_task(sample) for task, sample in samples.items()},
            seconds=self._lineage_seconds(recipe.step, recipe.seeds),
        )

    def _match(self, one: Contest) -> Match:
        treated, control = (
            self.samples(step, one.seeds)[one.task] for step in (one.treated, one.control)
        )
        return Match(
            contest=one,
            rows=self.results(one.start, one.seeds)[0].rows,
            updates=tuple(found.updates for found in self.results(one.control, one.seeds)),
            base=tally.of_task(self.samples(Base(), one.seeds[:1])[one.task]),
            start=tally.of_task(self.samples(one.start, one.seeds)[one.task]),
            treated=tally.of_task(treated),
            control=tally.of_task(control),
            gain=tally.gain(treated, control),
            seconds=(self._seconds(one.treated, one.seeds), self._seconds(one.control, one.seeds)),
        )

    def _line(self, curve: Curve) -> Line:
        return Line(curve, tuple((n, self._scored(curve, step)) for n, step in curve.steps))

    def _scored(self, curve: Curve, step: Step) -> Score:
        samples = self.samples(step, curve.seeds)
        if curve.task is None:
            return tally.average(samples)
        return tally.of_task(samples[curve.task])

    def _seconds(self, step: Step, seeds: Seeds) -> float:
        return statistics.fmean(self._spent(step, seeds))

    def _spent(self, step: Step, seeds: Seeds) -> list[float]:
        return [one.cpu_seconds for one in self.results(step, seeds)]

    def _lineage_seconds(self, step: Step, seeds: Seeds) -> float:
        spent = [
            sum(self._result(one).cpu_seconds for one in ancestry(node(step, seed)))
            for seed in seeds
        ]
        return sum(spent) / len(spent)

    def _result(self, one: Node) -> Result:
        found = self.bench.result(one)
        if found is None:
            raise Missing(f"bench: {one.step.kind} under seed {one.seed} was not carried out")
        return found

    def _has(self, part: Recipe | Contest | Curve) -> bool:
        """Whether its steps were carried out, and all that they are made of: its cost is told."""
        match part:
            case Recipe():
                steps: Iterable[Step] = (part.step,)
            case Contest():
                steps = (part.start, part.treated, part.control)
            case Curve():
                steps = (step for _, step in part.steps)
        nodes = (node(step, seed) for step in steps for seed in part.seeds)
        return all(self.bench.done(made) for one in nodes for made in ancestry(one))


def sources(step: Step) -> set[str]:
    """The sources that a lineage was trained on by supervised steps."""
    return {
        part.source
        for one in ancestry(node(step, 1))
        if isinstance(one.step, Sft)
        for part in one.step.parts
    }


def alone(step: Step) -> bool:
    """Whether the step is one experiment: a training that starts from the base."""
    return any(isinstance(parent, Base) for parent in step.parents()) and step.kind in (
        "sft",
        "grpo",
        "rejection",
        "dpo",
    )


def _seeds(step: Step, seeds: Seeds) -> Seeds:
    """Without training every seed is the same run: it counts once."""
    return seeds if len({node(step, seed).seed for seed in seeds}) > 1 else seeds[:1]
