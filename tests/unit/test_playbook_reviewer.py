"""The Reviewer's playbook: it ranks by recorded evidence and says no more than the tables say."""

from dataclasses import replace
from typing import cast

import pytest

from rsi_master.agents.playbook.reviewer import Evidence, report
from rsi_master.core.graph import Statement
from rsi_master.domains.evaluation.actions import ComparisonView
from rsi_master.domains.review.actions import ScopeView
from rsi_master.domains.training.views import ReviewerExperimentView
from rsi_master.testing import tape

SCOPE = ScopeView(
    node="r1",
    question="which?",
    scope=("w1", "w2"),
    experiments=("a", "b"),
    claimed_best={},
    summaries={},
)


def view(name: str, confirm: float | None) -> ReviewerExperimentView:
    return ReviewerExperimentView(
        id=name,
        worker="w1",
        lifecycle="finished",
        integrity="accepted",
        flag="",
        reason="OK",
        recipe={},
        family="f",
        effective="e",
        init="base",
        data=(),
        seed=0,
        purpose="explore",
        proof=None,
        attempts=(),
        dev=None,
        confirm=tape.scored("confirm", confirm),
        curve=(),
    )


def table(left: str, right: str, difference: float, p: float, **tasks: float) -> ComparisonView:
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
            "n": 80,
            "tasks": tasks or {"add": difference},
            "verdict": verdict,
        }
    )


def evidence(*tables: ComparisonView) -> Evidence:
    return Evidence(
        scope=SCOPE,
        leader=view("a", 0.6),
        siblings=(view("b", 0.4),),
        comparisons=tables,
        contaminated=(),
        others=(),
    )


CLEAR = evidence(table("base", "a", 0.4, 0.001), table("b", "a", 0.2, 0.01))


def verdicts(found: Evidence) -> dict[str | None, str]:
    findings = cast(tuple[Statement, ...], report(found)["findings"])
    return {finding.than: finding.verdict for finding in findings}


def test_a_leader_above_base_and_siblings_is_recommended() -> None:
    assert verdicts(CLEAR) == {"base": "supported", "b": "supported"}
    assert report(CLEAR)["recommend"] == "a"
    assert report(CLEAR)["missing"] == ()


def test_the_table_reversed_changes_the_report() -> None:
    turned = evidence(table("base", "a", 0.4, 0.001), table("b", "a", -0.2, 0.01))
    assert verdicts(turned) == {"base": "supported", "b": "inconclusive"}
    assert report(turned)["recommend"] is None
    assert report(turned)["missing"]


@pytest.mark.parametrize(("p", "verdict"), [(0.02, "supported"), (0.03, "inconclusive")])
def test_levels_are_corrected_for_the_number_of_comparisons(p: float, verdict: str) -> None:
    """Holm: of two comparisons the smaller p is held against 0.025."""
    found = evidence(table("base", "a", 0.4, p), table("b", "a", 0.2, p + 0.001))
    assert set(verdicts(found).values()) == {verdict}


def test_a_larger_p_is_not_supported_once_a_smaller_one_was_not() -> None:
    found = evidence(table("base", "a", 0.4, 0.026), table("b", "a", 0.2, 0.04))
    assert set(verdicts(found).values()) == {"inconclusive"}


def test_every_finding_cites_what_it_compares() -> None:
    for finding in cast(tuple[Statement, ...], report(CLEAR)["findings"]):
        assert finding.better is not None and finding.than is not None
        assert set(finding.records) == {finding.better, finding.than}


def test_alone_above_the_base_is_enough() -> None:
    alone = replace(evidence(table("base", "a", 0.4, 0.001)), siblings=())
    assert report(alone)["recommend"] == "a"
    level = replace(evidence(table("base", "a", 0.01, 0.9)), siblings=())
    assert report(level)["recommend"] is None
    assert "no direction" in str(report(level)["recommendation"])


def test_what_got_worse_is_told_by_task() -> None:
    found = evidence(
        table("base", "a", 0.1, 0.001, add=0.4, reverse=-0.2), table("b", "a", 0.2, 0.01, add=-0.3)
    )
    assert report(found)["regressions"] == ("reverse: -20.0 points against the base",)


def test_contaminated_data_is_a_possible_violation_with_its_record() -> None:
    digest = tape.digest("data")
    (statement,) = cast(
        tuple[Statement, ...], report(replace(CLEAR, contaminated=(digest,)))["violations"]
    )
    assert statement.records == (digest,)
    assert statement.verdict == "inconclusive"


def test_without_a_checkpoint_nothing_is_recommended() -> None:
    none = replace(CLEAR, leader=None, siblings=(), comparisons=())
    found = report(none)
    assert found.get("recommend") is None
    (finding,) = cast(tuple[Statement, ...], found["findings"])
    assert (finding.verdict, finding.records) == ("invalid", ("a", "b"))
