"""What the run came to: the claim beside the base, how the champion was chosen, and the verdict in
plain words."""

from collections.abc import Iterator

from rsi_master.core.experiment import BASE
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored, RunFinished
from rsi_master.core.score import ClaimResult, PairedDifference, Scored, SplitScore
from rsi_master.domains.planning.ranking import Candidate, rank
from rsi_master.interfaces import words
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


def outcome(subject: Subject) -> Section:
    """The champion and its claim."""
    claimed = subject.record.state.claimed
    blocks: tuple[Block, ...]
    if isinstance(claimed, ClaimScored):
        blocks = (
            _figures(subject, claimed),
            _tasks(claimed.result, subject.refs.event(ClaimScored)),
        )
    else:
        blocks = (paragraph(_unclaimed(subject)),)
    return Section("Champion and claim", "claim", (*blocks, *_ranking(subject)))


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
    finished = subject.record.state.finished
    chosen = finished is not None and finished.champion == claimed.experiment
    name = "champion" if chosen else "claimed"
    rows = (
        _scored("base", (refs.experiment(BASE),), result.base, cite),
        _scored(name, (refs.experiment(claimed.experiment),), result.champion, cite),
        Row((("difference",), (), (words.points(result.difference),), _items(result), cite)),
    )
    return Table(
        "On the holdout, opened once for champion and base together; 95 % intervals. A score is "
        "the average over tasks of the share of items answered right.",
        ("what", "experiment", "holdout", "items", "record"),
        rows,
    )


def _scored(label: str, who: Line, score: SplitScore, cite: Line) -> Row:
    average = score.average
    items = f"{average.n:,}" if isinstance(average, Scored) else "none"
    return Row(((label,), who, (cut(words.split(score)),), (items,), cite))


def _items(result: ClaimResult) -> Line:
    difference = result.difference
    return (f"{difference.discordant:,} of {difference.n:,} differ",) if difference else ()


def _tasks(result: ClaimResult, cite: Line) -> Table:
    names = dict.fromkeys((*result.base.tasks, *result.champion.tasks))
    return Table(
        "The same by task.",
        ("task", "base", "champion", "record"),
        tuple(
            Row(
                (
                    (cut(name),),
                    (cut(words.score(result.base.tasks.get(name))),),
                    (cut(words.score(result.champion.tasks.get(name))),),
                    cite,
                )
            )
            for name in names
        ),
    )


def _ranking(subject: Subject) -> tuple[Block, ...]:
    record = subject.record
    found = rank(record.state, record.contract.policy.seed_of_promotion)[:MOST_CANDIDATES]
    if not found:
        return ()
    return (
        Table(
            "How recipes rank: by their mean over seeds on confirm. What may be claimed is the "
            "training on the seed that the contract fixed.",
            ("recipe", "family", "experiments", "seeds", "mean on confirm", "may be claimed"),
            tuple(_candidate(subject, one) for one in found),
        ),
    )


def _candidate(subject: Subject, one: Candidate) -> Row:
    refs = subject.refs
    return Row(
        (
            (Code(words.short(one.effective)),),
            (cut(one.family),),
            refs.experiments(one.experiments),
            (str(one.seeds),),
            (words.percent(one.confirm_mean),),
            (refs.experiment(one.claimable),) if one.claimable else ("not yet",),
        )
    )


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
        else:
            yield (Strong("The champion is"), " ", subject.refs.experiment(finished.champion), ".")
    if isinstance(state.claimed, ClaimScored):
        yield from _claim(subject, state.claimed)
    elif state.claim is not None:
        yield (_unclaimed(subject), " ", *subject.refs.event(ClaimOpened))
    yield (
        "The base is all that the record compares with: it holds no score of the base with "
        "examples in its prompt, and none of a recipe made by hand.",
    )


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
    yield (
        "On the holdout ",
        who,
        f" reached {cut(words.split(result.champion))}, the base {cut(words.split(result.base))}. ",
        *cite,
    )
    yield (_meaning(result.difference),)


def _meaning(difference: PairedDifference | None) -> str:
    """What the interval of the difference says."""
    told = words.points(difference)
    if difference is None:
        return f"The difference is {told}."
    if difference.low > 0:
        return f"It is better than the base: {told}. The whole interval lies above 0."
    if difference.high < 0:
        return f"It is worse than the base: {told}. The whole interval lies below 0."
    return f"It cannot be told apart from the base: {told}. The interval contains 0."
