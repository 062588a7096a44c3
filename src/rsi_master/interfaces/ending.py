"""What a finished run came to: the claim, the recipe behind it, what was not tried, the record."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.action import Role
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.job import Tier
from rsi_master.core.lineage import ancestors
from rsi_master.core.model import Value
from rsi_master.core.run import ClaimScored, FinishAsked, RunFinished
from rsi_master.core.score import PairedDifference, SplitScore
from rsi_master.core.state import State
from rsi_master.core.text import line
from rsi_master.expos.notes import Note
from rsi_master.interfaces import operations, words
from rsi_master.research.allocation import directions

NEARLY: Final = 0.9
"""The share of the clock from which on it is told that it decided."""
Offered: TypeAlias = DatasetRegistered | DatasetRefused


class Head(Value):
    """The signed head of the record: it commits to the first `size` events."""

    size: int
    root: str
    signatures: tuple[str, ...]


class Untried(Value):
    """A source of the contract that no experiment used, and why."""

    source: str
    reason: str


class Ending(Value):
    """The end of a run in figures; scores are those of the one opening of the holdout."""

    run: str
    outcome: str
    reason: str
    tier: Tier | None
    champion: str | None
    champion_score: SplitScore | None
    base_score: SplitScore | None
    difference: PairedDifference | None
    recipe: tuple[str, ...]
    experiments: int
    untried: tuple[Untried, ...]
    clock: str
    record: str
    head: Head | None


def ending(record: Record) -> Ending:
    """The end of a finished run, from its record alone."""
    state, folder = record.state, record.folder
    finished = state.finished
    result = state.claimed.result if isinstance(state.claimed, ClaimScored) else None
    champion = finished.champion if finished else None
    return Ending(
        run=folder.id,
        outcome=finished.outcome if finished else "unfinished",
        reason=finished.reason if finished else "the run can go on",
        tier=state.weakest,
        champion=champion,
        champion_score=result.champion if result else None,
        base_score=result.base if result else None,
        difference=result.difference if result else None,
        recipe=_recipe(state, champion),
        experiments=sum(1 for name in state.experiments if name != BASE),
        untried=_untried(record),
        clock=_clock(record),
        record=str(folder.path),
        head=head(folder),
    )


def head(folder: RunFolder) -> Head | None:
    """The newest note beside the ledger; its signature is not checked here."""
    notes = NoteFolder(folder.notes).all()
    if not notes:
        return None
    note = Note.parse(notes[-1][1])
    lines = tuple(signature.line() for signature in note.signatures)
    return Head(size=note.size, root=note.root.hex(), signatures=lines)


def text(end: Ending) -> str:
    """The end as it is printed."""
    lines = [*_claim_lines(end), *_recipe_lines(end)]
    if end.untried:
        lines += ["", "Not tried:", *(f"  {one.source}: {line(one.reason)}" for one in end.untried)]
    if end.clock:
        lines += ["", *textwrap.wrap(end.clock, 100)]
    folder = Path(end.record)
    path = words.shown(folder)
    lines += ["", f"record       {path}"]
    if end.head:
        lines.append(f"signed head  {end.head.size} events, root {end.head.root}")
        lines += [f"             {line}" for line in end.head.signatures]
    return "\n".join([*lines, "", "Next:", *_next(end, path)])


def unfinished(folder: RunFolder) -> str:
    """How to go on with a run that was stopped half-way."""
    return f"go on with: {words.program()} resume {words.shown(folder.path)}"


def _next(end: Ending, path: str) -> list[str]:
    rsi = words.program()
    steps = [
        (f"report {path}", "all of it as one page to read anywhere, in the folder reports"),
        (f"verify {path}", "the record against its signed heads"),
        (f"graph {path}", "who tried what, and the way to the champion"),
    ]
    if end.champion is not None:
        steps.append((f"try {path}", "base and champion asked side by side"))
        take = f"show champion --run {path} --out champion"
        steps.append((take, "its weights and tokenizer, for transformers"))
    return [line for command, why in steps for line in (f"  # {why}", f"  {rsi} {command}")]


def _claim_lines(end: Ending) -> list[str]:
    head_line = ["NOT ISOLATED: this run makes no claim about integrity.", ""]
    lines = head_line if end.tier == "none" else []
    if end.champion is None:
        lines.append(f"No champion: {line(end.reason)}.")
    if end.base_score is None:
        return lines
    who = f"Champion {words.short(end.champion)} on" if end.champion else "On"
    return [
        *lines,
        f"{who} the holdout, which was opened once (95 % intervals):",
        f"  base        {words.split(end.base_score)}{_silent(end.base_score)}",
        f"  {'champion' if end.champion else 'claimed':<10}  {words.split(end.champion_score)}",
        f"  difference  {words.points(end.difference)}",
    ]


def _silent(score: SplitScore) -> str:
    """How much of a score is for want of any answer, when that is most of it."""
    total, silent = sum(score.counts.values()), score.counts.get("no_answer", 0)
    return f", no answer on {silent} of {total} items" if 2 * silent > total else ""


def _recipe_lines(end: Ending) -> list[str]:
    if not end.recipe:
        return []
    return ["", "How it was trained:", *(f"  {step}" for step in end.recipe)]


def _recipe(state: State, champion: str | None) -> tuple[str, ...]:
    """Each training from the base to the champion, in order."""
    if champion is None:
        return ()
    chain = [champion, *(name for name in ancestors(state, champion) if name != BASE)]
    return tuple(
        f"{words.short(name)}: {words.training(state, state.experiments[name])}"
        for name in reversed(chain)
    )


def _untried(record: Record) -> tuple[Untried, ...]:
    state = record.state
    used = _used(state)
    return tuple(
        Untried(source=source, reason=_why(record, source))
        for source in record.contract.policy.sources
        if source not in used
    )


def _clock(record: Record) -> str:
    """That the clock was nearly or wholly used, which decides what a run comes to."""
    limit = record.contract.budget.wall_seconds
    used = record.state.wall(record.state.at)
    if used < NEARLY * limit:
        return ""
    return (
        f"The clock of {limit:g} s was used up: research stops in time for verification and claim. "
        "How far it gets depends on how fast and how busy the machine is; a longer clock in the "
        "contract (budget.wall_seconds) lets it go further."
    )


def _used(state: State) -> set[str]:
    """Origins of all data that experiments were trained on, derived data followed to its roots."""
    open_ = [d for e in state.experiments.values() if e.queued for d in e.queued.data]
    seen: set[str] = set()
    while open_:
        digest = open_.pop()
        fact = state.datasets.get(digest)
        if digest not in seen and fact is not None:
            open_.extend(fact.source.parents)
        seen.add(digest)
    return {state.datasets[digest].source.origin for digest in seen if digest in state.datasets}


def _why(record: Record, source: str) -> str:
    told = [event.fact for event in record.events if isinstance(event.fact, Offered)]
    taken = [f for f in told if f.source.origin == source and not f.source.parents]
    for fact in taken:
        reason = _unfit(record, source, fact)
        if reason is not None:
            return reason
    made = _made_of(taken, told)
    if made and all(isinstance(fact, DatasetRefused) for fact in made):
        last = made[-1]
        dropped = f"; the scan dropped {words.drops(last.dropped)}" if last.dropped else ""
        return f"it was taken, and no row was left of it: {operations.told(last.source)}{dropped}"
    return _passed_over(record)


def _unfit(record: Record, source: str, fact: Offered) -> str | None:
    """Why nothing could be trained on what the scan left of a source, or None."""
    if isinstance(fact, DatasetRefused):
        return f"all {fact.offered:,} rows were dropped ({words.drops(fact.dropped)})"
    first = record.state.datasets[fact.artifact.digest].source.origin
    if first != source:
        return f"what the scan left of it are the same rows as {first}"
    if fact.holds not in words.taken(record.contract.policy.recipes):
        return f"it holds {fact.holds}, and no recipe of the contract takes them"
    return None


def _made_of(taken: Sequence[Offered], told: Sequence[Offered]) -> list[Offered]:
    """What was made of those datasets, also of what was made of them, in order."""
    known = {fact.artifact.digest for fact in taken if isinstance(fact, DatasetRegistered)}
    found = []
    for fact in told:
        if known.isdisjoint(fact.source.parents):
            continue
        found.append(fact)
        if isinstance(fact, DatasetRegistered):
            known.add(fact.artifact.digest)
    return found


def _passed_over(record: Record) -> str:
    """Why Main gave no direction to a source on which something could be trained."""
    state, finished = record.state, record.state.finished
    if finished is not None and _cut_short(record, finished):
        return f"the run ended before: {finished.reason}"
    opened = [node for node in state.graph.workers() if _explores(node.created)]
    total = record.contract.budget.experiments
    if len(opened) >= directions(total):
        affords = words.count(directions(total), "direction")
        return f"the budget of {words.count(total, 'experiment')} is good for {affords}"
    return "Main opened no direction for it"


def _cut_short(record: Record, finished: RunFinished) -> bool:
    """Whether it was not Main that found the research done."""
    asked = [e.caller.role for e in record.events if isinstance(e.fact, FinishAsked)]
    return finished.outcome in ("stopped", "budget") or asked == [Role.OS]


def _explores(created: object) -> bool:
    return isinstance(created, WorkerCreated) and created.purpose == "explore"
