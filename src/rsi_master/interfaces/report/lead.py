"""The first sentences of a report: what came out, whether to trust it, how to read on."""

from datetime import UTC, datetime

from rsi_master.core.run import ClaimScored
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Line, Link, Strong, cut
from rsi_master.interfaces.report.outcome import BROKEN, name_of
from rsi_master.interfaces.report.subject import Subject


def lead(subject: Subject) -> Line:
    """The paragraph above everything else."""
    state = subject.record.state
    if not subject.record.events:
        return ("The record of this run is empty.",)
    return (
        *_came_out(subject),
        *_trust(subject),
        f"All is read from the record as of event {state.position}, {utc(state.at)}, and each "
        "figure names the event that it rests on; brackets behind a score hold its 95 % interval. "
        "What the words mean stands under ",
        Link("Words", "words"),
        ".",
    )


def utc(at: float) -> str:
    """A time of the record; one that no calendar has stays a number."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at:g} s"


def _came_out(subject: Subject) -> Line:
    """The result; nothing before the holdout was scored, and a warning in its place where the
    record does not hold."""
    state, checked = subject.record.state, subject.verification.report
    if checked is not None and not checked.sound:
        return (Strong(f"{BROKEN[0]}: "), f"{BROKEN[1]} ")
    if isinstance(state.claimed, ClaimScored):
        return _claimed(subject, state.claimed)
    if state.finished is not None:
        return (Strong("There is no champion: "), f"{cut(state.finished.reason)}. ")
    return (f"The run is {subject.status.standing}, and nothing is claimed yet. ",)


def _claimed(subject: Subject, claimed: ClaimScored) -> Line:
    result, who = claimed.result, subject.refs.experiment(claimed.experiment)
    named: Line = (Strong("The champion "), who)
    if name_of(subject, claimed) != "champion":
        named = (Strong("There is no champion: what was claimed, "), who, ",")
    return (
        *named,
        Strong(
            f" reaches {cut(words.split(result.champion))} on the holdout, which is questions that "
            f"were kept back to the end; the base that it was made from reaches "
            f"{cut(words.split(result.base))}. "
        ),
    )


def _trust(subject: Subject) -> Line:
    """What speaks for the result; the warning has said what speaks against it."""
    tier, checked = subject.status.tier, subject.verification.report
    if tier == "none":
        return ("Nothing is claimed about its integrity, since its jobs were not isolated. ",)
    if checked is None:
        whole = "Whether its record is whole was not checked for this page; how to stands under "
        return (whole, Link("Integrity", "integrity"), ". ")
    if not checked.sound or tier is None:
        return ()
    key = f"; key {cut(subject.verification.key)}" if subject.verification.key else ""
    return (
        "Its record was verified while this page was written and is whole "
        f"({cut(checked.anchor)}{key}), and its jobs ran walled off from the questions and the "
        f"network (isolation {tier}); what that leaves open stands under ",
        Link("Integrity", "integrity"),
        ". ",
    )
