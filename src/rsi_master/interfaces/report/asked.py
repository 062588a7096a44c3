"""What was asked of the run: its contract in the words of its operator, and what it was held to."""

from collections.abc import Iterator

from rsi_master.core.contract import Contract
from rsi_master.core.run import GuidanceGiven, RunOpened
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Line,
    Listing,
    Paragraph,
    Row,
    Section,
    Strong,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.subject import Subject

TARGET_CHARS = 2000


def asked(subject: Subject) -> Section:
    """The section."""
    contract = subject.record.contract
    rows = (*_contract(subject), *_opening(subject), *_limits(contract), *_policy(contract))
    table = Table(
        "The contract, frozen before the run: its digest stands in every event.",
        ("what", "as it was set"),
        tuple(Row(((label,), line)) for label, line in rows),
    )
    target = paragraph(Strong("Target: "), cut(contract.target, TARGET_CHARS))
    return Section("What was asked", "asked", (target, table, *_guidance(subject)))


def _contract(subject: Subject) -> Iterator[tuple[str, Line]]:
    contract = subject.record.contract
    yield "contract", (f"{contract.name}, ", Code(contract.digest()))
    yield "base", (f"{contract.base.name}, ", Code(contract.base.digest))
    wanted = contract.evaluator
    feedback = f"rounded to {wanted.feedback_step:g}" if wanted.feedback == "rounded" else "exactly"
    yield (
        "benchmark",
        (
            f"{wanted.benchmark}; items a task: {wanted.dev} on dev, {wanted.confirm} on confirm, "
            f"{wanted.holdout} on the holdout; scores are shown {feedback}",
        ),
    )


def _opening(subject: Subject) -> Iterator[tuple[str, Line]]:
    """What the run was opened with."""
    opened = subject.record.state.opened
    if opened is None:
        return
    sealed, cite = opened.sealed, subject.refs.event(RunOpened)
    sizes = words.listed(f"{size:,} on {name}" for name, size in sealed.sizes.items() if size)
    yield "sealed items", (f"{sizes}; ", Code(sealed.digest), " ", *cite)
    yield "tasks", (cut(words.listed(sealed.tasks)),)
    yield "openings", (f"the holdout may be opened for {words.count(sealed.openings, 'claim')}",)
    if opened.parameters:
        yield "size of the base", (words.count(opened.parameters, "parameter"), " ", *cite)


def _limits(contract: Contract) -> Iterator[tuple[str, Line]]:
    budget = contract.budget
    yield (
        "budget",
        (
            f"{budget.device_seconds:g} device seconds, {words.seconds(budget.wall_seconds)} on "
            f"the clock, {words.count(budget.evaluations, 'evaluation')}, "
            f"{words.count(budget.experiments, 'experiment')}",
        ),
    )
    research = contract.research
    yield (
        "research",
        (
            f"up to {words.count(research.workers, 'Worker')}, {research.parallel_workers} at a "
            f"time; {'with' if research.reviewer else 'without'} Reviewer; roles are filled by a "
            f"{research.roles}",
        ),
    )


def _policy(contract: Contract) -> Iterator[tuple[str, Line]]:
    policy = contract.policy
    yield "sources", (words.listed(policy.sources),)
    yield "ways to train", (words.listed(policy.ways()),)
    seeds = policy.promotion_seeds()
    told = words.listed(str(seed) for seed in seeds)
    noun = "fresh seed" if len(seeds) == 1 else "fresh seeds"
    yield (
        "selection",
        (
            f"{policy.selection}: up to {words.count(policy.promoted, 'recipe')} trained again on "
            f"{noun} {told}; recipes rank by their mean over seeds on confirm",
        ),
    )
    yield "isolation", (f"at least {contract.isolation.floor!r}",)
    yield "seed", (str(contract.seed),)


def _guidance(subject: Subject) -> tuple[Block, ...]:
    """What a person told Main on the way."""
    given = tuple(
        (cut(event.fact.text), " ", Cite(event.position))
        for event in subject.record.events
        if isinstance(event.fact, GuidanceGiven)
    )
    return (Paragraph(("A person told Main:",)), Listing(given)) if given else ()
