from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.artifact import Artifact, RowKind
from rsi_master.core.contract import Base as PinnedBase
from rsi_master.core.contract import Budget, Contract, Policy
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import AttemptEnded, ExperimentEnded, ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.run import ActionDenied, OwnerStarted, TurnEnded, TurnStarted
from rsi_master.core.state import State
from rsi_master.interfaces.narrate import Line, narrate

DIGEST = "sha256:" + "3fa9c1e2" * 8
CONTRACT = Contract(
    name="told",
    target="answer",
    base=PinnedBase(digest=DIGEST),
    budget=Budget(device_seconds=10, wall_seconds=10, evaluations=10, experiments=10),
    policy=Policy(sources=("nano/direct", "nano/scraped")),
)
WORKER = Caller(role=Role.WORKER, node="w1", actor="playbook")
ID = "01a22c3b-d11a-700e-8593-765bcf75d462"


class Story:
    """Events told one after the other."""

    def __init__(self) -> None:
        self._state = State.under(CONTRACT)
        self._position = 0

    def tell(self, fact: Fact, at: float, caller: Caller = OS) -> Line | None:
        event = Event(
            position=self._position, id=ID, at=at, contract=DIGEST, caller=caller, fact=fact
        )
        self._position += 1
        self._state.apply(event)
        return narrate(event, self._state)


def started(tier: str = "namespaces") -> OwnerStarted:
    return OwnerStarted.model_validate({"resumed": False, "tier": tier, "platform": "linux"})


def registered(
    origin: str, rows: int, dropped: dict[str, int], kind: RowKind = "rows"
) -> DatasetRegistered:
    return DatasetRegistered(
        artifact=Artifact(digest=DIGEST, kind="dataset", size=9),
        source=Source(origin=origin),
        holds=kind,
        rows=rows,
        offered=rows + sum(dropped.values()),
        dropped=dropped,
        completion_chars=1,
        prompt_chars=1,
        by="main",
    )


def test_a_dataset_is_told_with_exact_counts_at_the_runs_own_time() -> None:
    story = Story()
    story.tell(started(), 1000.0)
    line = story.tell(registered("nano/scraped", 1580, {"SEALED_PROMPT": 60}), 1012.34)
    assert str(line) == (
        "   12.3s  data      nano/scraped: 1,640 rows offered, 1,580 kept, 60 dropped "
        "(SEALED_PROMPT 60: repeat sealed items) -> 3fa9c1e2"
    )


def test_a_dataset_of_another_kind_is_told_by_what_it_holds() -> None:
    line = Story().tell(registered("nano/liked", 1580, {}, "pairs"), 1.0)
    assert line is not None
    assert line.text.startswith("nano/liked: 1,580 pairs offered, 1,580 kept, 0 dropped")


def test_rows_that_are_in_the_pool_already_are_said_to_be() -> None:
    story = Story()
    story.tell(registered("nano/direct", 5, {}), 1.0)
    line = story.tell(registered("nano/scraped", 5, {}), 2.0)
    assert line is not None
    assert line.text.endswith("-> 3fa9c1e2, the same rows as nano/direct")


def test_a_source_without_a_usable_row_is_told() -> None:
    fact = DatasetRefused(
        source=Source(origin="nano/scraped"), offered=3, dropped={"EMPTY": 1, "SEALED": 2}, by="w1"
    )
    line = Story().tell(fact, 1.0)
    assert line is not None
    assert (
        line.text
        == "nano/scraped: 3 rows offered, all dropped (SEALED 2: repeat sealed items; EMPTY 1)"
    )


def test_a_denial_names_who_asked_for_what_and_why() -> None:
    fact = ActionDenied(
        action="experiment.submit", arguments={}, decision="deny", rule="share", reason="all used"
    )
    line = Story().tell(fact, 1.0, WORKER)
    assert line is not None
    assert (line.topic, line.text) == ("denied", "w1 asked for experiment.submit: all used")


def test_an_experiment_is_told_by_what_differs_from_the_defaults() -> None:
    story = Story()
    story.tell(registered("nano/direct", 1600, {}), 1.0)
    recipe = {"name": "sft", "method": "full", "steps": 40, "epochs": 9.0, "lora_rank": 8}
    queued = ExperimentQueued(
        experiment=ID,
        worker="w1",
        recipe=recipe,
        family="f",
        effective=DIGEST,
        init="base",
        merges=(),
        data=(DIGEST,),
        rows=1600,
        seed=0,
        purpose="explore",
        replicates=None,
        seconds=10.0,
        intent=ID,
    )
    line = story.tell(queued, 2.0, WORKER)
    assert line is not None
    assert line.text == (
        "submits cf75d462: sft full (steps 40) on 1,600 rows of nano/direct, from the base"
    )


def test_an_attempt_is_told_only_when_it_went_wrong() -> None:
    raw = {"experiment": ID, "stage": "train", "fence": 2, "job": "j", "seconds": 1.0, "tier": None}
    good = AttemptEnded.model_validate({**raw, "ending": "ok", "detail": ""})
    bad = AttemptEnded.model_validate({**raw, "ending": "killed", "detail": "signal 9"})
    assert Story().tell(good, 1.0) is None
    line = Story().tell(bad, 1.0)
    assert line is not None
    assert line.text == "cf75d462, attempt 2 to train, killed: signal 9"


def test_an_end_is_told_only_when_it_is_no_success() -> None:
    raw = {"experiment": ID, "reason": "TIMEOUT", "detail": "", "spent": {}}
    good = ExperimentEnded.model_validate({**raw, "lifecycle": "finished"})
    bad = ExperimentEnded.model_validate({**raw, "lifecycle": "cancelled"})
    assert Story().tell(good, 1.0) is None
    line = Story().tell(bad, 1.0)
    assert line is not None
    assert (line.topic, line.text) == ("cancelled", "cf75d462: TIMEOUT")


def test_weak_isolation_is_said_and_strong_is_not() -> None:
    told = {
        tier: str(Story().tell(started(tier), 1.0)) for tier in ("namespaces", "landlock", "none")
    }
    assert "weaker" not in told["namespaces"]
    assert "weaker than namespaces" in told["landlock"]
    assert "NOT ISOLATED" in told["none"]


def test_turns_are_told_when_they_fail() -> None:
    begun = TurnStarted(order="o", role="worker", node="w1", trigger="created")
    assert Story().tell(begun, 1.0) is None
    assert Story().tell(TurnEnded(order="o", node="w1", outcome="done"), 1.0) is None
    line = Story().tell(TurnEnded(order="o", node="w1", outcome="failed", detail="late"), 1.0)
    assert line is not None
    assert line.text == "w1 failed: late"


def test_a_line_is_one_line() -> None:
    created = WorkerCreated(
        node="w1",
        direction="try\n  this",
        hypothesis="h",
        task="t",
        purpose="explore",
        predecessors=(),
        data=(),
        recipe=None,
        replicates=None,
        promotion=0,
        experiments=1,
    )
    line = Story().tell(created, 1.0)
    assert line is not None
    assert line.text == "opens w1: try this, up to 1 experiment"
