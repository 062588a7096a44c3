"""The gateway: intent before effect, outcome after, every refusal recorded, nothing overspent."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import AnyRow
from rsi_master.core.budget import ZERO
from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.errors import Misuse, OverBudget, PolicyDenied, RsiError, SealUnavailable
from rsi_master.core.facts import CODEC
from rsi_master.core.graph import ReviewSubmitted
from rsi_master.core.run import ActionDenied, ActionIntended, ActionRead, ActionSettled
from rsi_master.core.score import Split
from rsi_master.core.sealed import ScanReport
from rsi_master.core.state import State
from rsi_master.domains.control.actions import Guide, Quota
from rsi_master.expos.catalogue import Catalogue, Desk, Domain, Handler, Outcome, Rule
from rsi_master.expos.gateway import LocalGateway, Session
from rsi_master.expos.screen import HITS
from rsi_master.programs.sealed.vault import load
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.stores import MemoryEvents

Act = Callable[[], object]
SPLITS: tuple[Split, ...] = ("dev", "confirm", "holdout")


class Diary(MemoryEvents):
    """A store that also keeps the order in which other things happened."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.after: Callable[[str], None] = lambda _type: None

    def append(self, bodies: Sequence[bytes]) -> None:
        """Note each fact's type once it is kept."""
        super().append(bodies)
        for body in bodies:
            self.lines.append(CODEC.read(body).fact.type)
        for body in bodies:
            self.after(CODEC.read(body).fact.type)


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def rig(tmp_path: Path, diary: Diary) -> Iterator[Rig]:
    rig = Rig(tmp_path, store=diary)
    yield rig
    rig.close()


def with_entry(rig: Rig, action: type[Action], *rules: Rule, **parts: Any) -> Session:
    """The operator's session on a gateway of that one action, with some parts of it replaced."""
    (known,) = [e for e in rig.catalogue if e.action is action]
    catalogue = Catalogue((Domain("one", (replace(known, **parts),), rules),))
    return Session(LocalGateway(rig.parts(catalogue), rig.lock), rig.operator().token)


def with_handler(rig: Rig, action: type[Action], handle: Handler) -> Session:
    """The operator's session on a gateway whose only action is carried out by that handler."""
    return with_entry(rig, action, handle=handle)


def settled(rig: Rig) -> ActionSettled:
    return rig.facts(ActionSettled)[-1]


def denial(rig: Rig) -> ActionDenied:
    return rig.facts(ActionDenied)[-1]


def test_the_intent_is_durable_before_the_effect_and_the_outcome_before_the_answer(
    rig: Rig, diary: Diary
) -> None:
    real = next(e for e in rig.catalogue if e.action is Guide).handle

    def handle(action: Guide, desk: Desk) -> Outcome:
        diary.lines.append("effect")
        return real(action, desk)

    diary.lines.clear()
    with_handler(rig, Guide, handle).act("run.guide", text="look at the second pool")
    diary.lines.append("answer")
    assert diary.lines == ["action.intended", "effect", "run.guided", "action.settled", "answer"]


def test_facts_and_outcome_are_one_transaction(rig: Rig, diary: Diary) -> None:
    before = len(diary.batches)
    rig.add()
    assert diary.batches[before:] == [1, 2]


def test_an_exception_of_a_handler_is_a_recorded_failure_of_one_line(rig: Rig) -> None:
    def handle(_action: Guide, _desk: Desk) -> Outcome:
        raise ZeroDivisionError("by\nnothing")

    with pytest.raises(RsiError) as failed:
        with_handler(rig, Guide, handle).act("run.guide", text="look at the second pool")
    assert failed.value.code == "INTERNAL"
    assert "\n" not in failed.value.message and "by" not in failed.value.message.split(": ")[-1]
    assert (settled(rig).outcome, settled(rig).code) == ("failed", "INTERNAL")
    assert "ZeroDivisionError: by" in settled(rig).message
    assert rig.state.guidance == [] and rig.state.intents == {}


def test_an_exception_within_a_read_is_one_line_too(rig: Rig) -> None:
    def handle(_action: Quota, _desk: Desk) -> Outcome:
        raise KeyError("a\nb")

    with pytest.raises(RsiError) as failed:
        with_handler(rig, Quota, handle).act("quota.read")
    assert failed.value.code == "INTERNAL"
    assert failed.value.message.endswith("KeyError")


def test_an_error_of_the_domain_is_settled_with_its_code(rig: Rig) -> None:
    node = rig.open_worker(rig.add())
    with pytest.raises(Misuse):
        rig.worker(node).act("worker.finalize", summary="it went well", best="base")
    assert (settled(rig).outcome, settled(rig).code) == ("failed", "NOT_OWN")
    assert rig.state.graph.nodes[node].active()


def test_a_handler_that_fails_frees_what_it_had_reserved(rig: Rig) -> None:
    data = rig.add()
    node = rig.open_worker(data)
    before = rig.state.books.left()
    rig.state.datasets.clear()
    with pytest.raises(RsiError):
        rig.submit(node, data)
    assert rig.state.books.left() == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("data.add", {"source": "sketch/clean", "path": "/etc/passwd"}),
        ("data.add", {}),
        ("data.steal", {"source": "sketch/clean"}),
        ("worker.create", {"direction": 3}),
    ],
)
def test_an_agent_that_misses_the_schema_is_recorded(
    rig: Rig, name: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(Misuse) as problem:
        rig.main().act(name, **arguments)
    assert "\n" not in problem.value.message
    assert (denial(rig).action, denial(rig).rule) == (name, "schema")
    assert repr(arguments) in str(denial(rig).arguments["given"])


def test_a_person_that_mistypes_is_only_told(rig: Rig) -> None:
    with pytest.raises(Misuse, match="no action"):
        rig.operator().act("data.ad", source="sketch/clean")
    assert rig.facts(ActionDenied) == []


def test_reads_of_agents_are_recorded_and_those_of_a_person_are_not(rig: Rig) -> None:
    rig.main().act("data.list")
    rig.operator().act("data.list")
    (read,) = rig.facts(ActionRead)
    assert read.action == "data.list"


def test_an_unknown_token_does_nothing_and_leaves_no_trace(rig: Rig) -> None:
    before = rig.state.position
    with pytest.raises(PolicyDenied) as denied:
        rig.gateway.submit("rsi_guessed", "data.add", {"source": "sketch/clean"})
    assert denied.value.code == "UNKNOWN_TOKEN"
    assert rig.state.position == before


def test_over_budget_is_recorded_and_nothing_is_reserved(rig: Rig) -> None:
    books = rig.state.books.left()
    need = Amounts(experiments=books.experiments + 1)
    session = with_entry(rig, Guide, reserve=lambda *_: need)
    with pytest.raises(OverBudget, match="experiments 11 needed, 10 left"):
        session.act("run.guide", text="look at the second pool")
    assert (denial(rig).decision, denial(rig).rule) == ("over_budget", "budget")
    assert rig.state.books.left() == books
    assert len(rig.facts(ActionIntended)) == len(rig.facts(ActionSettled))


def test_an_escalation_is_recorded_and_nothing_is_done(rig: Rig) -> None:
    ask = Rule("gate", Guide, lambda _question: "a second person decides", escalate=True)
    with pytest.raises(PolicyDenied, match="a second person decides") as denied:
        with_entry(rig, Guide, ask).act("run.guide", text="look at the second pool")
    assert denied.value.code == "GATE"
    assert (denial(rig).decision, denial(rig).rule) == ("escalate", "gate")
    assert (rig.state.guidance, rig.state.intents) == ([], {})


def raising(*_: object) -> Any:
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("estimate", [math.nan, -1.0, -1e9, "much", raising])
def test_a_recipe_with_an_unsound_estimate_reserves_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, estimate: object
) -> None:
    data = rig.add()
    node = rig.open_worker(data)
    books = rig.state.books.left()
    said = estimate if callable(estimate) else lambda *_: estimate
    with monkeypatch.context() as patch:
        patch.setattr(rig.recipes["sketch"].spec, "device_seconds", said)
        with pytest.raises(RsiError) as failed:
            rig.submit(node, data)
    assert failed.value.code == "INTERNAL" and "\n" not in failed.value.message
    assert (denial(rig).action, denial(rig).rule) == ("experiment.submit", "internal")
    assert (rig.state.books.left(), rig.state.intents, rig.state.experiments) == (books, {}, {})
    assert rig.submit(node, data)


@pytest.mark.parametrize(
    "need",
    [Amounts(device_seconds=math.nan), Amounts(evaluations=-1), Amounts(experiments=10**400)],
)
def test_what_cannot_be_reserved_is_an_internal_fault(rig: Rig, need: Amounts) -> None:
    books = rig.state.books.left()
    with pytest.raises(RsiError) as failed:
        with_entry(rig, Guide, reserve=lambda *_: need).act("run.guide", text="look there")
    assert (failed.value.code, denial(rig).rule) == ("INTERNAL", "internal")
    assert (rig.state.books.left(), rig.state.intents) == (books, {})


def test_a_rule_that_fails_denies(rig: Rig) -> None:
    with pytest.raises(RsiError) as failed:
        with_entry(rig, Guide, Rule("odd", Guide, raising)).act("run.guide", text="look there")
    assert failed.value.code == "INTERNAL"
    assert (denial(rig).decision, denial(rig).rule) == ("deny", "internal")
    assert "ZeroDivisionError: by nothing" in denial(rig).reason
    assert rig.state.guidance == []


def test_a_view_that_fails_leaves_a_failed_intent_and_no_fact(rig: Rig) -> None:
    with pytest.raises(RsiError) as failed:
        with_entry(rig, Guide, views={Role.OPERATOR: raising}).act("run.guide", text="look there")
    assert failed.value.code == "INTERNAL"
    assert (settled(rig).outcome, settled(rig).code) == ("failed", "INTERNAL")
    assert (rig.state.guidance, rig.state.intents) == ([], {})


def test_arguments_that_break_their_schema_are_recorded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Guide, "model_validate", raising)
    with pytest.raises(RsiError) as failed:
        rig.operator().act("run.guide", text="look there")
    assert failed.value.code == "INTERNAL"
    assert (denial(rig).action, denial(rig).rule) == ("run.guide", "internal")


def leaking(rig: Rig) -> str:
    return f"the hardest one was {rig.items()[0].stem} and none got it"


def test_sealed_text_is_withheld_and_the_attempt_recorded_without_it(rig: Rig) -> None:
    node = rig.open_worker(rig.add())
    text = leaking(rig)
    with pytest.raises(PolicyDenied) as denied:
        rig.worker(node).act("worker.finalize", summary=text)
    assert denied.value.code == "SEALED_TEXT"
    assert (denial(rig).action, denial(rig).rule) == ("worker.finalize", "screen")
    assert not [body for _, _, body in rig.store.rows() if rig.items()[0].stem.encode() in body]
    rig.worker(node).act("worker.finalize", summary="the hardest one was long and none got it")


def test_sealed_text_is_not_recorded_by_way_of_a_broken_schema(rig: Rig) -> None:
    with pytest.raises(Misuse):
        rig.main().act("worker.create", hypothesis=leaking(rig))
    with pytest.raises(Misuse):
        rig.main().act(leaking(rig))
    assert [denial.rule for denial in rig.facts(ActionDenied)] == ["schema", "schema"]
    assert not [body for _, _, body in rig.store.rows() if rig.items()[0].stem.encode() in body]


def test_sealed_text_cut_into_several_fields_is_withheld(rig: Rig) -> None:
    first, _, second = rig.items()[0].stem.partition(" ")
    with pytest.raises(PolicyDenied, match="repeats a sealed item"):
        rig.main().act(
            "worker.create", direction="d " * 3, hypothesis=f"please {first}", task=second
        )


def create(session: Session, task: str) -> str:
    """Main's attempt to pass a text on; the code that refuses it."""
    with pytest.raises(PolicyDenied) as denied:
        session.act("worker.create", direction="a way", hypothesis="it helps", task=task)
    return denied.value.code


def test_the_screen_tells_neither_split_nor_part(rig: Rig) -> None:
    answers = set()
    sealed = load(rig.vault, rig.base).items
    for split in SPLITS:
        with pytest.raises(PolicyDenied) as denied:
            rig.session(Role.OPERATOR, "operator").act("run.guide", text=sealed[split][0].stem)
        answers.add((denied.value.code, denied.value.message))
        assert denial(rig).arguments == {"withheld": "the text repeats a sealed item"}, split
    assert len(answers) == 1


def test_a_node_that_was_caught_too_often_writes_no_more(rig: Rig) -> None:
    data = rig.add()
    name = rig.submit(rig.open_worker(data), data)
    main = rig.main()
    for _ in range(HITS):
        assert create(main, leaking(rig)) == "SEALED_TEXT"
    assert {create(main, text) for text in (leaking(rig), "a clean text")} == {"SCREEN_CAP"}
    assert (denial(rig).rule, denial(rig).arguments) == (
        "screen_cap",
        {"withheld": "the text was not screened"},
    )
    with pytest.raises(PolicyDenied, match="claim"):
        main.act("champion.claim", experiment=name)
    assert denial(rig).arguments == {"experiment": name}
    rig.operator().act("run.guide", text="the others go on")
    again = State.replay(rig.contract, rig.events())
    assert again.screened == rig.state.screened == {"main": HITS}


def test_what_was_denied_anyway_is_counted_when_its_words_repeat_a_sealed_item(rig: Rig) -> None:
    """The answer is that of the denial, but how long it took may tell: three times, not more."""
    main, scans, scan = rig.main(), [], rig.sealed.scan

    def noted(rows: Sequence[AnyRow]) -> ScanReport:
        scans.append(rows)
        return scan(rows)

    rig.sealed.scan = noted  # type: ignore[method-assign]
    for at in range(HITS + 2):
        with pytest.raises(Misuse, match="no action"):
            main.act("no.such", a=leaking(rig))
        assert denial(rig).action == "withheld"
        assert len(scans) == rig.state.screened["main"] == min(at + 1, HITS)
    assert (denial(rig).rule, denial(rig).arguments) == (
        "schema",
        {"withheld": "the text was not screened"},
    )


def test_asking_at_once_tells_no_more(rig: Rig) -> None:
    """All are allowed to ask before the first is counted."""
    codes: list[str] = []
    together, scan = threading.Barrier(12), rig.sealed.scan

    def wait_for_all(rows: Sequence[AnyRow]) -> ScanReport:
        together.wait(20)
        return scan(rows)

    main, text = rig.main(), leaking(rig)
    rig.sealed.scan = wait_for_all  # type: ignore[method-assign]
    threads = [threading.Thread(target=lambda: codes.append(create(main, text))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(codes) == ["SCREEN_CAP"] * (12 - HITS) + ["SEALED_TEXT"] * HITS


def test_a_role_that_may_not_speak_learns_nothing_from_the_screen(rig: Rig) -> None:
    answers = set()
    for text in (leaking(rig), "a clean text"):
        with pytest.raises(PolicyDenied) as denied:
            rig.main().act("run.guide", text=text)
        answers.add((denied.value.code, denied.value.message))
    assert [code for code, _ in answers] == ["ROLE"]
    assert [fact.rule for fact in rig.facts(ActionDenied)] == ["role", "role"]
    assert rig.state.screened == {"main": 1}, "how long it took may tell"
    assert not [body for _, _, body in rig.store.rows() if rig.items()[0].stem.encode() in body]


def test_a_denial_without_the_sealed_process_is_recorded_without_its_words(rig: Rig) -> None:
    rig.sealed.die()
    with pytest.raises(PolicyDenied) as denied:
        rig.main().act("run.guide", text="who knows what this is")
    assert denied.value.code == "ROLE"
    assert denial(rig).arguments == {"withheld": "the text was not screened"}


def test_without_the_sealed_process_no_text_passes(rig: Rig) -> None:
    rig.sealed.die()
    with pytest.raises(SealUnavailable):
        rig.main().act("worker.create", direction="a way", hypothesis="it helps", task="try it")
    assert rig.state.graph.workers() == []


def test_a_screen_that_fails_denies_and_is_recorded_without_the_words(rig: Rig) -> None:
    rig.sealed.scan = raising  # type: ignore[assignment, method-assign]
    with pytest.raises(RsiError) as failed:
        rig.operator().act("run.guide", text="look there")
    assert failed.value.code == "INTERNAL" and "\n" not in failed.value.message
    assert (denial(rig).rule, denial(rig).arguments) == (
        "internal",
        {"withheld": "the text was not screened"},
    )
    assert (rig.state.guidance, rig.state.intents) == ([], {})


def both(rig: Rig, diary: Diary, first: Act, second: Act) -> list[str]:
    """Carry out the two so that the intents of both are open before either takes effect; the codes
    of those that were refused."""
    codes: list[str] = []

    def run(act: Act) -> None:
        try:
            act()
        except RsiError as problem:
            codes.append(problem.code)

    rival = threading.Thread(target=run, args=(second,))

    def barge_in(kind: str) -> None:
        if kind == "action.intended":
            diary.after = lambda _type: None
            rival.start()
            while len(rig.state.intents) < 2 and rival.is_alive():
                time.sleep(0.001)

    diary.after = barge_in
    run(first)
    rival.join(20)
    return codes


def test_what_was_taken_between_intent_and_effect_is_not_given_twice(
    rig: Rig, diary: Diary
) -> None:
    acts = [partial(s.act, "data.add", source="sketch/clean") for s in (rig.main(), rig.operator())]
    assert both(rig, diary, *acts) == ["TAKEN"]
    assert [fact.outcome for fact in rig.facts(ActionSettled)] == ["done", "failed"]
    assert len(rig.facts(DatasetRegistered)) == 1


def test_two_reports_at_once_leave_one(rig: Rig, diary: Diary) -> None:
    rig.score_base()
    worker, name = rig.explored(rig.add())
    node = rig.review(worker)
    report = {
        "findings": ({"claim": "it holds", "verdict": "inconclusive", "records": (name,)},),
        "recommendation": "go on",
    }
    acts = [partial(rig.reviewer(node).act, "review.submit", **report) for _ in range(2)]
    assert both(rig, diary, *acts) == ["ACTIVE"]
    assert len(rig.facts(ReviewSubmitted)) == 1


def test_a_workers_last_experiment_is_given_once(rig: Rig, diary: Diary) -> None:
    data = rig.add()
    node = rig.open_worker(data, experiments=1)
    acts = [partial(rig.submit, node, data, steps=steps) for steps in (2, 3)]
    assert both(rig, diary, *acts) == ["SHARE"]
    assert len(rig.state.owned(node)) == 1
    assert rig.state.books.reserved().experiments == 1


def test_submissions_of_two_workers_at_once_do_not_count_against_each_other(
    rig: Rig, diary: Diary
) -> None:
    data = rig.add()
    nodes = [rig.open_worker(data, experiments=1) for _ in range(2)]
    acts = [partial(rig.submit, node, data, steps=steps) for steps, node in enumerate(nodes, 2)]
    assert both(rig, diary, *acts) == []


class Race:
    """Threads of two Workers submit at once under a small budget."""

    def __init__(self, folder: Path, budget: dict[str, object]) -> None:
        research = {"experiments_per_worker": 9}
        self.rig = Rig(folder, sketch_contract(budget=budget, research=research))
        self.data = self.rig.add()
        self.nodes = tuple(self.rig.open_worker(self.data, experiments=9) for _ in range(2))

    def run(self, plans: Sequence[Sequence[int]]) -> list[str]:
        def submit(node: str, steps: Sequence[int]) -> None:
            for number in steps:
                try:
                    self.rig.submit(node, self.data, steps=number, pause=1.0)
                except RsiError as problem:
                    codes.append(problem.code)

        codes: list[str] = []
        threads = [
            threading.Thread(target=submit, args=(node, steps))
            for node, steps in zip(self.nodes, plans, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        return codes


plans = st.lists(st.integers(1, 40), max_size=6)
budgets = st.fixed_dictionaries(
    {
        "experiments": st.integers(1, 6),
        "evaluations": st.integers(4, 12),
        "device_seconds": st.integers(360, 1200),
    }
)


@settings(max_examples=12)
@given(first=plans, second=plans, budget=budgets)
def test_submitting_at_once_never_overspends(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[int],
    second: list[int],
    budget: dict[str, object],
) -> None:
    race = Race(tmp_path_factory.mktemp("race"), budget)
    rig = race.rig
    try:
        codes = race.run((first, second))
        books = rig.state.books
        assert not books.left().lacking(ZERO)
        total = books.left().plus(books.reserved()).plus(books.spent)
        assert not total.lacking(books.limit) and not books.limit.lacking(total)
        assert books.reserved() == sum_of(tuple(books.held.values()))
        assert set(books.held) == {"base", "claim", *rig.state.experiments}
        assert set(codes) <= {"OVER_BUDGET", "REPEAT", "VERIFICATION"}
        assert len(rig.state.experiments) + len(codes) == len(first) + len(second)
        assert rig.state.intents == {}
    finally:
        rig.close()


def sum_of(amounts: Sequence[Amounts]) -> Amounts:
    total = ZERO
    for amount in amounts:
        total = total.plus(amount)
    return total


def test_a_paused_run_takes_nothing_from_agents_until_it_goes_on(rig: Rig) -> None:
    rig.operator().act("run.pause", reason="a look around")
    with pytest.raises(PolicyDenied, match="paused"):
        rig.add()
    rig.operator().act("run.resume")
    assert rig.add()


def test_the_role_of_the_token_counts_not_what_the_arguments_say(rig: Rig) -> None:
    node = rig.open_worker(rig.add())
    with pytest.raises(Misuse, match="node"):
        rig.worker(node).act("worker.finalize", summary="not mine", node="w2")
    assert rig.session(Role.MAIN, "main").act("worker.inspect", node=node)
