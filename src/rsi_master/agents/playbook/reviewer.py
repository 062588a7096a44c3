"""The Reviewer's playbook: fetch the raw evidence, compare siblings on confirm, report."""

from dataclasses import dataclass
from typing import cast

from rsi_master.core.graph import Statement
from rsi_master.core.score import Scored, SplitScore
from rsi_master.core.turn import Ask
from rsi_master.domains.data.actions import PoolView
from rsi_master.domains.evaluation.actions import ComparisonView
from rsi_master.domains.review.actions import ScopeView
from rsi_master.domains.training.views import ReviewerExperimentView
from rsi_master.expos.gateway import Session

LEVEL = 0.05


@dataclass(frozen=True)
class Evidence:
    """What the Reviewer fetched: the best experiment of each direction on dev, the one of them that
    leads on confirm, and its comparisons with the others and the base."""

    scope: ScopeView
    leader: ReviewerExperimentView | None
    siblings: tuple[ReviewerExperimentView, ...]
    comparisons: tuple[ComparisonView, ...]
    contaminated: tuple[str, ...]
    others: tuple[ReviewerExperimentView, ...]


class ReviewerPlaybook:
    """Trusts no summary: it ranks by what the evaluator recorded."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        session.act("review.submit", **report(gather(session)))


def gather(session: Session) -> Evidence:
    """Inspect every experiment in scope and compare the leader with the base and its siblings."""
    scope = cast(ScopeView, session.act("review.current"))
    views = [
        cast(ReviewerExperimentView, session.act("experiment.inspect", experiment=name))
        for name in scope.experiments
    ]
    bests = _best_by_worker(views)
    leader = max(bests, key=lambda view: _value(view.confirm), default=None)
    siblings = tuple(view for view in bests if leader is not None and view.id != leader.id)
    rivals = ("base", *(view.id for view in siblings)) if leader else ()
    comparisons = tuple(
        cast(
            ComparisonView,
            session.act("evaluation.compare", left=rival, right=leader.id, split="confirm"),
        )
        for rival in rivals
        if leader is not None
    )
    pool = cast(PoolView, session.act("data.list"))
    used = {digest for view in views for digest in view.data}
    return Evidence(
        scope=scope,
        leader=leader,
        siblings=siblings,
        comparisons=comparisons,
        contaminated=tuple(d.id for d in pool.datasets if d.id in used and d.dropped != "none"),
        others=tuple(view for view in views if view not in bests),
    )


def report(evidence: Evidence) -> dict[str, object]:
    """The report that the evidence supports."""
    leader = evidence.leader
    if leader is None:
        return {
            "findings": (_none_holds(evidence),),
            "recommendation": "no experiment in scope has an accepted checkpoint with a score",
        }
    findings = [_compared(table, level) for table, level in _holm(evidence.comparisons)]
    beaten = all(finding.verdict == "supported" for finding in findings)
    above_base = findings_on(findings, "base") == "supported"
    return {
        "findings": tuple(findings),
        "violations": tuple(_contaminated(digest) for digest in evidence.contaminated),
        "regressions": _regressions(evidence.comparisons),
        "missing": () if beaten else ("the leaders were trained on one seed each",),
        "recommend": leader.id if beaten or (above_base and not evidence.siblings) else None,
        "recommendation": _advice(leader, beaten, above_base),
    }


def findings_on(findings: list[Statement], than: str) -> str | None:
    """The verdict of the comparison with that record."""
    return next((f.verdict for f in findings if f.than == than), None)


def _best_by_worker(views: list[ReviewerExperimentView]) -> list[ReviewerExperimentView]:
    """The best on dev of each Worker, whatever the Worker named its best: chosen on other items
    than those that it is then compared on."""
    found: dict[str, ReviewerExperimentView] = {}
    for view in views:
        if view.integrity != "accepted" or _value(view.confirm) < 0:
            continue
        if view.worker not in found or _value(view.dev) > _value(found[view.worker].dev):
            found[view.worker] = view
    return list(found.values())


def _holm(tables: tuple[ComparisonView, ...]) -> list[tuple[ComparisonView, float]]:
    """Each comparison with its level under Holm's step-down rule (Holm 1979)."""
    order = sorted(tables, key=lambda table: table.p)
    levels: dict[str, float] = {}
    open_ = True
    for rank, table in enumerate(order):
        level = LEVEL / (len(order) - rank)
        open_ = open_ and table.p <= level
        levels[table.left] = level if open_ else 0.0
    return [(table, levels[table.left]) for table in tables]


def _compared(table: ComparisonView, level: float) -> Statement:
    holds = level > 0 and table.difference > 0
    verdict = "supported" if holds else "inconclusive"
    return Statement(
        claim=(
            f"{_name(table.right)} scores higher than {_name(table.left)} on confirm by "
            f"{100 * table.difference:+.1f} points "
            f"[{100 * table.low:+.1f}, {100 * table.high:+.1f}], p {table.p:.2g}, n {table.n}"
        ),
        verdict=verdict,
        records=(table.right, table.left),
        better=table.right,
        than=table.left,
    )


def _contaminated(digest: str) -> Statement:
    return Statement(
        claim="the source held sealed items; the scan dropped them before the data had an id",
        verdict="inconclusive",
        records=(digest,),
    )


def _none_holds(evidence: Evidence) -> Statement:
    return Statement(
        claim="no experiment in scope gave a scored checkpoint",
        verdict="invalid",
        records=evidence.scope.experiments or ("base",),
    )


def _regressions(tables: tuple[ComparisonView, ...]) -> tuple[str, ...]:
    base = [table for table in tables if table.left == "base"]
    return tuple(
        f"{task}: {100 * change:+.1f} points against the base"
        for table in base
        for task, change in table.tasks.items()
        if change < 0
    )


def _advice(leader: ReviewerExperimentView, beaten: bool, above_base: bool) -> str:
    if beaten:
        return (
            f"train {_name(leader.id)} again on a fresh seed; it leads every sibling and the base"
        )
    if above_base:
        return "the leaders are not told apart; train the two best again on a fresh seed"
    return "no direction is shown to beat the base; verify the two best before any claim"


def _value(score: SplitScore | None) -> float:
    return score.average.value if score and isinstance(score.average, Scored) else -1.0


def _name(experiment: str) -> str:
    return experiment if experiment == "base" else experiment[-8:]
