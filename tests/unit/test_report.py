"""The report against records that no run wrote: its numbers are the record's, hostile text does
nothing, and it says honestly what there is not."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.unit.told import (
    Told,
    base,
    cells,
    claimed,
    data,
    page,
    report,
    run,
    started,
    whole,
    worker,
)

from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.yardsticks import Measured, Yardstick, Yardsticks
from rsi_master.core.dataset import DatasetRefused, Source
from rsi_master.core.experiment import EvaluationRecorded
from rsi_master.core.graph import (
    DirectionClosed,
    WorkerCreated,
)
from rsi_master.core.run import (
    ActionDenied,
    ClaimOpened,
    FinishAsked,
    GuidanceGiven,
    RunFinished,
)
from rsi_master.core.score import NotScored, Scored
from rsi_master.core.state import State
from rsi_master.expos.order import Flaw
from rsi_master.expos.verify import Report
from rsi_master.interfaces import words
from rsi_master.interfaces.report import directions, moves
from rsi_master.interfaces.report.compose import compose, write
from rsi_master.interfaces.report.curve import marks, ticks
from rsi_master.interfaces.report.document import Link
from rsi_master.interfaces.report.html import html
from rsi_master.interfaces.report.markdown import markdown
from rsi_master.interfaces.report.refs import Refs
from rsi_master.interfaces.report.subject import Subject, Verification
from rsi_master.interfaces.status import Glance
from rsi_master.testing import tape
from rsi_master.testing.page import Page

HOSTILE = (
    "<script>alert('x')</script>\x1b[31m\"><img src=x>|\u202e [x](javascript:alert(1)) `a` **b** "
    "http://evil <http://evil> www.evil \\| \n# head\n| a |\n|---|\n" + "long" * 3000
)


def measured(value: float) -> Measured:
    return Measured(value=value, error=0.02)


KNOWN = Yardsticks(
    benchmark="nano",
    base=tape.digest("base"),
    suite=tape.digest("suite"),
    page="docs/nano.md",
    items=100,
    few_shot=Yardstick(
        what="the base with two examples",
        split="dev",
        seeds=1,
        score=measured(0.3),
        base=measured(0.25),
    ),
    best=Yardstick(
        what="a long lineage", split="holdout", seeds=3, score=measured(0.75), base=measured(0.25)
    ),
)
SOUND = Report(
    origin="told-1", events=9, signed=9, artifacts=1, root="ab", anchor="signed by all", flaws=()
)
SURE = NotScored(reason="unfit")


def score(value: float, n: int) -> Scored:
    return Scored(value=value, low=value - 0.1, high=value + 0.1, n=n)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """The whole run, which no test changes."""
    return whole(tmp_path_factory.mktemp("told") / "run")


@pytest.fixture(scope="module")
def shown(finished: Subject) -> Page:
    """Its page."""
    return page(finished)


def test_the_claim_stands_beside_the_base_with_its_interval(shown: Page) -> None:
    text = shown.by_id("claim").text()
    assert "base base 35.0 % (25.0 to 45.0) 100 event" in text
    assert "champion v1 55.0 % (45.0 to 65.0) 100 event" in text
    assert "+20.0 points (+10.0 to +30.0), p = 0.01 on 100 items 40 of 100 differ" in text


def test_the_result_stands_at_the_top(finished: Subject, tmp_path: Path) -> None:
    (lead,) = page(finished).root.all("header")
    assert "The champion v1 reaches 55.0 % (45.0 to 65.0) on the holdout" in lead.text()
    assert "the base that it was made from reaches 35.0 % (25.0 to 45.0)." in lead.text()
    assert "Whether its record is whole was not checked" in lead.text()
    (lead,) = page(run(tmp_path / "run", started(), *base())).root.all("header")
    assert "holdout" not in lead.text(), "nothing was claimed yet"
    assert "The run is stopped half-way, and nothing is claimed yet." in lead.text()


def test_the_top_says_whether_to_trust_the_result(finished: Subject, tmp_path: Path) -> None:
    (lead,) = page(replace(finished, verification=Verification(SOUND, key="of x"))).root.all(
        "header"
    )
    assert "is whole (signed by all; key of x), and its jobs ran walled off" in lead.text()
    assert "(isolation namespaces)" in lead.text()
    (lead,) = page(whole(tmp_path / "run", "none")).root.all("header")
    assert "Nothing is claimed about its integrity" in lead.text()
    flaw = Flaw(code="BOOKS", where="event 1", what="odd")
    broken = Verification(SOUND.model_copy(update={"flaws": (flaw,)}))
    (lead,) = page(replace(finished, verification=broken)).root.all("header")
    assert "The record does not hold" in lead.text()
    assert "55.0 %" not in lead.text()


def test_ids_in_what_agents_wrote_lead_to_their_records(finished: Subject, shown: Page) -> None:
    (worse,) = [tag for tag in shown.root.all("li") if tag.text() == "b1 forgot sums"]
    assert [tag.attributes["href"] for tag in worse.all("a")] == ["#experiment-b1"]
    assert finished.refs.told("a2x, base and a2.") == (
        "a2x, base and ",
        Link("a2", "experiment-a2"),
        ".",
    )


def test_tasks_on_which_the_champion_is_worse_are_named(tmp_path: Path) -> None:
    told = claimed("a1")
    worse = told.result.champion.model_copy(
        update={"tasks": {"add": score(0.2, 7), "say": score(0.9, 8), "new": score(0.1, 9)}}
    )
    before = told.result.base.model_copy(update={"tasks": {"add": score(0.3, 7), "say": SURE}})
    result = told.result.model_copy(update={"champion": worse, "base": before})
    found = page(
        run(
            tmp_path / "run",
            started(),
            *base(),
            worker("w1"),
            *tape.life("a1"),
            told.model_copy(update={"result": result}),
        )
    )
    assert (
        "By task its score is lower than that of the base on add: 30.0 % (20.0 to 40.0) to "
        "20.0 % (10.0 to 30.0) on 7 items." in found.by_id("verdict").text()
    )
    assert "add 30.0 % (20.0 to 40.0) 20.0 % (10.0 to 30.0) 7 event" in found.by_id("claim").text()


def test_a_claim_stands_beside_what_is_published(finished: Subject) -> None:
    found = page(replace(finished, yardsticks=KNOWN))
    claim, verdict = found.by_id("claim").text(), found.by_id("verdict").text()
    assert (
        "few-shot base the base with two examples 30.0 % (26.1 to 33.9) dev, another draw" in claim
    )
    assert "best made by hand a long lineage 75.0 % (71.1 to 78.9) holdout, another draw" in claim
    assert "100 a task, 3 seeds 25.0 % (21.1 to 28.9) published in docs/nano.md" in claim
    assert "Recovered gap: 50.0 % (25.0 to 75.0)" in claim
    assert "Published, not measured in this run: the base with two examples reaches" in verdict
    assert "the gap from the base to the latter 50.0 % (25.0 to 75.0) is recovered." in verdict


@pytest.mark.parametrize("best", [0.35, 0.1])
def test_where_the_base_is_as_good_as_what_is_published_there_is_no_gap(
    finished: Subject, best: float
) -> None:
    reached = KNOWN.best.model_copy(update={"score": Measured(value=best, error=0.02)})
    found = page(replace(finished, yardsticks=KNOWN.model_copy(update={"best": reached})))
    assert f"{100 * best:.1f} %" in found.by_id("claim").text()
    assert "ecovered" not in found.root.text()


def test_that_nothing_is_published_is_said(shown: Page) -> None:
    assert "The base is all that the claim is held against" in shown.by_id("verdict").text()
    assert "another draw" not in shown.root.text()


def test_the_order_of_the_page_is_from_question_to_proof(shown: Page) -> None:
    titles = [tag.text() for tag in shown.root.all("h2")]
    assert titles == [
        "What was asked",
        "Champion and claim",
        "Verdict",
        "Research graph",
        "Best on dev so far",
        "Experiments",
        "Reviews",
        "Lineage and data",
        "Budget",
        "Integrity",
        "How to reproduce",
        "Words",
        "Cited events",
    ]


def test_each_experiment_stands_with_the_numbers_of_its_record(
    finished: Subject, shown: Page
) -> None:
    for name, experiment in finished.record.state.experiments.items():
        row = cells(shown, f"experiment-{name}")
        for column, split in ((4, "dev"), (5, "confirm")):
            score = experiment.score(split)  # type: ignore[arg-type]
            assert score is not None
            assert words.split(score) in row[column]
            (position,) = re.findall(r"event (\d+)", row[column])
            fact = finished.record.events[int(position)].fact
            assert isinstance(fact, EvaluationRecorded)
            assert (fact.experiment, score) in [(name, one) for one in fact.scores]
        assert row[6].startswith(words.seconds(experiment.device_seconds()))


def test_lineage_integrity_and_purpose_of_an_experiment_are_told(shown: Page) -> None:
    row = cells(shown, "experiment-v1")
    assert row[1] == "w3 , to verify, seed 0, again a2"
    assert cells(shown, "experiment-v0")[1] == "w3 , to verify, seed 1009, again a1"
    assert row[3] == "continues v0 , back to base"
    assert "FLAGGED: seen" in cells(shown, "experiment-b2")[7]


def test_the_research_graph_is_drawn_and_told(shown: Page) -> None:
    found = shown.by_id("graph")
    drawn = next(tag for tag in found.all("svg") if tag.attributes.get("role") == "img")
    assert {tag.attributes["href"] for tag in drawn.all("a")} == {
        f"#node-{name}" for name in ("w1", "w2", "w3", "r1")
    }
    assert "\u2605 w3 \u00b7 direction 1, verifies" in drawn.text()
    assert "w2 \u00b7 direction 2" in drawn.text()
    assert drawn.all("desc")[0].text() == "4 nodes; edges: w1 to r1, w2 to r1, w1 to w3"
    assert cells(shown, "node-w2")[5] == "closed"
    assert cells(shown, "node-w3")[4:6] == ["w1", "finalised, best path"]


def test_the_best_path_follows_what_the_champion_verifies(finished: Subject) -> None:
    state = finished.record.state
    assert directions.best_path(state) == {"w1", "w3"}
    assert directions.numbered(state) == {"w1": 1, "w2": 2, "w3": 1}
    fates = {n.id: directions.fate(state, n) for n in state.graph.nodes.values()}
    assert fates == {"w1": "finalised", "w2": "closed", "r1": "reported", "w3": "finalised"}


def test_a_worker_on_which_nothing_builds_is_a_dead_end(tmp_path: Path) -> None:
    told = (*base(), worker("w1"), *tape.life("a1"), tape.finalised("w1"), worker("w2"))
    state = run(tmp_path / "run", *told, *tape.life("b1", "w2", confirm=0.1), tape.finalised("w2"))
    graph = state.record.state.graph
    fates = {n.id: directions.fate(state.record.state, n) for n in graph.nodes.values()}
    assert fates == {"w1": "finalised", "w2": "dead end"}


def test_a_merge_goes_back_to_all_its_parents(tmp_path: Path) -> None:
    subject = run(
        tmp_path / "run",
        *base(),
        *(worker(node) for node in ("w1", "w2")),
        *tape.life("a1", "w1", confirm=0.4),
        *tape.life("b1", "w2", confirm=0.4),
        worker("w3", ["w2", "w1"]),
        *tape.life("m1", "w3", "a1", 0.7, merges=("b1",), data=(), rows=0),
    )
    state = subject.record.state
    assert directions.best_path(state) == {"w1", "w2", "w3"}
    assert directions.numbered(state) == {"w1": 1, "w2": 2, "w3": 2}
    assert cells(page(subject), "experiment-m1")[3] == "merges a1 , b1 , back to base"


def test_the_curve_rises_with_what_was_accepted(finished: Subject, shown: Page) -> None:
    found = marks(finished.record)
    assert [(m.experiment, m.seconds, m.leads) for m in found] == [
        ("base", 3.0, True),
        ("a1", 5.0, True),
        ("a2", 7.0, True),
        ("b1", 9.0, False),
        ("b2", 11.0, False),
        ("v0", 13.0, False),
        ("v1", 15.0, False),
    ]
    assert [m.best.value for m in found if m.best] == [0.25, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6]
    drawn = shown.by_id("curve")
    assert len(drawn.all("circle")) == 6
    crosses = [t for t in drawn.all("path") if t.attributes["class"] == "cross"]
    assert [tag.text() for tag in crosses] == ["b2: 90.0 % (80.0 to 100.0)"]
    assert len([t for t in drawn.all("rect") if t.attributes["class"] == "band"]) == 3


@pytest.mark.parametrize(
    ("end", "steps"), [(6, 6), (15, 3), (0.37, 3), (1.0, 5), (900, 4), (86400, 4)]
)
def test_ticks_are_round_and_few(end: float, steps: int) -> None:
    found = ticks(end)
    assert len(found) == steps + 1
    assert found[0] == 0 and found[-1] <= end * (1 + 1e-9) < found[-1] + found[1] * (1 + 1e-6)


def test_a_graph_that_nobody_could_read_is_a_table_alone(
    finished: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rsi_master.interfaces.report.graph.MOST_DRAWN", 3)
    found = page(finished).by_id("graph")
    assert found.all("svg") == []
    assert len(found.all("tr")) == 5


def test_a_review_is_told_with_what_main_did_next(finished: Subject, shown: Page) -> None:
    text = shown.by_id("review-r1").text()
    assert "Question: which is better? Scope: w1 , w2" in text
    assert "supported a2 is ahead a2 , nowhere" in text
    assert "What got worse: b1 forgot sums" in text
    assert "It recommends a2 : train it again" in text
    kinds = [type(m.fact) for m in moves.after(finished.record.events, "r1")]
    assert kinds == [DirectionClosed, WorkerCreated, ClaimOpened, FinishAsked]
    assert "closed w2 : beaten event" in text
    assert "opened w3 to verify a2 on fresh seed number 1, 2 experiments" in text


def test_what_follows_another_report_belongs_to_that_one(tmp_path: Path) -> None:
    told = (worker("w1"), *report("r1", "w1"), worker("w2"), *report("r2", "w2"), worker("w3"))
    events = run(tmp_path / "run", *told).record.events
    first, second = moves.after(events, "r1"), moves.after(events, "r2")
    assert [getattr(m.fact, "node", "") for m in first] == ["w2", "r2"]
    assert [getattr(m.fact, "node", "") for m in second] == ["w3"]
    assert moves.after(events, "r3") == ()


def test_the_lineage_shows_rows_of_its_data(shown: Page) -> None:
    text = shown.by_id("lineage").text()
    assert "The first of 5 rows of" in text
    assert "1 what is 0? it is \u23ce 0" in text
    assert "what is 3?" not in text
    assert "SEALED_PROMPT 4: repeat sealed items" in text


def test_rows_whose_bytes_are_gone_are_not_shown(tmp_path: Path) -> None:
    subject = whole(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "objects")
    text = page(subject).by_id("lineage").text()
    assert "not shown" in text
    assert "what is 0?" not in text


def test_the_budget_adds_up(finished: Subject, shown: Page) -> None:
    books = finished.record.state.books
    text = shown.by_id("budget").text()
    spent = books.spent
    assert f"device seconds 100.0 {spent.device_seconds:.1f} 0.0" in text
    assert f"experiments 12 {spent.experiments} 0 {12 - spent.experiments}" in text


def test_what_was_denied_and_flagged_is_counted(shown: Page) -> None:
    text = shown.by_id("integrity").text()
    assert "1 action denied." in text
    assert "worker experiment.submit deny repeat 1 event" in text
    assert "1 experiment flagged, and never selected: b2 : seen event" in text
    assert "the weakest isolation was 'namespaces'" in text
    assert "Not possible by construction:" in text


def test_without_isolation_nothing_is_claimed(tmp_path: Path) -> None:
    subject = whole(tmp_path / "run", "none")
    found = page(subject)
    assert found.root.all("h2")[0].text() == "NOT ISOLATED"
    assert "NOT ISOLATED" in found.by_id("verdict").text()
    text = found.by_id("integrity").text()
    assert "no claim is made about their integrity" in text
    assert "by construction" not in text
    assert markdown(compose(subject)).startswith("## NOT ISOLATED\n")


def test_an_isolated_run_has_no_such_heading(finished: Subject) -> None:
    assert "NOT ISOLATED" not in html(compose(finished))


def test_a_claim_whose_interval_holds_zero_makes_no_champion(tmp_path: Path) -> None:
    told = (*base(), worker("w1"), *tape.life("a1"), claimed("a1", low=-0.1))
    end = RunFinished(outcome="no_champion", champion=None, reason="not better")
    found = page(run(tmp_path / "run", started(), *told, end))
    text = found.by_id("verdict").text()
    assert "There is no champion." in text
    assert "Claimed a1 cannot be told apart from the base" in text
    (lead,) = found.root.all("header")
    assert "There is no champion: what was claimed, a1 , reaches 55.0 %" in lead.text()
    assert "claimed a1 55.0 %" in found.by_id("claim").text()


def test_an_unfinished_run_is_provisional(tmp_path: Path) -> None:
    told = (*base(), worker("w1"), *tape.life("a1", confirm=0.4), tape.queued("a2"))
    subject = run(tmp_path / "run", started(), *told)
    found = page(subject)
    assert "stopped half-way" in found.by_id("verdict").text()
    assert "The best on dev so far is a1 : 40.0 % (30.0 to 50.0)" in found.by_id("verdict").text()
    assert "The holdout has not been opened" in found.by_id("claim").text()
    assert cells(found, "experiment-a2")[8] == "queued"
    assert "leads on dev so far" in found.by_id("lineage").text()
    assert 'rsi resume "$RUN"' in found.by_id("reproduce").text()


def test_at_every_moment_of_a_run_there_is_a_report(finished: Subject) -> None:
    whole_ = finished.record
    for end in range(0, len(whole_.events), 11):
        events = whole_.events[:end]
        record = replace(whole_, events=events, state=State.replay(whole_.contract, events))
        status = Glance(record, Home(whole_.folder.path.parent)).status()
        refs = Refs.of(record)
        subject = Subject(record, status, Verification(None), refs, finished.yardsticks)
        assert "Cited events" in page(subject).root.text()
        assert markdown(compose(subject)).count("\n## ") == 13


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    found = page(run(tmp_path / "run"))
    text = found.root.text()
    for sentence in (
        "The record of this run is empty.",
        "Main has opened no direction.",
        "Nothing has a score on dev yet.",
        "The base has no score yet.",
        "There was no review.",
        "The pool holds no data.",
        "It cites none.",
    ):
        assert sentence in text


def test_hostile_text_is_inert_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / '<b>run\' & "co"'
    odd = 'x" onload="alert(1)'
    told: tuple[Told, ...] = (
        started(),
        *base(),
        GuidanceGiven(text=HOSTILE),
        data(folder, HOSTILE),
        worker("w1", direction=HOSTILE, hypothesis=HOSTILE, recipe="<i>"),
        *tape.life(odd, family=HOSTILE, recipe={"name": HOSTILE, "<k>": HOSTILE}),
        *report("r1", "w1"),
        DirectionClosed(node="w1", reason=HOSTILE),
        ActionDenied(action=HOSTILE, arguments={}, decision="deny", rule=HOSTILE, reason=HOSTILE),
        RunFinished(outcome="stopped", champion=None, reason=HOSTILE),
    )
    subject = run(folder, *told)
    found, text = page(subject), html(compose(subject))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert len(text) < 200_000
    twin = rendered(markdown(compose(subject)))
    for one in (found, twin):
        tags = one.root.all()
        assert not {tag.name for tag in tags} & {"script", "img", "b", "i"}
        keys = {key for tag in tags for key in tag.attributes}
        assert not {key for key in keys if key.startswith("on")} | (keys & {"src", "style"})
        assert one.references() <= {f"#{name}" for name in found.ids()}
    rows = [
        [len(row.all("td")) + len(row.all("th")) for row in one.root.all("tr")]
        for one in (found, twin)
    ]
    assert rows[0] == rows[1]
    odd_anchor = next(name for name in found.ids() if name.startswith("experiment-x"))
    assert cells(found, odd_anchor)[0].startswith(odd)


def rendered(text: str) -> Page:
    """Markdown as most readers of it show it, HTML and tables included."""
    return Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_a_page_fetches_nothing(finished: Subject) -> None:
    text = html(compose(finished))
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|url\(|@import|<script|<link", text)


def test_a_moved_run_is_read_as_before(tmp_path: Path) -> None:
    subject = whole(tmp_path / "run")
    before = html(compose(subject))
    (tmp_path / "run").rename(tmp_path / "moved")
    again = Subject.of(RunFolder(tmp_path / "moved"), Home(tmp_path / "home"))
    assert html(compose(again)) == before.replace("RUN=run\n", "RUN=moved\n")


def test_the_files_are_written_over_those_of_before(tmp_path: Path, finished: Subject) -> None:
    out = tmp_path / "out" / "here"
    assert write(finished, out, with_markdown=False) == (out / "run.html",)
    assert write(finished, out, with_markdown=True) == (out / "run.html", out / "run.md")
    assert (out / "run.html").read_text("utf-8") == html(compose(finished))
    assert (out / "run.md").read_text("utf-8") == markdown(compose(finished))


def test_the_twin_has_the_same_tables(finished: Subject) -> None:
    document = compose(finished)
    found, twin = Page(html(document)), markdown(document)
    rows = [line for line in twin.splitlines() if line.startswith("| ")]
    assert len(rows) == len(found.root.all("tr"))
    anchors = set(re.findall(r'<a id="([^"]+)"></a>', twin))
    assert anchors == set(found.ids())
    assert {f"#{name}" for name in anchors} >= set(re.findall(r"\]\((#[^)]+)\)", twin))


def test_a_record_too_large_to_read_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rsi_master.interfaces.report.subject.CHEAP_BYTES", 0)
    text = page(whole(tmp_path / "run")).by_id("integrity").text()
    assert "The record was not verified for this report" in text
    assert 'rsi verify "$RUN"' in text


def test_a_record_that_could_not_be_verified_is_said_to_be_so(
    finished: Subject, shown: Page
) -> None:
    assert finished.verification.report is None, "no key lies in this folder"
    assert "UNREADABLE: RUN/verifier.key is missing" in shown.by_id("integrity").text()


def test_a_record_that_holds_is_said_to(finished: Subject) -> None:
    sound = Report(
        origin="told-1", events=90, signed=88, artifacts=7, root="ab", anchor="signed", flaws=()
    )
    checked = replace(finished, verification=Verification(sound, key="a key"))
    text = page(checked).by_id("integrity").text()
    assert "verified while this report was written, and is whole" in text
    assert "events 90, of which 88 are signed; 2 events after the last signed head" in text
    assert "does not hold" not in page(checked).root.text()


def test_data_that_the_record_does_not_hold_has_no_link(tmp_path: Path) -> None:
    gone = tape.digest("gone")
    found = page(run(tmp_path / "run", tape.queued("a1", data=(gone,))))
    assert "an unknown dataset" in cells(found, "experiment-a1")[2]
    assert f"#dataset-{gone}" not in found.references()


def test_all_data_that_was_offered_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first, again = data(folder), data(folder, "nano/scraped")
    none = DatasetRefused(source=Source(origin="nano/x"), offered=7, dropped={}, by="main")
    found = page(run(folder, first, again, none))
    assert cells(found, f"dataset-{first.artifact.digest}")[1] == "nano/direct"
    text = found.by_id("lineage").text()
    assert f"{first.artifact.digest} nano/scraped taken as the source has it 5 rows of 9" in text
    assert (
        "refused nano/x taken as the source has it none of 7 offered none added by main event 2"
        in text
    )
