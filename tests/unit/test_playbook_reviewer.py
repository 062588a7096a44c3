"""The Reviewer's playbook: it ranks by recorded evidence and says no more than the tables say."""

import math
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from rsi_master.agents.playbook.reviewer import (
    LEVEL,
    MOST_DIRECTIONS,
    Evidence,
    best_each,
    level_of,
    pairs,
    report,
)
from rsi_master.core.experiment import Integrity
from rsi_master.core.graph import Statement
from rsi_master.domains.evaluation.actions import ComparisonView
from rsi_master.domains.review.actions import ScopeView, Submit
from rsi_master.domains.training.views import ReviewerExperimentView
from rsi_master.stats.paired import paired_difference
from rsi_master.testing import tape

SCOPE = ScopeView(
    node="r1",
    question="which?",
    scope=("w1", "w2"),
    experiments=("a", "b"),
    claimed_best={},
    summaries={},
)


def view(
    name: str,
    dev: float,
    confirm: float | None = 0.5,
    worker: str | None = None,
    integrity: Integrity = "accepted",
) -> ReviewerExperimentView:
    return ReviewerExperimentView(
        id=name,
        worker=worker or f"w-{name}",
        lifecycle="finished",
        integrity=integrity,
        flag="",
        reason="OK",
        recipe={},
        family="f",
        effective=f"of {name}",
        init="base",
        merges=(),
        data=(),
        seed=0,
        purpose="explore",
        proof=None,
        attempts=(),
        dev=tape.scored("dev", dev),
        confirm=tape.scored("confirm", confirm),
        curve=(),
    )


def table(
    left: str,
    right: str,
    difference: float,
    p: float,
    *,
    discordant: int = 40,
    effective: float = 80,
    **tasks: float,
) -> ComparisonView:
    verdict = "inconclusive" if p > 0.05 else "supported" if difference > 0 else "refuted"
    return ComparisonView.model_validate(
        {
            "left": left,
            "right": right,
            "split": "confirm",
            "difference": difference,
            "low": difference - 0.1,
            "high": difference + 0.1,
            "p": p,
            "n": ITEMS,
            "discordant": discordant,
            "effective": effective,
            "tasks": tasks or {"add": difference},
            "verdict": verdict,
        }
    )


ITEMS = 80
BESTS = (view("a", 0.6), view("b", 0.5), view("c", 0.4))
ABOVE = {name: table("base", name, 0.4, 0.001) for name in "abc"}
LEVEL_WITH_BASE = {name: table("base", name, 0.01, 0.8) for name in "abc"}


def evidence(*tables: ComparisonView) -> Evidence:
    """The tables, those with the base first; its bests are those that the tables compare."""
    names = {table.right for table in tables}
    bests = tuple(best for best in BESTS if best.id in names)
    return Evidence(scope=SCOPE, bests=bests, comparisons=tables, contaminated=())


def against_base(*names: str) -> tuple[ComparisonView, ...]:
    return tuple(ABOVE[name] for name in names)


CLEAR = evidence(*against_base("a", "b"), table("a", "b", -0.2, 0.01))


def findings(found: Evidence) -> tuple[Statement, ...]:
    return cast(tuple[Statement, ...], report(found)["findings"])


def verdicts(found: Evidence) -> dict[tuple[str | None, str | None], str]:
    return {(f.better, f.than): f.verdict for f in findings(found)}


def recommended(*tables: ComparisonView) -> object:
    return report(evidence(*tables))["recommend"]


def test_a_leader_above_base_and_siblings_is_recommended() -> None:
    assert verdicts(CLEAR) == {
        ("a", "base"): "supported",
        ("b", "base"): "supported",
        ("a", "b"): "supported",
    }
    assert report(CLEAR)["recommend"] == ("a",)
    assert report(CLEAR)["missing"] == ()


def test_the_table_reversed_changes_the_report() -> None:
    turned = evidence(*against_base("a", "b"), table("a", "b", 0.2, 0.01))
    assert verdicts(turned)["b", "a"] == "supported"
    assert report(turned)["recommend"] == ("b",)


def test_those_not_told_apart_are_recommended_together_and_two_at_most() -> None:
    close = table("a", "b", -0.02, 0.6)
    assert recommended(*against_base("a", "b"), close) == ("a", "b")
    tables = (*against_base("a", "b", "c"), close, table("a", "c", 0.01, 0.8))
    assert recommended(*tables) == ("a", "b")
    beaten = (
        *against_base("a", "b", "c"),
        table("a", "b", -0.3, 0.001),
        table("a", "c", 0.01, 0.8),
    )
    assert recommended(*beaten) == ("a", "c")


def test_where_nothing_is_shown_to_beat_the_base_nothing_is_recommended() -> None:
    tables = (LEVEL_WITH_BASE["a"], LEVEL_WITH_BASE["b"], table("a", "b", -0.3, 0.001))
    assert recommended(*tables) == ()
    worse = table("base", "a", -0.4, 0.001)
    assert recommended(worse) == ()
    assert verdicts(evidence(worse)) == {("base", "a"): "supported"}
    assert "no direction" in str(report(evidence(worse))["recommendation"])


def test_what_is_shown_to_beat_the_base_comes_first() -> None:
    tables = (LEVEL_WITH_BASE["a"], ABOVE["b"], table("a", "b", 0.05, 0.3))
    assert recommended(*tables) == ("b", "a")


def test_alone_above_the_base_is_enough() -> None:
    assert recommended(ABOVE["a"]) == ("a",)
    assert recommended(LEVEL_WITH_BASE["a"]) == ()


@pytest.mark.parametrize(("p", "verdict"), [(0.0101, "supported"), (0.0102, "inconclusive")])
def test_levels_are_corrected_for_the_number_of_comparisons(p: float, verdict: str) -> None:
    """Holm: of three comparisons of the first review the smallest p is held against 0.0304 / 3."""
    found = evidence(
        table("base", "a", 0.4, p), table("base", "b", 0.2, p + 0.001), table("a", "b", -0.2, 0.03)
    )
    assert set(verdicts(found).values()) == {verdict}


def test_the_levels_of_all_reviews_make_five_per_cent() -> None:
    levels = [level_of(f"r{number}") for number in range(1, 10_000)]
    assert levels == sorted(levels, reverse=True)
    assert sum(levels) == pytest.approx(LEVEL, abs=1e-5)
    assert levels[:2] == pytest.approx([0.0304, 0.0076], abs=1e-4)


@pytest.mark.parametrize(("node", "verdict"), [("r1", "supported"), ("r2", "inconclusive")])
def test_a_later_review_asks_for_more(node: str, verdict: str) -> None:
    found = evidence(table("base", "a", 0.4, 0.01))
    later = replace(found, scope=found.scope.model_copy(update={"node": node}))
    assert set(verdicts(later).values()) == {verdict}


def test_the_pairs_are_each_with_the_base_and_each_other_with_the_leader() -> None:
    assert pairs(BESTS) == (
        ("base", "a"),
        ("base", "b"),
        ("base", "c"),
        ("a", "b"),
        ("a", "c"),
    )
    assert pairs(()) == ()
    seeds = tuple(one.model_copy(update={"effective": "one recipe"}) for one in BESTS[:2])
    assert pairs((*seeds, BESTS[2])) == (
        ("base", "a"),
        ("base", "b"),
        ("base", "c"),
        ("a", "c"),
    ), "seeds of one recipe are no rivals"


def test_all_that_is_compared_is_chosen_on_dev() -> None:
    views = [
        view("low", 0.9, None),
        view("flagged", 0.9, integrity="flagged"),
        view("first", 0.3, 0.9, worker="w1"),
        view("second", 0.4, 0.3, worker="w1"),
        view("third", 0.5, 0.2, worker="w2"),
    ]
    assert [best.id for best in best_each(views)] == ["third", "second"]


def test_of_a_verification_the_end_of_the_lineage_is_weighed_though_another_leads_on_dev() -> None:
    again = {"purpose": "verify", "worker": "w3"}
    start = view("start", 0.9).model_copy(update=again)
    end = view("end", 0.6, 0.8).model_copy(update={**again, "init": "start"})
    assert [best.id for best in best_each([start, end])] == ["end"]
    failed = end.model_copy(update={"integrity": "pending", "confirm": None})
    assert best_each([start, failed]) == ()


def test_a_report_on_verifications_says_what_to_claim_and_nothing_of_more_seeds() -> None:
    again = [one.model_copy(update={"purpose": "verify"}) for one in BESTS[:2]]
    evidence = Evidence(SCOPE, tuple(again), (table("base", "a", 0.3, 1e-6),), ())
    told = report(evidence)
    assert told["recommend"] == ("a",)
    assert "claim what the ranking puts first" in str(told["recommendation"])


def test_a_report_on_very_many_directions_is_still_taken() -> None:
    bests = best_each([view(f"e{i}", i / 100) for i in range(60)])
    assert len(bests) == MOST_DIRECTIONS
    tasks = {f"t{i}": -0.1 for i in range(70)}
    tables = tuple(
        table(left, right, 0.1, 0.5).model_copy(update={"tasks": tasks})
        for left, right in pairs(bests)
    )
    assert Submit.model_validate(report(Evidence(SCOPE, bests, tables, ())))


def test_every_finding_cites_what_it_compares() -> None:
    for finding in findings(CLEAR):
        assert finding.better is not None and finding.than is not None
        assert set(finding.records) == {finding.better, finding.than}


def test_what_got_worse_in_the_recommended_is_told_by_task() -> None:
    found = evidence(
        table("base", "a", 0.1, 0.001, add=0.4, reverse=-0.2, chain=-0.0004),
        table("base", "b", 0.1, 0.001, add=-0.3),
        table("a", "b", -0.2, 0.01, add=-0.3),
    )
    assert report(found)["regressions"] == ("a, reverse: -20.0 points against the base",)


def test_what_the_items_could_have_shown_is_told_where_they_show_nothing() -> None:
    """By Connor's formula at 80 % power and a third of the level of a first review."""
    found = evidence(*against_base("a", "b"), table("a", "b", -0.02, 0.6, discordant=20))
    assert report(found)["missing"] == (
        "b and a: a difference below 18.7 points is likely missed on 80 items",
    )
    alike = evidence(*against_base("a", "b"), table("a", "b", 0.0, 1.0, discordant=0))
    assert report(alike)["missing"] == ("b and a differ on none of 80 items",)
    together = table("a", "b", -0.02, 0.6, discordant=20, effective=60.4)
    assert report(evidence(*against_base("a", "b"), together))["missing"] == (
        "b and a: a difference below 21.4 points is likely missed on 80 items (worth 60 that stand "
        "alone)",
    )
    few = evidence(*against_base("a", "b"), table("a", "b", 0.01, 1.0, discordant=3))
    assert "cannot tell them apart" in str(report(few)["missing"])


def test_contaminated_data_is_a_possible_violation_with_its_record() -> None:
    digest = tape.digest("data")
    (statement,) = cast(
        tuple[Statement, ...], report(replace(CLEAR, contaminated=(digest,)))["violations"]
    )
    assert statement.records == (digest,)
    assert statement.verdict == "inconclusive"


def test_without_a_checkpoint_nothing_is_recommended() -> None:
    found = report(Evidence(SCOPE, bests=(), comparisons=(), contaminated=()))
    assert "recommend" not in found
    (finding,) = cast(tuple[Statement, ...], found["findings"])
    assert (finding.verdict, finding.records) == ("invalid", ("a", "b"))


@pytest.mark.parametrize("workers", [3, 12])
def test_of_equal_directions_few_reports_say_that_one_is_better(workers: int) -> None:
    """Three checkpoints a Worker, all as good as the base: any verdict is an error."""
    rng, reports, wrong = np.random.default_rng(5), 400, 0
    for _ in range(reports):
        points = {f"{worker}-{i}": drawn(rng) for worker in range(workers) for i in range(3)}
        views = [
            view(name, dev.mean(), confirm.mean(), worker=name.partition("-")[0])
            for name, (dev, confirm) in points.items()
        ]
        confirmed = {name: confirm for name, (_, confirm) in points.items()}
        confirmed["base"] = drawn(rng)[1]
        bests = best_each(views)
        tables = tuple(compared(left, right, confirmed) for left, right in pairs(bests))
        said = findings(Evidence(SCOPE, bests, tables, ()))
        wrong += any(statement.verdict == "supported" for statement in said)
    assert wrong / reports <= LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / reports)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points on the items of dev and of confirm, each right by one half."""
    return (rng.random(60) < 0.5).astype(float), (rng.random(ITEMS) < 0.5).astype(float)


def compared(left: str, right: str, confirmed: dict[str, np.ndarray]) -> ComparisonView:
    found = paired_difference(confirmed[left].tolist(), confirmed[right].tolist())
    return table(left, right, found.mean, found.p, discordant=found.discordant)
