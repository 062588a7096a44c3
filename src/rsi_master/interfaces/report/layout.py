"""A layered drawing of a directed graph from left to right, in Sugiyama's steps: longest-path
layers, a dummy where an edge passes a layer, barycentre sweeps against crossings, then places
nearest to the neighbours that keep the order and overlap nowhere. Pure, and the same each time."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

SWEEPS: Final = 12
ROUNDS: Final = 4

Arrow: TypeAlias = tuple[str, str]
Point: TypeAlias = tuple[float, float]
# Vertices are numbers: first the nodes in their order, then the dummies.
Ranks: TypeAlias = list[list[int]]
Chain: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Measures:
    """Sizes in pixels: of a box, of the gaps between layers and between the boxes of a layer, and
    of the lane in which an edge passes a layer."""

    width: float = 200.0
    height: float = 64.0
    across: float = 72.0
    between: float = 20.0
    lane: float = 12.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node at its place; x and y are those of the upper left corner."""

    name: str
    layer: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an edge: between layers from point to point, through a layer on one height."""

    source: str
    target: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes in the order of the nodes, routes in the order of the edges, and the whole size."""

    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Links:
    before: dict[int, list[int]]
    after: dict[int, list[int]]


def layered(
    names: Sequence[str], arrows: Iterable[Arrow], measures: Measures | None = None
) -> Layout:
    """Lay out the nodes, each after those that come before it in `names`. Edges to a node that is
    not later there, from or to an unknown one, and repeats are left out."""
    sizes = measures or Measures()
    kept = forward(names, arrows)
    number = {name: at for at, name in enumerate(names)}
    ranks, chains = _with_dummies(
        layers(names, kept), [(number[a], number[b]) for a, b in kept], names
    )
    links = _links(chains)
    ranks = _ordered(ranks, links)
    heights = {v: sizes.height if v < len(names) else sizes.lane for rank in ranks for v in rank}
    centres = _placed(ranks, links, heights, sizes.between)
    return _drawn(names, kept, ranks, chains, (sizes, centres))


def forward(names: Sequence[str], arrows: Iterable[Arrow]) -> list[Arrow]:
    """The edges that lead on in the order of the nodes, each once: what they make has no cycle."""
    number = {name: at for at, name in enumerate(names)}
    known = (one for one in arrows if one[0] in number and one[1] in number)
    return list(dict.fromkeys(one for one in known if number[one[0]] < number[one[1]]))


def layers(names: Sequence[str], arrows: Iterable[Arrow]) -> list[int]:
    """The layer of each node: the length of the longest way to it. The edges lead forward."""
    before: dict[str, list[str]] = {name: [] for name in names}
    for source, target in arrows:
        before[target].append(source)
    layer: dict[str, int] = {}
    for name in names:
        layer[name] = 1 + max((layer[one] for one in before[name]), default=-1)
    return [layer[name] for name in names]


def crossings(ranks: Ranks, after: dict[int, list[int]]) -> int:
    """How many pairs of edges between neighbouring layers cross."""
    total = 0
    for upper, lower in pairwise(ranks):
        place = {vertex: at for at, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(place[one] for one in after.get(vertex, ()))
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def isotonic(values: Sequence[float]) -> list[float]:
    """The rising sequence nearest to the values in least squares (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count > total * pools[-1][1]:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _with_dummies(
    layer: list[int], arrows: list[tuple[int, int]], names: Sequence[str]
) -> tuple[Ranks, list[Chain]]:
    """The vertices of each layer, and the chain of each edge, one vertex a layer."""
    ranks: Ranks = [[] for _ in range(1 + max(layer, default=-1))]
    for vertex, at in enumerate(layer):
        ranks[at].append(vertex)
    chains = []
    fresh = len(names)
    for source, target in arrows:
        passed = range(layer[source] + 1, layer[target])
        for at in passed:
            ranks[at].append(fresh + at - passed.start)
        chains.append((source, *range(fresh, fresh + len(passed)), target))
        fresh += len(passed)
    return ranks, chains


def _links(chains: list[Chain]) -> _Links:
    links = _Links({}, {})
    for chain in chains:
        for upper, lower in pairwise(chain):
            links.after.setdefault(upper, []).append(lower)
            links.before.setdefault(lower, []).append(upper)
    return links


def _ordered(ranks: Ranks, links: _Links) -> Ranks:
    """The order with the fewest crossings that the sweeps meet."""
    best, fewest = ranks, crossings(ranks, links.after)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        ranks = _swept(ranks, links.before) if sweep % 2 == 0 else _back(ranks, links)
        found = crossings(ranks, links.after)
        if found < fewest:
            best, fewest = ranks, found
    return best


def _back(ranks: Ranks, links: _Links) -> Ranks:
    return _swept(ranks[::-1], links.after)[::-1]


def _swept(ranks: Ranks, near: dict[int, list[int]]) -> Ranks:
    """Each layer sorted by the mean place of its neighbours in the layer before it."""
    done: Ranks = []
    place: dict[int, int] = {}
    for rank in ranks:
        own = {vertex: at for at, vertex in enumerate(rank)}
        mean = {v: _mean([place[one] for one in near.get(v, ())], own[v]) for v in rank}
        done.append(sorted(rank, key=lambda v, mean=mean, own=own: (mean[v], own[v])))  # type: ignore[misc]
        place = {vertex: at for at, vertex in enumerate(done[-1])}
    return done


def _placed(ranks: Ranks, links: _Links, heights: dict[int, float], gap: float) -> dict[int, float]:
    """The height of each vertex's middle, the uppermost edge at 0."""
    centre = dict.fromkeys(heights, 0.0)
    for rank in ranks:
        centre.update(_stacked(rank, centre, heights, gap))
    for _ in range(ROUNDS):
        for rank, near in (
            *((rank, links.before) for rank in ranks[1:]),
            *((rank, links.after) for rank in ranks[-2::-1]),
        ):
            wish = {v: _mean([centre[one] for one in near.get(v, ())], centre[v]) for v in rank}
            centre.update(_stacked(rank, wish, heights, gap))
    top = min((centre[v] - height / 2 for v, height in heights.items()), default=0.0)
    return {vertex: round(at - top, 1) for vertex, at in centre.items()}


def _stacked(
    rank: list[int], wish: dict[int, float], heights: dict[int, float], gap: float
) -> dict[int, float]:
    """The layer's middles nearest to the wishes that keep order and gaps."""
    offsets = [0.0]
    for upper, lower in pairwise(rank):
        offsets.append(offsets[-1] + (heights[upper] + heights[lower]) / 2 + gap)
    fitted = isotonic([wish[v] - offset for v, offset in zip(rank, offsets, strict=True)])
    return {v: at + offset for v, at, offset in zip(rank, fitted, offsets, strict=True)}


def _drawn(
    names: Sequence[str],
    arrows: list[Arrow],
    ranks: Ranks,
    chains: list[Chain],
    placed: tuple[Measures, dict[int, float]],
) -> Layout:
    sizes, centre = placed
    layer = {vertex: at for at, rank in enumerate(ranks) for vertex in rank}
    left = {vertex: at * (sizes.width + sizes.across) for vertex, at in layer.items()}
    boxes = tuple(
        Box(name, layer[v], left[v], round(centre[v] - sizes.height / 2, 1))
        for v, name in enumerate(names)
    )
    routes = []
    for (source, target), chain in zip(arrows, chains, strict=True):
        sides = [(left[v] + side, centre[v]) for v in chain for side in (0.0, sizes.width)]
        routes.append(Route(source, target, tuple(sides[1:-1])))
    lowest = [centre[v] + (sizes.height if v < len(names) else sizes.lane) / 2 for v in centre]
    right = max(left.values(), default=-sizes.width) + sizes.width
    return Layout(boxes, tuple(routes), right, round(max(lowest, default=0.0), 1))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
