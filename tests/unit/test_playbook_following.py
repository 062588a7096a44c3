"""Main's playbook after a review: what it tries next, from what, and when it stops."""

from dataclasses import replace

import pytest

from rsi_master.agents.playbook.board import Board, Move
from rsi_master.agents.playbook.following import STEPS_A_REVIEW, follow
from rsi_master.agents.playbook.main import decide
from rsi_master.domains.control.overview import DirectionView, ReviewView
from rsi_master.domains.planning.actions import PlacesView
from rsi_master.testing import boards, tape
from rsi_master.testing.boards import NOTHING, pool, review

ALL = ("sft", "dpo", "grpo", "rejection", "merge")
LIMITS = boards.LIMITS.model_copy(update={"workers_now": 9, "experiments_each": 2})
POOLS = (pool("p"), pool("q"), pool("asked", "prompts"), pool("pairs", "pairs"))
MIXED = pool("mixed").model_copy(update={"parents": (tape.digest("p"), tape.digest("q"))})


def board(
    *directions: DirectionView,
    reviews: tuple[ReviewView, ...] = (),
    recipes: tuple[str, ...] = ALL,
    reviewer: bool = True,
    verifier: bool = True,
) -> Board:
    seen = {"reviewer": reviewer, "recipes": recipes, "verifier": verifier}
    overview = NOTHING.model_copy(update={**seen, "directions": directions, "reviews": reviews})
    mixed = any(MIXED.id in view.data for view in directions)
    datasets = (*POOLS, MIXED) if mixed else POOLS
    return Board(overview, datasets, PlacesView(candidates=()), LIMITS)


def direction(node: str, dev: float, *data: str, **more: object) -> DirectionView:
    """A direction on data by their words, with the best experiment `e-NODE`."""
    given = boards.direction(node, f"e-{node}", dev, data=tuple(map(tape.digest, data)))
    return given.model_copy(update=more)


P, Q = direction("w1", 0.6, "p"), direction("w2", 0.5, "q")
FIRST = review("e-w1", scope=("w1", "w2"))


def taken(move: Move, node: str, dev: float = 0.5, **more: object) -> DirectionView:
    """The direction that a move opens, ended; `MIXED` stands for what was mixed."""
    assert move.action == "worker.create"
    kept = {name: move.arguments[name] for name in ("recipe", "predecessors", "data")}
    if move.mixed:
        assert move.mixed == MIXED.parents
        kept["data"] = (MIXED.id,)
    return direction(node, dev, **kept, **more)


def recipes(moves: tuple[Move, ...]) -> list[object]:
    return [move.arguments["recipe"] for move in moves]


def test_nothing_is_followed_before_a_review() -> None:
    assert [move.action for move in decide(board(P, Q))] == ["review.request"]


def test_the_leader_of_the_review_is_followed_and_not_the_best_on_dev() -> None:
    moves = decide(board(P, Q, reviews=(review("e-w2", scope=("w1", "w2")),)))
    assert {move.arguments["predecessors"] for move in moves} == {("w2",)}
    assert moves[0].arguments["data"] == (tape.digest("q"),)


def test_without_a_reviewer_the_best_on_dev_is_followed() -> None:
    moves = decide(board(P, Q, reviewer=False))
    assert {move.arguments["predecessors"] for move in moves} == {("w1",)}


def test_without_a_reviewer_every_kind_of_step_is_taken_too() -> None:
    known, kinds = [P, Q], []
    while moves := follow(board(*known, reviewer=False)):
        assert len(moves) <= STEPS_A_REVIEW
        kinds += recipes(moves)
        known += [taken(m, f"w{len(known) + at + 1}", 0.1) for at, m in enumerate(moves)]
    assert kinds == ["sft", "sft", "rejection", "dpo", "grpo"]


def test_steps_differ_in_kind_and_each_is_taken_once() -> None:
    known = [P, Q]
    kinds: list[object] = []
    reviews: tuple[ReviewView, ...] = (FIRST,)
    for turn in range(4):
        moves = follow(board(*known, reviews=reviews))
        assert len(moves) <= STEPS_A_REVIEW
        kinds += recipes(moves)
        known += [taken(m, f"w{10 * turn + at + 3}", 0.1) for at, m in enumerate(moves)]
        reviews = (*reviews, review("e-w1", scope=tuple(view.node for view in known)))
    assert kinds == ["sft", "sft", "rejection", "dpo", "grpo"]
    assert follow(board(*known, reviews=reviews)) == ()


def test_a_step_needs_its_data_its_verifier_and_the_contract() -> None:
    without = board(P, Q, reviews=(FIRST,), verifier=False)
    assert recipes(follow(without)) == ["sft", "sft", "dpo"]
    strict = board(P, Q, reviews=(FIRST,), recipes=("sft",))
    assert recipes(follow(strict)) == ["sft", "sft"]
    poor = replace(board(P, Q, reviews=(FIRST,)), datasets=POOLS[:1])
    assert recipes(follow(poor)) == ["sft"]


def test_no_more_is_opened_than_there_is_room_for_and_then_it_is_reviewed() -> None:
    now = replace(
        board(P, Q, reviews=(FIRST,)), limits=LIMITS.model_copy(update={"workers_now": 1})
    )
    (move,) = follow(now)
    working = taken(move, "w3", status="active", best=None)
    rest = follow(board(P, Q, working, reviews=(FIRST,)))
    assert len(rest) == STEPS_A_REVIEW - 1
    ended = [taken(m, f"w{at}") for at, m in enumerate((move, *rest), 3)]
    (asked,) = decide(board(P, Q, *ended, reviews=(FIRST,)))
    assert asked.action == "review.request"
    assert asked.arguments["scope"] == ("w1", "w3", "w4", "w5")


def test_other_data_are_mixed_with_those_of_the_leader() -> None:
    (move,) = (one for one in follow(board(P, Q, reviews=(FIRST,))) if one.mixed)
    assert move.mixed == (tape.digest("p"), tape.digest("q"))
    assert move.arguments["data"] == (tape.digest("q"),)
    heir = taken(move, "w3", 0.7)
    last = review("e-w3", scope=("w1", "w3"))
    again = follow(board(P, Q, heir, reviews=(FIRST, last)))
    assert not [one for one in again if one.mixed]
    assert again[0].arguments["data"] == (MIXED.id,)
    assert again[1].arguments["data"] == (tape.digest("asked"), MIXED.id)


def test_where_nothing_may_be_mixed_other_data_are_tried_once_alone() -> None:
    (move,) = (one for one in follow(board(P, Q, reviews=(FIRST,))) if one.mixed)
    alone = direction("w3", 0.5, "q", recipe="sft", predecessors=move.arguments["predecessors"])
    last = review("e-w1", scope=("w1", "w3"))
    assert not [one for one in follow(board(P, Q, alone, reviews=(FIRST, last))) if one.mixed]


def test_a_mixture_is_no_direction_from_the_base() -> None:
    mixed = replace(board(P, Q, reviews=(FIRST,)), datasets=(*POOLS, MIXED))
    roomy = LIMITS.model_copy(update={"directions": 9})
    assert {m.arguments.get("predecessors") for m in decide(replace(mixed, limits=roomy))} == {
        ("w1",)
    }


def test_a_step_that_leads_is_followed_in_its_turn() -> None:
    heir = taken(follow(board(P, Q, reviews=(FIRST,)))[0], "w3", 0.7)
    second = review("e-w3", scope=("w1", "w3"))
    moves = follow(board(P, Q, heir, reviews=(FIRST, second)))
    assert {move.arguments["predecessors"] for move in moves} == {("w3",)}


def test_branches_of_one_checkpoint_are_joined() -> None:
    branches = [
        direction(f"w{at}", 0.6, "p", predecessors=("w1",), recipe=recipe)
        for at, recipe in ((3, "sft"), (4, "rejection"))
    ]
    last = review("e-w3", scope=("w1", "w3", "w4"))
    found = follow(board(P, Q, *branches, reviews=(FIRST, last), recipes=("merge",)))
    assert [(m.arguments["recipe"], m.arguments["predecessors"]) for m in found] == [
        ("merge", ("w3", "w4", "w1"))
    ]


def test_what_is_shown_to_be_beaten_is_closed_once_and_the_leader_never() -> None:
    report = review("e-w1", scope=("w1", "w2"), beaten=("e-w2", "base"))
    moves = decide(board(P, Q, reviews=(report,)))
    assert [m.arguments["node"] for m in moves if m.action == "direction.close"] == ["w2"]
    shut = Q.model_copy(update={"status": "closed"})
    moves = decide(board(P, shut, reviews=(report,)))
    assert "direction.close" not in [m.action for m in moves]


@pytest.mark.parametrize("change", [{"closing": True}, {"workers_now": 0}])
def test_nothing_is_opened_without_means(change: dict[str, object]) -> None:
    now = replace(board(P, Q, reviews=(FIRST,)), limits=LIMITS.model_copy(update=change))
    moves = decide(now)
    assert not [
        m
        for m in moves
        if m.arguments.get("purpose", "explore") == "explore" and m.action == "worker.create"
    ]


def test_what_leads_again_is_reopened_before_anything_builds_on_it() -> None:
    shut = P.model_copy(update={"status": "closed"})
    first, *others = follow(board(shut, Q, reviews=(FIRST,)))
    assert (first.action, first.arguments["node"]) == ("direction.reopen", "w1")
    assert others == list(follow(board(P, Q, reviews=(FIRST,))))
    assert others


def test_a_closed_branch_is_not_merged() -> None:
    branches = [
        direction("w3", 0.7, "p", predecessors=("w1",)),
        direction("w4", 0.6, "q", predecessors=("w1",), status="closed"),
    ]
    last = review("e-w3", scope=("w1", "w3", "w4"))
    assert follow(board(P, Q, *branches, reviews=(FIRST, last), recipes=("merge",))) == ()
