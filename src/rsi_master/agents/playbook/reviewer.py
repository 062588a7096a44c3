"""The Reviewer's playbook: fetch the raw evidence, compare siblings on confirm, report."""

import math
from dataclasses import dataclass
from typing import cast

from rsi_master.agents.playbook.scores import value
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import Statement
from rsi_master.core.turn import Ask
from rsi_master.domains.data.actions import PoolView
from rsi_master.domains.evaluation.actions import ComparisonView
from rsi_master.domains.review.actions import ScopeView
from rsi_master.domains.training.views import ReviewerExperimentView
from rsi_master.expos.gateway import Session
from rsi_master.stats.paired import holm
from rsi_master.stats.power import detectable_difference

# Five per cent in all is the custom of the field (Dror et al. 2018, ACL). Later reviews look at the
# same items again, so each gets a share, and all shares together make one.
LEVEL = 0.05
SHARES = 6 / math.pi**2
# A report holds fifty findings and fifty lines; each direction but the leader takes two findings.
MOST_LINES = 50
MOST_DIRECTIONS = MOST_LINES // 2
# What is not told apart goes on as a pair: each more costs a training and says less.
MOST_RECOMMENDED = 2


@dataclass(frozen=True)
class Evidence:
    """What the Reviewer fetched: the best experiment of each direction, that which leads on dev
    first, and the comparisons of `pairs` on confirm."""

    scope: ScopeView
    bests: tuple[ReviewerExperimentView, ...]
    comparisons: tuple[ComparisonView, ...]
    contaminated: tuple[str, ...]


@dataclass(frozen=True)
class Tested:
    """A comparison and its p-value after Holm's correction over the whole report, beside the level
    of that report."""

    table: ComparisonView
    p: float
    level: float

    def holds(self) -> bool:
        """Whether the two differ."""
        return self.p <= self.level

    def higher(self) -> bool:
        """Whether the right one is shown to be better."""
        return self.holds() and self.table.difference > 0


class ReviewerPlaybook:
    """Trusts no summary: it ranks by what the evaluator recorded."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        session.act("review.submit", **report(gather(session)))


def gather(session: Session) -> Evidence:
    """Inspect every experiment in scope and make the comparisons of `pairs`."""
    scope = cast(ScopeView, session.act("review.current"))
    views = [
        cast(ReviewerExperimentView, session.act("experiment.inspect", experiment=name))
        for name in scope.experiments
    ]
    bests = best_each(views)
    comparisons = tuple(
        cast(
            ComparisonView,
            session.act("evaluation.compare", left=left, right=right, split="confirm"),
        )
        for left, right in pairs(bests)
    )
    pool = cast(PoolView, session.act("data.list"))
    used = {digest for view in views for digest in view.data}
    return Evidence(
        scope=scope,
        bests=bests,
        comparisons=comparisons,
        contaminated=tuple(d.id for d in pool.datasets if d.id in used and d.dropped != "none"),
    )


def best_each(views: list[ReviewerExperimentView]) -> tuple[ReviewerExperimentView, ...]:
    """What each Worker stands for, whatever it named its best: the best of an exploration, and of a
    verification the end of the lineage, which is what may be claimed. That which leads comes first.

    All is chosen on dev, so that a review does not choose what it compares by the items that it
    compares on. What an earlier review had followed was chosen on them: a gain that a later review
    shows is an upper one, which fresh seeds and the holdout correct.
    """
    continued = {(view.worker, parent) for view in views for parent in (view.init, *view.merges)}
    found: dict[str, ReviewerExperimentView] = {}
    for view in views:
        if view.integrity != "accepted" or value(view.confirm) < 0:
            continue
        if view.purpose == "verify" and (view.worker, view.id) in continued:
            continue
        if view.worker not in found or value(view.dev) > value(found[view.worker].dev):
            found[view.worker] = view
    order = sorted(found.values(), key=lambda view: value(view.dev), reverse=True)
    return tuple(order[:MOST_DIRECTIONS])


def pairs(bests: tuple[ReviewerExperimentView, ...]) -> tuple[tuple[str, str], ...]:
    """What is compared: each with the base, and each other recipe with the leader. Seeds of one
    recipe are no rivals: the contract fixed which of them may be claimed."""
    rivals = [view for view in bests[1:] if view.effective != bests[0].effective]
    return (
        *((BASE, view.id) for view in bests),
        *((bests[0].id, view.id) for view in rivals),
    )


def report(evidence: Evidence) -> dict[str, object]:
    """The report that the evidence supports."""
    if not evidence.bests:
        return {
            "findings": (_none_holds(evidence),),
            "recommendation": "no experiment in scope has an accepted checkpoint with a score",
        }
    adjusted = holm([table.p for table in evidence.comparisons])
    level = level_of(evidence.scope.node)
    tests = [Tested(t, p, level) for t, p in zip(evidence.comparisons, adjusted, strict=True)]
    recommend = _recommended(evidence, tests)
    return {
        "findings": tuple(_compared(test) for test in tests),
        "violations": tuple(_contaminated(digest) for digest in evidence.contaminated),
        "regressions": _regressions(evidence.comparisons, recommend or (evidence.bests[0].id,)),
        "missing": _missing(tests),
        "recommend": recommend,
        "recommendation": _advice(recommend, evidence.bests[0].purpose == "verify"),
    }


def level_of(node: str) -> float:
    """The level of a run's k-th review: `LEVEL` by 6 / (π k)², which sums to `LEVEL` over all k."""
    number = int(node.removeprefix("r"))
    return LEVEL * SHARES / number**2


def _recommended(evidence: Evidence, tests: list[Tested]) -> tuple[str, ...]:
    """What to train again: the leader and those that it is not shown to beat, or, where others are
    shown to beat it, those; two at most, first those above the base. None if nothing is."""
    above = {test.table.right for test in tests if test.table.left == BASE and test.higher()}
    if not above:
        return ()
    rivals = [test for test in tests if test.table.left != BASE]
    ahead = [test.table.right for test in rivals if test.higher()]
    level = [test.table.right for test in rivals if not test.holds()]
    contenders = ahead or [evidence.bests[0].id, *level]
    return tuple(sorted(contenders, key=lambda name: name not in above)[:MOST_RECOMMENDED])


def _compared(test: Tested) -> Statement:
    """What the table says of the one that scored higher."""
    table = test.table
    turned = table.difference < 0
    better, than = (table.left, table.right) if turned else (table.right, table.left)
    low, high = (-table.high, -table.low) if turned else (table.low, table.high)
    return Statement(
        claim=(
            f"{_name(better)} scores higher than {_name(than)} on confirm by "
            f"{100 * abs(table.difference):.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], "
            f"p {table.p:.2g} ({test.p:.2g} over all comparisons), n {table.n}"
        ),
        verdict="supported" if test.holds() and table.difference else "inconclusive",
        records=(better, than),
        better=better,
        than=than,
    )


def _missing(tests: list[Tested]) -> tuple[str, ...]:
    """What the comparisons that show nothing could have shown."""
    return tuple(_sight(test, len(tests)) for test in tests if not test.holds())


def _sight(test: Tested, comparisons: int) -> str:
    table = test.table
    pair = f"{_name(table.right)} and {_name(table.left)}"
    if not table.discordant:
        return f"{pair} differ on none of {table.n} items"
    share = table.discordant / table.n
    seen = detectable_difference(table.effective, share, test.level / comparisons)
    if seen is None:
        return f"{pair}: {_items(table)} cannot tell them apart; more items or seeds would"
    return f"{pair}: a difference below {100 * seen:.1f} points is likely missed on {_items(table)}"


def _items(table: ComparisonView) -> str:
    worth = round(table.effective)
    told = f" (worth {worth} that stand alone)" if worth < table.n else ""
    return f"{table.n} items{told}"


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
        records=evidence.scope.experiments or (BASE,),
    )


def _regressions(tables: tuple[ComparisonView, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    lines = [
        f"{_name(table.right)}, {task}: {100 * change:+.1f} points against the base"
        for table in tables
        if table.left == BASE and table.right in names
        for task, change in table.tasks.items()
        if round(100 * change, 1) < 0
    ]
    return tuple(lines[:MOST_LINES])


def _advice(recommend: tuple[str, ...], verified: bool) -> str:
    match recommend:
        case ():
            return "no direction is shown to beat the base; there is nothing to claim"
        case _ if verified:
            return "on fresh seeds the base is beaten; claim what the ranking puts first"
        case (name,):
            return f"train {_name(name)} again on a fresh seed; it is ahead on confirm"
        case _:
            names = " and ".join(_name(name) for name in recommend)
            return f"{names} are not told apart; both are worth a fresh seed before a claim"


def _name(experiment: str) -> str:
    return experiment if experiment == BASE else experiment[-8:]
