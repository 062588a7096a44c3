"""The published table as data: what is tried, how long, under which seeds."""

from collections.abc import Iterable
from typing import Final

from bench.nano.recipe import Contest, Curve, Recipe, Table
from bench.nano.steps import (
    Base,
    Dpo,
    Exam,
    Grpo,
    Merge,
    Part,
    Prompted,
    Rejection,
    Sft,
    Step,
    Tasks,
)

from rsi_master.programs.nano.format import ANSWER_TOKENS, TASKS, Style
from rsi_master.programs.nano.verifiers import VERIFIABLE

SEEDS: Final = (1, 2, 3)
"""Where a claim asks for three; what stands beside it has the first two."""
BESIDE: Final = SEEDS[:2]
STYLES: Final[tuple[Style, ...]] = ("direct", "scratchpad")
LENGTHS: Final = (100, 200, 400)
PROBES: Final = (30, 60, 120, 240)
PROBED: Final[Tasks] = ("sums", "chain", "facts")
CONTESTED: Final = (
    (Part(source="nano/scratchpad", tasks=("sums",)), 24, 2e-4, ANSWER_TOKENS),
    (Part(source="nano/direct", tasks=("write",), rows=60), 60, 4e-4, 24),
)
"""Few demonstrations of one task; steps, rate and longest answer, in tokens, of GRPO after them."""
BRANCHES: Final[tuple[Tasks, ...]] = (
    ("sums", "facts", "care"),
    ("chain", "write"),
    ("calls", "code"),
)
"""Tasks that are trained on side by side from one checkpoint, to be merged."""
DIRECT_IN_MIX: Final[Tasks] = ("facts", "calls", "write")

UNVERIFIABLE: Final = tuple(task for task in TASKS if task not in VERIFIABLE)

BASE: Final = Base()
CLEANED: Final = (
    Part(source="nano/forum", tasks=VERIFIABLE, verified=True),
    Part(source="nano/scratchpad", tasks=UNVERIFIABLE),
)
CURATED: Final = (
    Part(source="nano/forum", tasks=tuple(t for t in VERIFIABLE if t != "write"), verified=True),
    Part(source="nano/scratchpad", tasks=UNVERIFIABLE),
    Part(source="nano/direct", tasks=("write",)),
)
"""All that is right of two pools, and the texts that are not planned first."""
FACTS_TWICE: Final = (*CURATED, Part(source="nano/scratchpad", tasks=("facts",)))

_CLEANED: Final = f"forum, verified, and scratchpad for {' and '.join(UNVERIFIABLE)}"
_CURATED: Final = f"{_CLEANED}, direct for write"
_BEST: Final = (
    f"{_CURATED}, facts twice, 400; again 400 at 0.002; without the doubling 400 at 0.001"
)


def table() -> Table:
    """All that `make bench-nano` measures."""
    return Table(
        recipes=(
            *(Recipe(*row, SEEDS) for row in _first()),
            *(Recipe(*row, BESIDE) for row in _beside()),
            *(Recipe(*row, SEEDS) for row in _best()),
        ),
        contests=tuple(contest for row in CONTESTED for contest in _contests(*row)),
        curves=tuple(
            curve for style in STYLES for curve in (_together(style), *_alone(PROBED, style))
        ),
        best=best(),
        seeds=SEEDS,
    )


def sft(source: str, steps: int, tasks: Tasks = (), init: Step = BASE, rate: float = 3e-3) -> Sft:
    """Supervised steps on one source."""
    part = Part(source=f"nano/{source}", tasks=tasks)
    return Sft(init=init, parts=(part,), steps=steps, rate=rate)


def best() -> Step:
    """The lineage that is shown: facts twice as often at first, and ever smaller steps."""
    first = Sft(init=BASE, parts=FACTS_TWICE, steps=LENGTHS[-1])
    second = Sft(init=first, parts=FACTS_TWICE, steps=LENGTHS[-1], rate=2e-3)
    return Sft(init=second, parts=CURATED, steps=LENGTHS[-1], rate=1e-3)


def _first() -> Iterable[tuple[str, str, Step]]:
    yield "Base", "base", BASE
    yield "Base", "three direct examples before the question", Prompted(init=BASE)
    for style in STYLES:
        for steps in LENGTHS:
            yield "One experiment on all tasks", f"{style} {steps}", sft(style, steps)
    for name, parts in ((_CLEANED, CLEANED), (_CURATED, CURATED)):
        mix = Sft(init=BASE, parts=parts, steps=LENGTHS[-1])
        yield "One experiment on all tasks", f"{name}, {LENGTHS[-1]}", mix


def _beside() -> Iterable[tuple[str, str, Step]]:
    for rate in (5e-4, 1e-2):
        name = f"scratchpad {LENGTHS[1]}, rate {rate:g}"
        yield "Learning rate", name, sft("scratchpad", LENGTHS[1], rate=rate)
    yield from _pools(LENGTHS[-1])
    yield from _merges()
    yield from _lineages()


def _best() -> Iterable[tuple[str, str, Step]]:
    yield "Best", _BEST, best()
    yield "Best", "base on the holdout", Exam(init=BASE)
    yield "Best", "the same lineage on the holdout", Exam(init=best())


def _pools(steps: int) -> Iterable[tuple[str, str, Step]]:
    group = "Pools and mixes"
    for source in ("forum", "expert", "chat"):
        yield group, f"{source} {steps}", sft(source, steps)
    verified = Part(source="nano/forum", verified=True)
    yield group, f"forum, verified, {steps}", Sft(init=BASE, parts=(verified,), steps=steps)
    rest = tuple(task for task in TASKS if task not in DIRECT_IN_MIX)
    mix = (
        Part(source="nano/direct", tasks=DIRECT_IN_MIX),
        Part(source="nano/scratchpad", tasks=rest),
    )
    name = f"direct for {', '.join(DIRECT_IN_MIX)}, else scratchpad, {steps}"
    yield group, name, Sft(init=BASE, parts=mix, steps=steps)


def _merges() -> Iterable[tuple[str, str, Step]]:
    group = "Single tasks and merges"
    experts = {task: sft("scratchpad", LENGTHS[0], (task,)) for task in TASKS}
    for task, expert in experts.items():
        yield group, f"{task} alone, scratchpad {LENGTHS[0]}", expert
    several = tuple(experts.values())
    yield group, "linear merge of these seven", Merge(inits=several)
    yield group, "TIES merge of these seven", Merge(inits=several, method="ties")
    trained = sft("scratchpad", LENGTHS[1])
    branches = tuple(_branch(trained, tasks) for tasks in BRANCHES)
    for tasks, branch in zip(BRANCHES, branches, strict=True):
        told = ", ".join("write (direct)" if task == "write" else task for task in tasks)
        yield group, f"scratchpad {LENGTHS[1]}, then {told} alone, 150 at 0.001", branch
    joined = Merge(inits=(trained, *branches), method="task_arithmetic", scale=0.6)
    yield group, f"scratchpad {LENGTHS[1]} plus 0.6 of what these three changed", joined
    soup = tuple(trained.model_copy(update={"shift": 100 * at}) for at in range(3))
    name = f"linear merge of scratchpad {LENGTHS[1]} under a seed, 100 and 200 above it"
    yield group, name, Merge(inits=soup)


def _branch(trained: Step, tasks: Tasks) -> Sft:
    parts = (
        Part(source=f"nano/{'direct' if task == 'write' else 'scratchpad'}", tasks=(task,))
        for task in tasks
    )
    return Sft(init=trained, parts=tuple(parts), steps=150, rate=1e-3)


def _lineages() -> Iterable[tuple[str, str, Step]]:
    group = "Lineages"
    first = sft("scratchpad", LENGTHS[-1])
    again = sft("scratchpad", LENGTHS[-1], init=first, rate=1e-3)
    steps = LENGTHS[-1]
    yield group, f"scratchpad {steps}, scratchpad {steps} at 0.001", again
    other = sft("scratchpad", steps, init=sft("direct", steps))
    yield group, f"direct {steps}, scratchpad {steps}", other
    yield group, f"scratchpad {steps}, DPO 30 on pairs", Dpo(init=first)
    own = Dpo(init=first, tasks=VERIFIABLE, prompts=100, steps=20)
    yield group, f"scratchpad {steps}, DPO {own.steps} on own answers", own
    grpo = Grpo(init=first, tasks=VERIFIABLE, steps=20)
    yield group, f"scratchpad {steps}, GRPO {grpo.steps} at {grpo.rate:g}", grpo
    curated = Sft(init=BASE, parts=CURATED, steps=steps)
    yield group, f"{_CURATED}, {steps}, rejection sampling once, {LENGTHS[1]}", _own(curated)


def _own(first: Step) -> Rejection:
    return Rejection(
        init=first,
        tasks=VERIFIABLE,
        keep=CURATED,
        rounds=1,
        prompts=300,
        steps=LENGTHS[1],
        rate=1e-3,
    )


def _contests(part: Part, steps: int, rate: float, tokens: int) -> Iterable[Contest]:
    """Few demonstrations, and many prompts with a verifier."""
    (task,) = part.tasks
    start = Sft(init=BASE, parts=(part,), steps=LENGTHS[0])
    grpo = Grpo(init=start, tasks=(task,), steps=steps, rate=rate, tokens=tokens)
    keep = (part.model_copy(update={"verified": True}),)
    sampled = Rejection(init=start, tasks=(task,), keep=keep, rounds=3, prompts=200)
    yield Contest("GRPO", task, start, grpo, _more(start, grpo), SEEDS)
    yield Contest("rejection sampling", task, start, sampled, _more(start, sampled), SEEDS)


def _more(start: Sft, like: Step) -> Sft:
    """The same training continued for as many CPU seconds."""
    return Sft(init=start, parts=start.parts, like=like, rate=1e-3)


def _together(style: Style) -> Curve:
    return Curve(None, style, tuple((steps, sft(style, steps)) for steps in LENGTHS), SEEDS)


def _alone(tasks: Tasks, style: Style) -> Iterable[Curve]:
    for task in tasks:
        steps = tuple((steps, sft(style, steps, (task,))) for steps in PROBES)
        yield Curve(task, style, steps, BESIDE)
