"""What the run came to: the claim beside the base, how the champion was chosen, and the verdict in
plain words."""

from collections.abc import Iterator

from rsi_master.core.experiment import BASE
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored, RunFinished
from rsi_master.core.score import ClaimResult, PairedDifference, Score, Scored, SplitScore
from rsi_master.domains.planning.ranking import Candidate, rank
from rsi_master.interfaces import words
from rsi_master.interfaces.report.beside import beside, compared
from rsi_master.interfaces.report.document import (
    Block,
    Code,
    Line,
    Paragraph,
    Row,
    Section,
    Strong,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.subject import Subject

NOT_ISOLATED = (
    "NOT ISOLATED",
    "Nothing kept this run's jobs from cheating: the figures below are what was recorded, and no "
    "claim is made about their integrity.",
)
BROKEN = (
    "The record does not hold",
    "verification found what is listed under Integrity, so what follows is only what it says.",
)
MOST_CANDIDATES = 20
HEAD = (
    "recipe",
    "data and method",
    "settings",
    "experiments",
    "seeds",
    "mean on confirm",
    "claimable",
)


def outcome(subject: Subject) -> Section:
    """The champion and its claim."""
    claimed = subject.record.state.claimed
    blocks: tuple[Block, ...]
    if isinstance(claimed, ClaimScored):
        cite = subject.refs.event(ClaimScored)
        blocks = (_figures(subject, claimed), _tasks(subject, claimed, cite))
    else:
        blocks = (paragraph(_unclaimed(subject)),)
    return Section("Champion and claim", "claim", (*blocks, *beside(subject), *_ranking(subject)))


def verdict(subject: Subject) -> Section:
    """The same in plain words."""
    blocks: list[Block] = []
    if subject.status.tier == "none":
        head, sentence = NOT_ISOLATED
        blocks.append(paragraph(Strong(head), ": ", sentence))
    checked = subject.verification.report
    if checked is not None and not checked.sound:
        blocks.append(paragraph(Strong(BROKEN[0]), ": ", BROKEN[1]))
    blocks += [Paragraph(line) for line in _plainly(subject)]
    return Section("Verdict", "verdict", tuple(blocks))


def _figures(subject: Subject, claimed: ClaimScored) -> Table:
    result, refs = claimed.result, subject.refs
    cite = refs.event(ClaimScored)
    rows = (
        _scored("base", (refs.experiment(BASE),), result.base, cite),
        _scored(
            name_of(subject, claimed), (refs.experiment(claimed.experiment),), result.champion, cite
        ),
        Row((("difference",), (), (words.points(result.difference),), _items(result), cite)),
    )
    return Table(
        "On the holdout, opened once for champion and base together; 95 % intervals. A score is "
        "the average over tasks of the share of items answered right.",
        ("what", "experiment", "holdout", "items", "record"),
        rows,
    )


def name_of(subject: Subject, claimed: ClaimScored) -> str:
    """What the claimed experiment is called: champion, if the run ended with it as one."""
    finished = subject.record.state.finished
    chosen = finished is not None and finished.champion == claimed.experiment
    return "champion" if chosen else "claimed"


def _scored(label: str, who: Line, score: SplitScore, cite: Line) -> Row:
    return Row(((label,), who, (cut(words.split(score)),), (_count(score.average),), cite))


def _count(found: Score | None) -> str:
    """How many items a score is the share of."""
    return f"{found.n:,}" if isinstance(found, Scored) else "none"


def _items(result: ClaimResult) -> Line:
    difference = result.difference
    return (f"{difference.discordant:,} of {difference.n:,} differ",) if difference else ()


def _tasks(subject: Subject, claimed: ClaimScored, cite: Line) -> Table:
    base, champion = claimed.result.base.tasks, claimed.result.champion.tasks
    return Table(
        "The same by task. A task has few items, so that its intervals are wide.",
        ("task", "base", name_of(subject, claimed), "items", "record"),
        tuple(
            Row(
                (
                    (cut(name),),
                    (cut(words.score(base.get(name))),),
                    (cut(words.score(champion.get(name))),),
                    (_count(base.get(name)),),
                    cite,
                )
            )
            for name in dict.fromkeys((*base, *champion))
        ),
    )


def _ranking(subject: Subject) -> tuple[Block, ...]:
    record = subject.record
    found = rank(record.state, record.contract.policy.seed_of_promotion)[:MOST_CANDIDATES]
    if not found:
        return ()
    return (
        Table(
            "How recipes rank: by their mean over seeds on confirm; the interval of each training "
            "stands under Experiments. Only a recipe that was trained again on fresh seeds may be "
            "claimed, by its training on the seed that the contract fixed, and its mean is over "
            "those seeds alone. The mean of any other is the one score that it had in the search, "
            "which may be luck, so that it may stand above the champion.",
            HEAD,
            tuple(_candidate(subject, one) for one in found),
        ),
    )


def _candidate(subject: Subject, one: Candidate) -> Row:
    refs = subject.refs
    return Row(
        (
            (Code(words.short(one.effective)),),
            (cut(one.family),),
            (_gist(subject, one),),
            refs.experiments(one.experiments),
            (str(one.seeds),),
            (words.percent(one.confirm_mean),),
            (refs.experiment(one.claimable),) if one.claimable else ("not verified",),
        )
    )


def _gist(subject: Subject, one: Candidate) -> str:
    """The settings of a recipe, as its first experiment has them."""
    queued = subject.record.state.experiments[one.experiments[0]].queued
    return cut(words.gist(queued.recipe)) if queued else ""


def _unclaimed(subject: Subject) -> str:
    state = subject.record.state
    if isinstance(state.claimed, ClaimFailed):
        return f"The opening of the holdout gave no score: {cut(state.claimed.reason)}."
    if state.claim is not None:
        return "The holdout has been opened, and its result is not recorded yet."
    return "The holdout has not been opened: there is no champion and nothing is claimed."


def _plainly(subject: Subject) -> Iterator[Line]:
    state = subject.record.state
    finished = state.finished
    if finished is None:
        yield from _unfinished(subject)
    else:
        how = finished.outcome.replace("_", " ")
        cite = subject.refs.event(RunFinished)
        yield (f"The run is over ({how}): {cut(finished.reason)}. ", *cite)
        if finished.champion is None:
            yield (Strong("There is no champion."),)
    if isinstance(state.claimed, ClaimScored):
        yield from _claim(subject, state.claimed)
    elif state.claim is not None:
        yield (_unclaimed(subject), " ", *subject.refs.event(ClaimOpened))
    yield compared(subject)


def _unfinished(subject: Subject) -> Iterator[Line]:
    status = subject.status
    yield (
        f"The run is {status.standing}. What follows is provisional: a score on dev that led the "
        "search is too good, and is no result.",
    )
    if status.base is None:
        yield ("The base has no score yet.",)
    if status.best is not None:
        best = subject.refs.experiment(status.best)
        yield ("The best on dev so far is ", best, f": {words.split(status.best_score)}.")


def _claim(subject: Subject, claimed: ClaimScored) -> Iterator[Line]:
    result, cite = claimed.result, subject.refs.event(ClaimScored)
    who = subject.refs.experiment(claimed.experiment)
    label = name_of(subject, claimed).capitalize()
    yield (Strong(f"{label} "), who, *_meaning(result.difference), " ", *cite)
    worse = ", ".join(_worse(result))
    if worse:
        yield (f"By task its score is lower than that of the base on {worse}.",)


def _worse(result: ClaimResult) -> Iterator[str]:
    """The tasks on which the claimed one scores lower, from what to what."""
    for name, found in result.champion.tasks.items():
        before = result.base.tasks.get(name)
        if not (isinstance(found, Scored) and isinstance(before, Scored)):
            continue
        if found.value < before.value:
            items = words.count(found.n, "item")
            change = f"{words.score(before)} to {words.score(found)}"
            yield f"{cut(name)}: {change} on {items}"


def _meaning(difference: PairedDifference | None) -> Line:
    """What the interval of the difference says."""
    told = words.points(difference)
    if difference is None:
        return (f" has a difference to the base that is {told}.",)
    if difference.low > 0:
        return (Strong(" is better than the base: "), f"{told}. The whole interval lies above 0.")
    if difference.high < 0:
        return (Strong(" is worse than the base: "), f"{told}. The whole interval lies below 0.")
    return (
        Strong(" cannot be told apart from the base: "),
        f"{told}. The interval contains 0.",
    )
