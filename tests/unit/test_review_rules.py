"""What a report must withstand: citations that exist and lie in scope, verdicts that the paired
comparison bears out, recommendations that may be followed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from rsi_master.core.errors import Misuse, PolicyDenied, RsiError
from rsi_master.core.graph import ReviewSubmitted
from rsi_master.domains.evaluation.actions import ComparisonView, VerdictsView
from rsi_master.domains.review.actions import ScopeView
from rsi_master.testing.rig import Rig, sketch_contract


@dataclass(frozen=True)
class Case:
    """A review of a weak and a strong Worker; a third stays outside."""

    rig: Rig
    weak: str
    strong: str
    outside: str
    failed: str
    node: str


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    rig = Rig(tmp_path_factory.mktemp("rig"))
    rig.score_base()
    data = rig.add()
    weaker, weak = rig.explored(data, steps=1)
    node = rig.open_worker(data)
    strong = rig.train(node, data, steps=6)
    failed = rig.train(node, data, fault="exception")
    rig.finalise(node, strong)
    _, outside = rig.explored(data, steps=4)
    yield Case(rig, weak, strong, outside, failed, rig.review(weaker, node))
    rig.close()


def finding(*records: str, verdict: str = "inconclusive", **more: str) -> dict[str, object]:
    return {"claim": "one is better", "verdict": verdict, "records": records, **more}


def submit(case: Case, *findings: dict[str, object], **more: object) -> str:
    """The code of the refusal, or an empty text; nothing stays recorded."""
    arguments = {"findings": findings, "recommendation": "go on", **more}
    try:
        case.rig.reviewer(case.node).act("review.submit", **arguments)
    except RsiError as problem:
        return problem.code
    case.rig.state.graph.nodes[case.node].report = None
    return ""


def test_a_report_on_evidence_in_scope_is_taken(case: Case) -> None:
    good = finding(case.strong, case.weak, verdict="supported", better=case.strong, than=case.weak)
    assert submit(case, good, recommend=(case.strong, case.weak, case.strong)) == ""
    assert case.rig.facts(ReviewSubmitted)[-1].recommend == (case.strong, case.weak)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ((), "NO_CITATION"),
        (("00000000-0000-7000-8000-999999999999",), "UNKNOWN_RECORD"),
        (("sha256:" + "0" * 64,), "UNKNOWN_RECORD"),
        (("w1",), "UNKNOWN_RECORD"),
    ],
)
def test_a_citation_must_exist(case: Case, records: tuple[str, ...], code: str) -> None:
    assert submit(case, finding(*records)) == code
    assert submit(case, finding(case.weak), violations=(finding(*records),)) == code
    assert submit(case, finding(case.weak), finding(*records)) == code


def test_datasets_and_the_base_may_be_cited(case: Case) -> None:
    (dataset,) = case.rig.state.datasets
    assert submit(case, finding(dataset, "base")) == ""


def test_a_citation_outside_the_scope_is_refused(case: Case) -> None:
    assert submit(case, finding(case.outside)) == "OUT_OF_SCOPE"
    beyond = finding(case.weak, better=case.outside, than=case.weak)
    assert submit(case, beyond) == "OUT_OF_SCOPE"
    assert submit(case, finding(case.weak), recommend=(case.outside,)) == "OUT_OF_SCOPE"


@pytest.mark.parametrize("verdict", ["refuted", "invalid"])
def test_a_verdict_against_the_table_is_refused(case: Case, verdict: str) -> None:
    wrong = finding(case.weak, verdict=verdict, better=case.strong, than=case.weak)
    assert submit(case, wrong) == "AGAINST_EVIDENCE"


def test_the_turned_claim_is_refuted_by_the_same_table(case: Case) -> None:
    turned = {"better": case.weak, "than": case.strong}
    assert submit(case, finding(case.weak, verdict="supported", **turned)) == "AGAINST_EVIDENCE"
    assert submit(case, finding(case.weak, verdict="refuted", **turned)) == ""


def test_a_violation_is_checked_like_a_finding(case: Case) -> None:
    wrong = finding(case.weak, verdict="supported", better=case.weak, than=case.strong)
    assert submit(case, finding(case.weak), violations=(wrong,)) == "AGAINST_EVIDENCE"


def test_a_verdict_may_be_more_careful_than_the_table_never_bolder(case: Case) -> None:
    pair = {"better": case.strong, "than": case.weak}
    assert submit(case, finding(case.weak, verdict="inconclusive", **pair)) == ""
    same = {"better": case.weak, "than": case.weak}
    assert submit(case, finding(case.weak, verdict="supported", **same)) == "AGAINST_EVIDENCE"


@pytest.mark.parametrize("half", ["better", "than"])
def test_half_a_comparison_is_no_comparison(case: Case, half: str) -> None:
    wrong = finding(case.weak, verdict="supported", **{half: case.weak})
    assert submit(case, wrong) == "HALF_COMPARISON"


def test_only_what_can_be_selected_is_recommended(case: Case) -> None:
    assert (
        submit(case, finding(case.weak), recommend=(case.strong, case.failed)) == "NOT_SELECTABLE"
    )
    assert submit(case, finding(case.weak), recommend=("base",)) == "NOT_SELECTABLE"
    assert submit(case, finding(case.weak), recommend=("nothing",)) == "UNKNOWN_RECORD"


def test_a_reviewer_sees_its_scope_raw_and_nothing_else(case: Case) -> None:
    session = case.rig.reviewer(case.node)
    scope = cast(ScopeView, session.act("review.current"))
    assert set(scope.experiments) == {case.weak, case.strong, case.failed}
    table = cast(
        ComparisonView, session.act("evaluation.compare", left=case.weak, right=case.strong)
    )
    assert (table.split, table.verdict, table.n) == ("confirm", "supported", 80)
    assert table.difference == pytest.approx(sum(table.tasks.values()) / 2)
    verdicts = cast(VerdictsView, session.act("evaluation.verdicts", experiment=case.weak))
    assert (verdicts.total, len(verdicts.verdicts)) == (80, 20)
    for action, arguments in (
        ("evaluation.compare", {"left": case.weak, "right": case.outside}),
        ("evaluation.compare", {"left": case.outside, "right": case.weak}),
        ("evaluation.verdicts", {"experiment": case.outside}),
        ("experiment.inspect", {"experiment": case.outside}),
    ):
        with pytest.raises(PolicyDenied) as denied:
            session.act(action, **arguments)
        assert denied.value.code == "SCOPE"


def test_what_has_no_verdicts_is_not_compared(case: Case) -> None:
    with pytest.raises(Misuse, match="no verdicts on confirm"):
        case.rig.reviewer(case.node).act("evaluation.compare", left="base", right=case.failed)


def test_the_table_turns_with_its_sides(case: Case) -> None:
    session = case.rig.reviewer(case.node)
    one, other = (
        cast(ComparisonView, session.act("evaluation.compare", left=left, right=right))
        for left, right in ((case.weak, case.strong), (case.strong, case.weak))
    )
    assert one.difference == pytest.approx(-other.difference)
    assert (one.verdict, other.verdict) == ("supported", "refuted")
    assert one.p == pytest.approx(other.p)


def test_one_report_for_a_review_of_finalised_workers(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        rig.score_base()
        data = rig.add()
        worker, name = rig.explored(data)
        active = rig.open_worker(data)
        for wrong in (active, "w9", "r1"):
            with pytest.raises(PolicyDenied) as denied:
                rig.review(worker, wrong)
            assert denied.value.code == "SCOPE"
        node = rig.review(worker)
        report = {"findings": (finding(name),), "recommendation": "go on"}
        rig.reviewer(node).act("review.submit", **report)
        for reviewer in (node, "r7"):
            with pytest.raises(PolicyDenied, match="unknown or has its report"):
                rig.reviewer(reviewer).act("review.submit", **report)
    finally:
        rig.close()


def test_a_contract_without_reviewers_has_no_reviews(tmp_path: Path) -> None:
    rig = Rig(tmp_path, sketch_contract(research={"reviewer": False}))
    try:
        worker, _ = rig.explored(rig.add())
        with pytest.raises(PolicyDenied, match="no Reviewer"):
            rig.review(worker)
    finally:
        rig.close()
