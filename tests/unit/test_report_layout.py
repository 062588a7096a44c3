"""The layered layout: laws on any graph, and the places of small ones."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.interfaces.report.layout import (
    Arrow,
    Layout,
    Measures,
    crossings,
    forward,
    isotonic,
    layered,
    layers,
)

SIZES = Measures()
NAMES = [f"n{number}" for number in range(14)]
GRAPHS = st.integers(0, len(NAMES)).flatmap(
    lambda size: st.tuples(
        st.just(NAMES[:size]),
        st.lists(st.tuples(st.sampled_from([*NAMES, "stranger"]), st.sampled_from(NAMES))),
    )
)


def rows(plan: Layout) -> dict[int, list[float]]:
    """The upper edges of the boxes by layer, from above."""
    found: dict[int, list[float]] = {}
    for box in plan.boxes:
        found.setdefault(box.layer, []).append(box.y)
    return {layer: sorted(places) for layer, places in found.items()}


@given(GRAPHS)
def test_every_edge_leads_to_a_later_layer(graph: tuple[list[str], list[Arrow]]) -> None:
    plan = layered(*graph)
    layer = {box.name: box.layer for box in plan.boxes}
    assert [box.name for box in plan.boxes] == graph[0]
    assert all(layer[route.source] < layer[route.target] for route in plan.routes)
    assert [(r.source, r.target) for r in plan.routes] == forward(*graph)


@given(GRAPHS)
def test_no_two_boxes_overlap_and_all_lie_on_the_sheet(
    graph: tuple[list[str], list[Arrow]],
) -> None:
    plan = layered(*graph)
    for one, other in combinations(plan.boxes, 2):
        beside = abs(one.x - other.x) >= SIZES.width + SIZES.across - 0.1
        below = abs(one.y - other.y) >= SIZES.height + SIZES.between - 0.2
        assert beside or below, (one, other)
    for box in plan.boxes:
        assert 0 <= box.x <= plan.width - SIZES.width
        assert 0 <= box.y <= plan.height - SIZES.height + 0.1


@given(GRAPHS)
def test_a_route_joins_its_boxes_and_runs_through_none(
    graph: tuple[list[str], list[Arrow]],
) -> None:
    plan = layered(*graph)
    boxes = {box.name: box for box in plan.boxes}
    half = SIZES.height / 2
    for route in plan.routes:
        source, target = boxes[route.source], boxes[route.target]
        start, end = route.points[0], route.points[-1]
        assert start == pytest.approx((source.x + SIZES.width, source.y + half), abs=0.2)
        assert end == pytest.approx((target.x, target.y + half), abs=0.2)
        assert len(route.points) == 2 * (target.layer - source.layer)
        for (x, y), (to_x, to_y) in zip(route.points[1:-1:2], route.points[2::2], strict=True):
            assert y == to_y
            assert to_x == pytest.approx(x + SIZES.width)
            here = [box for box in plan.boxes if box.x == pytest.approx(x)]
            assert all(not box.y < y < box.y + SIZES.height for box in here)


@given(GRAPHS)
def test_the_same_graph_is_laid_out_the_same(graph: tuple[list[str], list[Arrow]]) -> None:
    assert layered(*graph) == layered(*graph)


@given(GRAPHS)
def test_a_layer_is_the_longest_way(graph: tuple[list[str], list[Arrow]]) -> None:
    names, arrows = graph[0], forward(*graph)
    layer = dict(zip(names, layers(names, arrows), strict=True))
    for name in names:
        before = [layer[source] for source, target in arrows if target == name]
        assert layer[name] == 1 + max(before, default=-1)


@given(st.lists(st.floats(-1e6, 1e6)))
def test_the_rising_fit_rises_and_keeps_the_mean(values: list[float]) -> None:
    fitted = isotonic(values)
    assert all(one <= other + 1e-6 for one, other in pairwise(fitted))
    assert sum(fitted) == pytest.approx(sum(values), abs=1e-3)


def test_what_rises_is_its_own_fit() -> None:
    assert isotonic([1.0, 2.0, 2.0, 5.0]) == [1.0, 2.0, 2.0, 5.0]
    assert isotonic([3.0, 1.0]) == [2.0, 2.0]


def test_edges_back_to_themselves_and_to_strangers_are_left_out() -> None:
    given_ = [("a", "b"), ("b", "a"), ("a", "a"), ("a", "x"), ("x", "b"), ("a", "b")]
    assert forward(["a", "b"], given_) == [("a", "b")]


def test_crossings_are_counted() -> None:
    assert crossings([[0, 1], [2, 3]], {0: [3], 1: [2]}) == 1
    assert crossings([[0, 1], [2, 3]], {0: [2, 3], 1: [2, 3]}) == 1
    assert crossings([[0, 1], [2, 3]], {0: [2], 1: [3]}) == 0


def test_sweeps_undo_crossings_that_need_not_be() -> None:
    arrows = [("a", "z"), ("b", "y"), ("c", "x")]
    plan = layered([*"abcxyz"], arrows)
    heights = {box.name: box.y for box in plan.boxes}
    for source, target in arrows:
        assert heights[source] == heights[target]


def test_a_long_edge_gets_a_lane_of_its_own() -> None:
    plan = layered([*"abc"], [("a", "b"), ("b", "c"), ("a", "c")])
    route = next(r for r in plan.routes if (r.source, r.target) == ("a", "c"))
    middle = next(box for box in plan.boxes if box.name == "b")
    assert len(route.points) == 4
    y = route.points[1][1]
    assert not middle.y <= y <= middle.y + SIZES.height


def test_nothing_needs_no_room() -> None:
    assert layered([], []) == Layout((), (), 0.0, 0.0)
    assert rows(layered(["a", "b"], [])) == {0: [0.0, SIZES.height + SIZES.between]}
