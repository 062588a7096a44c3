"""Main's playbook: what it does on a board, and that the evidence decides."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import rsi_master.agents.playbook
import rsi_master.research
from rsi_master.agents.playbook.board import Board, Move
from rsi_master.agents.playbook.exploring import refined
from rsi_master.agents.playbook.main import MainPlaybook, decide, with_data
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.core.artifact import RowKind
from rsi_master.core.experiment import Experiment
from rsi_master.core.run import ActionIntended, FinishAsked, Trigger
from rsi_master.core.turn import Ask, Limits
from rsi_master.domains.control.overview import DirectionView, ReviewView
from rsi_master.domains.data.actions import DatasetView
from rsi_master.domains.planning.actions import Place, PlacesView
from rsi_master.programs.sealed.nano import NANO
from rsi_master.testing import tape, verifiers
from rsi_master.testing.boards import LIMITS, NOTHING, direction, pool, review
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import SKETCH


def place(claimable: str | None) -> Place:
    return Place(effective="e", experiments=(), family="f", seeds=2, claimable=claimable)


def board(
    *directions: DirectionView,
    reviews: tuple[ReviewView, ...] = (),
    datasets: tuple[DatasetView, ...] = (),
    places: tuple[Place, ...] = (),
    **overview: object,
) -> Board:
    seen = NOTHING.model_copy(update={"directions": directions, "reviews": reviews, **overview})
    return Board(seen, datasets, PlacesView(candidates=places), LIMITS)


A, B = direction("w1", "a", 0.6), direction("w2", "b", 0.5)
POOLS = tuple(pool(word, chars=chars) for word, chars in (("p", 5), ("q", 40), ("r", 20), ("s", 9)))


def verified(name: str, node: str = "w3", **more: object) -> DirectionView:
    return direction(node, f"{name}2", 0.5, purpose="verify", replicates=name, **more)


def origins(moves: tuple[Move, ...]) -> list[str]:
    known = {(one.id,): one.origin for one in POOLS}
    return [known[move.arguments["data"]] for move in moves]  # type: ignore[index]


def replicated(moves: tuple[Move, ...]) -> list[object]:
    assert {move.action for move in moves} == {"worker.create"}
    assert {move.arguments["purpose"] for move in moves} == {"verify"}
    return [move.arguments["replicates"] for move in moves]


def actions(moves: tuple[Move, ...]) -> list[str]:
    return [move.action for move in moves]


def test_directions_open_with_the_greatest_contrast_first() -> None:
    assert origins(decide(board(datasets=POOLS))) == ["q", "p"]
    more = replace(
        board(datasets=POOLS),
        limits=LIMITS.model_copy(update={"directions": 9, "workers_now": 9, "verifying_now": 9}),
    )
    assert origins(decide(more)) == ["q", "p", "r", "s"]


@pytest.mark.parametrize(("wanted", "slots"), [(1, 2), (2, 1), (2, 0), (3, 4)])
def test_no_more_directions_than_the_limits_allow(wanted: int, slots: int) -> None:
    limits = LIMITS.model_copy(update={"directions": wanted, "workers_now": slots})
    moves = decide(replace(board(datasets=POOLS), limits=limits))
    assert actions(moves).count("worker.create") == min(wanted, slots)


def test_each_direction_gets_the_experiments_that_the_limits_name() -> None:
    moves = decide(board(datasets=POOLS))
    assert {move.arguments["experiments"] for move in moves} == {LIMITS.experiments_each}


@pytest.mark.parametrize("kind", ["prompts", "pairs"])
def test_data_that_the_workers_cannot_train_on_open_no_direction(kind: RowKind) -> None:
    odd = (pool("longest", kind, 90), pool("shortest", kind, 0))
    assert decide(board(datasets=(*odd, *POOLS))) == decide(board(datasets=POOLS))
    assert actions(decide(board(datasets=odd))) == ["run.finish"]


def test_data_that_was_tried_is_not_opened_again() -> None:
    tried = direction("w1", "a", data=(tape.digest("q"),), status="active")
    assert origins(decide(board(tried, datasets=POOLS))) == ["p"]


def test_main_waits_while_a_direction_or_a_review_is_under_way() -> None:
    assert decide(board(A, direction("w2", None, status="active"))) == ()
    assert decide(board(A, B, reviews=(review(status="active"),))) == ()
    assert decide(board(A, B, claim="a2")) == ()


def test_explored_directions_are_reviewed_once_and_those_without_a_result_are_left_out() -> None:
    (move,) = decide(board(A, B, direction("w4", None)))
    assert move.action == "review.request"
    assert move.arguments["scope"] == ("w1", "w2")
    assert "review.request" not in actions(decide(board(A, B, reviews=(review("a"),))))


@pytest.mark.parametrize(
    ("recommend", "verifies"), [(("a",), ["a"]), (("b",), ["b"]), (("b", "a"), ["b", "a"])]
)
def test_the_report_decides_what_is_verified(
    recommend: tuple[str, ...], verifies: list[str]
) -> None:
    assert replicated(decide(board(A, B, reviews=(review(*recommend),)))) == verifies


def test_a_report_that_recommends_nothing_ends_the_research() -> None:
    assert actions(decide(board(A, B, reviews=(review(),)))) == ["run.finish"]


def test_a_later_report_that_shows_nothing_takes_nothing_back() -> None:
    """Of more comparisons at a stricter level the same evidence may show less."""
    heir = direction("w3", "c", predecessors=("w1",))
    told = (review("a"), review(scope=("w1", "w3")))
    assert replicated(decide(board(A, B, heir, reviews=told))) == ["a"]


@pytest.mark.parametrize(
    ("recipes", "words"),
    [
        (("grpo", "rejection"), "the contract allows grpo, rejection, which need a model"),
        (("sft",), "no source holds rows with answers"),
    ],
)
def test_what_the_playbook_cannot_begin_with_is_told(recipes: tuple[str, ...], words: str) -> None:
    prompts = (pool("asked", "prompts"),)
    (end,) = decide(board(datasets=prompts, recipes=recipes))
    assert end.action == "run.finish"
    assert words in str(end.arguments["reason"])


def test_an_excused_reviewer_leaves_the_choice_to_dev() -> None:
    turned = direction("w1", "a", 0.4), direction("w2", "b", 0.5)
    excused = review(status="excused")
    assert replicated(decide(board(*turned, reviews=(excused,)))) == ["b", "a"]


def test_closing_explores_nothing_and_still_verifies() -> None:
    now = LIMITS.model_copy(update={"closing": True})
    assert replicated(decide(replace(board(A, B, reviews=(review("b"),)), limits=now))) == ["b"]


def test_without_a_reviewer_the_best_on_dev_is_verified() -> None:
    assert replicated(decide(board(A, B, reviewer=False))) == ["a", "b"]


def test_a_verification_names_the_owner() -> None:
    (move,) = decide(board(A, B, reviews=(review("b"),)))
    assert move.arguments["predecessors"] == ("w2",)


TWO_SEEDS = LIMITS.model_copy(update={"seeds": 2, "workers_now": 9, "verifying_now": 9})


def promoted(boards: Board) -> list[tuple[object, object, object]]:
    moves = decide(replace(boards, limits=TWO_SEEDS))
    kept = ("replicates", "promotion", "predecessors")
    return [tuple(move.arguments[name] for name in kept) for move in moves]  # type: ignore[misc]


def test_the_leaders_are_verified_on_every_fresh_seed_the_first_leader_first() -> None:
    reviews = (review("b", "a"),)
    assert promoted(board(A, B, reviews=reviews)) == [
        ("b", 0, ("w2",)),
        ("b", 1, ("w2",)),
        ("a", 0, ("w1",)),
        ("a", 1, ("w1",)),
    ]
    done = verified("b"), verified("a", node="w4"), verified("b", node="w5", promotion=1)
    assert promoted(board(A, B, *done, reviews=reviews)) == [("a", 1, ("w1", "w5"))]


HEIRS = tuple(
    direction(node, name, predecessors=("w1",)) for node, name in (("w3", "c"), ("w4", "d"))
)
LATER = (review("a"), review("c", "d", scope=("w1", "w3", "w4")))


def test_leaders_with_a_common_past_are_verified_in_turn_the_second_beside_the_first() -> None:
    assert promoted(board(A, B, *HEIRS, reviews=LATER)) == [
        ("c", 0, ("w3",)),
        ("c", 1, ("w3",)),
    ]
    first = tuple(verified("c", f"w{5 + seed}", promotion=seed) for seed in range(2))
    assert promoted(board(A, B, *HEIRS, *first, reviews=LATER)) == [
        ("d", 0, ("w4", "w5")),
        ("d", 1, ("w4", "w6")),
    ]


def test_a_leader_that_was_repeated_on_the_way_to_another_is_verified() -> None:
    both = (review("a"), review("c", "a", scope=("w1", "w3", "w4")))
    first = tuple(verified("c", f"w{5 + seed}", promotion=seed) for seed in range(2))
    ids = {view.experiment_ids[0] for view in first}
    assert promoted(board(A, B, *HEIRS, *first, reviews=both)) == [
        ("a", 0, ("w1", "w5")),
        ("a", 1, ("w1", "w6")),
    ]
    passed = Place(effective="e", experiments=("a", *ids), family="f", seeds=3, claimable=min(ids))
    (move,) = decide(
        replace(board(A, B, *HEIRS, *first, reviews=both, places=(passed,)), limits=TWO_SEEDS)
    )
    assert move.action == "review.request"
    assert move.arguments["scope"] == ("w5", "w6")


def test_no_more_recipes_are_verified_than_the_limits_name() -> None:
    limits = LIMITS.model_copy(update={"promoted": 1})
    moves = decide(replace(board(A, B, reviews=(review("b", "a"),)), limits=limits))
    assert replicated(moves) == ["b"]


def test_what_was_verified_is_claimed_by_the_order_of_the_ranking() -> None:
    places = (place(None), place("b2"), place("a2"))
    told = (review("a"), review("a2", scope=("w3",)))
    assert decide(board(A, B, verified("a"), reviews=told, places=places)) == (
        Move("champion.claim", {"experiment": "b2"}),
    )


def test_verifications_are_reviewed_and_what_does_not_hold_is_not_claimed() -> None:
    done, places = (A, B, verified("a")), (place("a2"),)
    (asked,) = decide(board(*done, reviews=(review("a"),), places=places))
    assert (asked.action, asked.arguments["scope"]) == ("review.request", ("w3",))
    beaten = (review("a"), review(scope=("w3",)))
    (end,) = decide(board(*done, reviews=beaten, places=places))
    assert end.action == "run.finish"
    assert "no verification is shown to beat the base" in str(end.arguments["reason"])
    alone = (*done, verified("b", "w4"))
    (claim,) = decide(board(*alone, places=places, reviewer=False))
    assert claim.action == "champion.claim"
    excused = (review("a"), review(scope=("w3",), status="excused"))
    (claim,) = decide(board(*done, reviews=excused, places=places))
    assert claim.action == "champion.claim"


@pytest.mark.parametrize(
    "limits",
    [
        {"closing": True, "verifications": 0},
        {"verifications": 0},
        {"verifying_now": 0, "closing": True, "verifications": 0},
    ],
)
def test_closing_opens_nothing_and_claims_what_there_is(limits: dict[str, object]) -> None:
    now = LIMITS.model_copy(update=limits)
    told = (review("b"), review("a2", scope=("w3",)))
    ready = board(A, B, verified("a"), reviews=told, places=(place("a2"),))
    assert actions(decide(replace(ready, limits=now))) == ["champion.claim"]
    unready = board(A, B, reviews=(review("b"),))
    assert actions(decide(replace(unready, limits=now))) == ["run.finish"]
    if now.closing:
        early = replace(board(datasets=POOLS), limits=now)
        assert actions(decide(early)) == ["run.finish"]


@pytest.mark.parametrize(
    "boards",
    [
        board(),
        board(direction("w1", None), direction("w2", None)),
        board(A, B, verified("a"), reviews=(review("a"),)),
        board(A, B, claim="a2", claimed=True),
    ],
    ids=["no data", "no checkpoint", "no verification held", "claimed"],
)
def test_main_finishes_when_there_is_nothing_to_gain(boards: Board) -> None:
    assert actions(decide(boards)) == ["run.finish"]


class Game:
    """Two directions of one experiment each, reviewed and decided by the playbook itself."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder)
        self.rig.score_base()
        self.data = self.rig.add()
        self.rig.add("sketch/scraped")

    def explore(self, steps: int) -> Experiment:
        _, name = self.rig.explored(self.data, steps=steps)
        return self.rig.state.experiments[name]

    def main(self, trigger: Trigger) -> None:
        ask = Ask(order="o", role="main", node="main", trigger=trigger, limits=self.limits())
        MainPlaybook().act(ask, self.rig.main())

    def limits(self) -> Limits:
        """The directions are those that were explored by hand."""
        return LIMITS.model_copy(update={"directions": len(self.rig.state.graph.workers())})

    def decision(self) -> list[str | None]:
        """What Main has verified after the review."""
        self.main("worker_finalised")
        (node,) = self.rig.state.graph.reviews()
        ask = Ask(order="o", role="reviewer", node=node.id, trigger="created", limits=LIMITS)
        ReviewerPlaybook().act(ask, self.rig.reviewer(node.id))
        self.main("review_reported")
        created = [view.created for view in self.rig.state.graph.workers()]
        return [c.replicates for c in created if c.purpose == "verify"]  # type: ignore[union-attr]


def test_the_same_board_with_the_evidence_turned_round_is_decided_otherwise(tmp_path: Path) -> None:
    decisions = []
    for name, turned in (("as it is", False), ("turned", True)):
        folder = tmp_path / name
        folder.mkdir()
        game = Game(folder)
        weak, strong = game.explore(1), game.explore(6)
        if turned:
            weak.evaluation, strong.evaluation = strong.evaluation, weak.evaluation
        decisions.append((game.decision(), [weak.id], [strong.id]))
        game.rig.close()
    (first, _, strong_id), (second, weak_id, _) = decisions
    assert first == strong_id
    assert second == weak_id


def test_evidence_that_does_not_tell_them_apart_has_both_verified(tmp_path: Path) -> None:
    game = Game(tmp_path)
    one, other = game.explore(5), game.explore(6)
    other.evaluation = one.evaluation
    assert set(game.decision()) == {one.id, other.id}
    game.rig.close()


def test_a_pool_is_tried_without_what_a_filter_removed() -> None:
    """And one of which a filter took nothing is itself, under its own id."""
    clean = pool("clean", chars=60).model_copy(update={"parents": (tape.digest("q"),)})
    mixed = pool("mixed", chars=70).model_copy(
        update={"parents": (tape.digest("p"), tape.digest("q"))}
    )
    whole = POOLS[0].model_copy(update={"parents": (POOLS[0].id,)})
    found = refined((whole, *POOLS[1:], clean, mixed))
    assert [one.origin for one in found] == ["p", "r", "s", "clean", "mixed"]


def test_main_takes_every_source_before_it_opens_a_direction(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    ask = Ask(order="o", role="main", node="main", trigger="start", limits=LIMITS)
    MainPlaybook().act(ask, rig.main())
    assert {fact.source.origin for fact in rig.state.datasets.values()} >= {"sketch/clean"}
    assert rig.state.graph.workers()
    rig.close()


def test_a_contract_without_submissions_for_filters_has_its_pools_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SKETCH, "verifier", f"{verifiers.__name__}:{verifiers.added.__name__}")
    for folder, submissions, filters, opened in (
        ("less", 1, 0, 1),
        ("tight", 2, 0, 2),
        ("one", 3, 1, 2),
        ("free", 9, 2, 2),
    ):
        (tmp_path / folder).mkdir()
        policy = {"sources": ["sketch/clean", "sketch/few"], "submissions": submissions}
        rig = Rig(tmp_path / folder, sketch_contract(policy=policy))
        ask = Ask(order="o", role="main", node="main", trigger="start", limits=LIMITS)
        MainPlaybook().act(ask, rig.main())
        asked = [fact.action for fact in rig.facts(ActionIntended)]
        assert asked.count("data.filter") == filters
        assert len(rig.state.graph.workers()) == opened
        rig.close()


@pytest.mark.parametrize(("submissions", "mixes"), [(3, True), (2, False)])
def test_data_are_mixed_before_the_move_as_far_as_the_contract_allows(
    tmp_path: Path, submissions: int, mixes: bool
) -> None:
    rig = Rig(tmp_path, sketch_contract(policy={"submissions": submissions}))
    own, other = rig.add(), rig.add("sketch/scraped")
    move = Move("worker.create", {"data": (other,), "experiments": 2}, mixed=(own, other))
    found = with_data(rig.main(), move)
    made = [fact.artifact.digest for fact in rig.state.datasets.values() if fact.source.parents]
    assert len(made) == mixes
    assert found == {"data": (*made, other)[:1], "experiments": 2}
    rig.close()


def test_main_finishes_the_run_through_the_gateway(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    limits = LIMITS.model_copy(update={"closing": True})
    ask = Ask(order="o", role="main", node="main", trigger="start", limits=limits)
    MainPlaybook().act(ask, rig.main())
    assert len(rig.facts(FinishAsked)) == 1
    rig.close()


def sources() -> list[Path]:
    packages = (rsi_master.agents.playbook, rsi_master.research)
    return [path for package in packages for path in Path(package.__path__[0]).glob("*.py")]


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.name)
def test_no_word_of_the_playbook_names_a_task_or_pool_of_the_embedded_suite(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    words = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    texts = [word for word in words if isinstance(word, str)]
    assert not [text for text in texts if NANO.name in text]
    assert not set(texts) & set(NANO.tasks)
