"""What the landscape has to be, checked against the figures: no verdict here is typed by hand."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.nano.landscape import Entry, Landscape, Line, Match, Missing, alone, sources
from bench.nano.recipe import Method
from bench.nano.steps import Base, Exam, Merge, Prompted, Sft
from bench.nano.tally import Score

from rsi_master.programs.nano.format import TASKS, Task

BASE_RANGE: Final = (10.0, 30.0)
BEST_RANGE: Final = (75.0, 92.0)
LINEAGE_SECONDS: Final = 150.0
ONE_EXPERIMENT: Final = 60.0
EXPERIMENT_SECONDS: Final = (3.0, 50.0)
PROBE_STEPS: Final = 60
REVERSAL: Final = 20.0
GAIN: Final = 8.0
SEEDS: Final = 3
PLATEAU: Final = 2 / 3
MATTERS: Final = 5.0
CERTAIN: Final = 2.0
DIRECT: Final = {"nano/direct"}


@dataclass(frozen=True, slots=True)
class Claim:
    """`holds` is None where a figure is missing; `figures` are what it was decided by."""

    text: str
    holds: bool | None
    figures: str


def checked(found: Landscape) -> list[Claim]:
    """All claims, in the order of the page."""
    return [_decided(text, rule, found) for text, rule in _RULES]


@dataclass(frozen=True, slots=True)
class Reversal:
    """Where the style that is not behind at a short probe loses by far.

    `task` is None for all tasks together; scores are those of direct answers and scratchpads.
    """

    task: Task | None
    early: tuple[int, float, float]
    late: tuple[int, float, float]

    def __str__(self) -> str:
        name = self.task or "all together"
        told = " and ".join(
            f"direct {direct:.0f}, scratchpad {worked:.0f} after {steps} steps"
            for steps, direct, worked in (self.early, self.late)
        )
        return f"{name}: {told}"


def reversals(lines: Sequence[Line]) -> list[Reversal]:
    """The reversals among pairs of curves of both styles."""
    found: list[Reversal] = []
    tasks = dict.fromkeys(line.curve.task for line in lines)
    for task in tasks:
        styles = {line.curve.style: dict(line.points) for line in lines if line.curve.task == task}
        if len(styles) == 2:
            found += _reversal(task, styles["direct"], styles["scratchpad"])
    return found


def plateaus(entries: Sequence[Entry]) -> list[str]:
    """Tasks where longer training on direct answers hardly helps, below two thirds of the best."""
    direct = sorted(
        (one for one in entries if alone(one.recipe.step) and _direct(one)),
        key=lambda one: _updates(one) or 0,
    )
    found: list[str] = []
    for task in TASKS if len(direct) > 1 else ():
        scores = [one.tasks[task].mean for one in direct]
        most = max(one.tasks[task].mean for one in entries)
        if max(scores) < PLATEAU * most and scores[-1] - scores[-2] < MATTERS:
            found.append(f"{task} {scores[-2]:.0f}, {scores[-1]:.0f} of {most:.0f}")
    return found


def _decided(text: str, rule: "Rule", found: Landscape) -> Claim:
    try:
        holds, figures = rule(found)
    except Missing as missing:
        return Claim(text, None, str(missing))
    return Claim(text, holds, figures)


def _base(found: Landscape) -> tuple[bool, str]:
    base, prompted = (
        next((one for one in found.entries if isinstance(one.recipe.step, kind)), None)
        for kind in (Base, Prompted)
    )
    if base is None or prompted is None:
        raise Missing("bench: the base was not scored")
    highest = max(score.mean for score in base.tasks.values())
    low, high = BASE_RANGE
    return (
        low <= base.average.mean <= high and highest < 100,
        f"base {_told(base.average)}, its highest task {highest:.0f}; with examples before the "
        f"question {_told(prompted.average)}",
    )


def _best(found: Landscape) -> tuple[bool, str]:
    affordable = [one for one in found.choices() if one.seconds <= LINEAGE_SECONDS]
    best = _highest(affordable)
    low, high = BEST_RANGE
    return low <= best.average.mean <= high, (
        f"{best.recipe.name}: {_told(best.average)} after {best.seconds:.0f} CPU-s"
    )


def _examined(found: Landscape) -> tuple[bool, str]:
    exam = found.entry(Exam(init=found.table.best))
    dev = found.entry(found.table.best)
    low, high = BEST_RANGE
    return low <= exam.average.mean <= high and exam.seconds <= LINEAGE_SECONDS, (
        f"holdout {_told(exam.average)}, dev {_told(dev.average)}, {exam.seconds:.0f} CPU-s"
    )


def _single(found: Landscape) -> tuple[bool, str]:
    best = _highest([one for one in found.choices() if alone(one.recipe.step)])
    return best.average.mean >= ONE_EXPERIMENT, (
        f"{best.recipe.name}: {_told(best.average)} after {best.seconds:.0f} CPU-s"
    )


def _misleading(found: Landscape) -> tuple[bool, str]:
    if not found.lines:
        raise Missing("bench: no curve was carried out")
    turned = reversals(found.lines)
    tasks = {one.task for one in turned if one.task}
    return len(tasks) >= 2, "; ".join(map(str, turned)) or "none"


def _gained(method: Method) -> "Rule":
    def rule(found: Landscape) -> tuple[bool, str]:
        rivals = [one for one in found.matches if one.contest.method == method]
        if not rivals:
            raise Missing(f"bench: no contest of {method} was carried out")
        won = [one for one in rivals if _won(one)]
        return bool(won), "; ".join(map(_of_match, rivals))

    return rule


def _plateau(found: Landscape) -> tuple[bool, str]:
    told = plateaus(found.choices())
    if not any(map(_direct, found.choices())):
        raise Missing("bench: no direct answers were trained on")
    return bool(told), "; ".join(told) or "none"


def _merging(found: Landscape) -> tuple[bool, str]:
    told: list[str] = []
    gains: list[Score] = []
    for one in found.choices():
        step, seeds = one.recipe.step, one.recipe.seeds
        if not isinstance(step, Merge):
            continue
        best = max(step.inits, key=lambda part: found.average(part, seeds).mean)
        gains.append(found.gain(step, best, seeds))
        of_best = found.average(best, seeds).mean
        told.append(f"{one.recipe.name} {_gain(gains[-1])} ({of_best:.0f} to {_mean(one)})")
    if not told:
        raise Missing("bench: no merge was carried out")
    wins = any(_certain(gain) and gain.mean >= MATTERS for gain in gains)
    losses = any(_certain(gain) and gain.mean <= -MATTERS for gain in gains)
    return wins and losses, "; ".join(told)


def _mixing(found: Landscape) -> tuple[bool, str]:
    mixes = [one for one in found.choices() if alone(one.recipe.step) and _mixed(one)]
    if not mixes:
        raise Missing("bench: no mix was carried out")
    told, matters = [], False
    for mix in mixes:
        pure = [
            one
            for one in found.choices()
            if alone(one.recipe.step)
            and len(sources(one.recipe.step)) == 1
            and sources(one.recipe.step) < sources(mix.recipe.step)
            and _updates(one) == _updates(mix)
        ]
        if not pure:
            raise Missing("bench: no pure pool of as many steps was carried out")
        best = _highest(pure)
        seeds = tuple(seed for seed in mix.recipe.seeds if seed in best.recipe.seeds)
        gain = found.gain(mix.recipe.step, best.recipe.step, seeds)
        matters |= _certain(gain) and gain.mean >= MATTERS
        told.append(f"{mix.recipe.name} over {best.recipe.name} {_gain(gain)}")
    return matters, "; ".join(told)


def _cost(found: Landscape) -> tuple[bool, str]:
    seconds = found.experiments()
    if not seconds:
        raise Missing("bench: no experiment was carried out")
    least = min(seconds, key=lambda name: min(seconds[name]))
    most = max(seconds, key=lambda name: max(seconds[name]))
    spent, (low, high) = (min(seconds[least]), max(seconds[most])), EXPERIMENT_SECONDS
    return low <= spent[0] and spent[1] <= high, (
        f"least {spent[0]:.1f} ({least}), most {spent[1]:.1f} ({most})"
    )


Rule = Callable[[Landscape], tuple[bool, str]]
_RULES: Final[tuple[tuple[str, Rule], ...]] = (
    ("The base averages 10 to 30, and no task is at 100", _base),
    ("The best recipe reaches 75 to 92 with at most 150 CPU-seconds of lineage", _best),
    ("So does the lineage that is shown, on the holdout that no choice was made on", _examined),
    ("One experiment from the base reaches at least 60", _single),
    (
        "At least two tasks mislead a short probe: it shows no lead of what wins by 20 points",
        _misleading,
    ),
    (
        "Rejection sampling gains 8 points over equally long SFT on a task",
        _gained("rejection sampling"),
    ),
    ("GRPO after SFT gains 8 points over equally long SFT on a task", _gained("GRPO")),
    ("Direct answers plateau below two thirds of the best on a task", _plateau),
    (
        "Merging matters: a merge gains 5 points over its best part, another loses 5, both by "
        "more than chance",
        _merging,
    ),
    (
        "Mixing matters: a mix gains 5 points over its best pool of as many steps, by more than "
        "chance",
        _mixing,
    ),
    ("One experiment that is no short probe costs 3 to 50 CPU-seconds under each seed", _cost),
)


def _reversal(
    task: Task | None, direct: dict[int, Score], worked: dict[int, Score]
) -> Iterator[Reversal]:
    common = sorted(direct.keys() & worked.keys())
    if not common or common[-1] <= PROBE_STEPS:
        return
    ahead = {steps: worked[steps].mean - direct[steps].mean for steps in common}
    late = common[-1]
    sign = 1 if ahead[late] > 0 else -1
    early = min((n for n in common if n <= PROBE_STEPS), key=lambda n: sign * ahead[n], default=0)
    if early and abs(ahead[late]) >= REVERSAL and sign * ahead[early] <= 0:
        yield Reversal(
            task,
            (early, direct[early].mean, worked[early].mean),
            (late, direct[late].mean, worked[late].mean),
        )


def _highest(entries: Iterable[Entry]) -> Entry:
    found = list(entries)
    if not found:
        raise Missing("bench: no recipe was carried out")
    return max(found, key=lambda one: one.average.mean)


def _direct(one: Entry) -> bool:
    return sources(one.recipe.step) == DIRECT


def _mixed(one: Entry) -> bool:
    return len(sources(one.recipe.step)) > 1


def _updates(one: Entry) -> int | None:
    step = one.recipe.step
    return step.steps if isinstance(step, Sft) else None


def _won(match: Match) -> bool:
    """More than chance over seeds and items, and more than getting back to the base."""
    return (
        match.gain.mean >= GAIN
        and _certain(match.gain)
        and match.treated.mean >= match.base.mean + GAIN
        and len(match.contest.seeds) >= SEEDS
    )


def _certain(gain: Score) -> bool:
    return abs(gain.mean) > CERTAIN * gain.error


def _gain(gain: Score) -> str:
    return f"{gain.mean:+.0f} ± {gain.error:.0f}"


def _mean(one: Entry) -> str:
    return f"{one.average.mean:.0f}"


def _of_match(match: Match) -> str:
    return (
        f"{match.contest.task} {_gain(match.gain)} "
        f"({match.control.mean:.0f} to {match.treated.mean:.0f}, base {match.base.mean:.0f})"
    )


def _told(score: Score) -> str:
    return f"{score.mean:.1f} ± {score.error:.1f}"
