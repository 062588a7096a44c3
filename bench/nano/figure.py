"""Scores over steps as an SVG of small panels: pure text, legible on light and dark pages."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

COLUMNS: Final = 2
WIDTH, HEIGHT = 380, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 34, 40
HEADER: Final = 34
RADIUS: Final = 3
STYLE: Final = """
  svg { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
  .page { fill: #ffffff; } text { fill: #24292f; } .faint { fill: #57606a; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .s0 { stroke: #bc4c00; fill: none; stroke-width: 2; stroke-dasharray: 6 3; }
  .s1 { stroke: #0969da; fill: none; stroke-width: 2; }
  .f0 { fill: #bc4c00; } .f1 { fill: #0969da; } .e { stroke-width: 1; stroke-dasharray: none; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } text { fill: #e6edf3; } .faint { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .s0 { stroke: #f0883e; } .s1 { stroke: #58a6ff; } .f0 { fill: #f0883e; } .f1 { fill: #58a6ff; }
  }
"""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: (steps, score in per cent, half of its error bar), in order of steps."""

    name: str
    points: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes; the first two series get the two colours."""

    title: str
    series: tuple[Series, ...]


def draw(panels: Sequence[Panel], title: str) -> str:
    """The figure; steps stand on a logarithmic axis. Raises ValueError without panels."""
    if not panels:
        raise ValueError("figure: nothing to draw")
    rows = math.ceil(len(panels) / COLUMNS)
    width, height = COLUMNS * WIDTH, HEADER + rows * HEIGHT
    names = [one.name for one in panels[0].series]
    body = [
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        *_legend(names, width),
    ]
    for number, panel in enumerate(panels):
        across, down = number % COLUMNS, number // COLUMNS
        body.append(f'<g transform="translate({across * WIDTH},{HEADER + down * HEIGHT})">')
        body += _panel(panel)
        body.append("</g>")
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>\n",
        )
    )


def _legend(names: Sequence[str], width: int) -> Iterator[str]:
    share = width / (len(names) + 1)
    for number, name in enumerate(names):
        x = share * (number + 1) - 50
        yield f'<line class="s{number}" x1="{x:.0f}" y1="18" x2="{x + 28:.0f}" y2="18"/>'
        yield f'<text x="{x + 36:.0f}" y="22">{escape(name)}</text>'


def _panel(panel: Panel) -> Iterator[str]:
    steps = sorted({step for series in panel.series for step, _, _ in series.points})
    yield f'<text x="{LEFT}" y="{TOP - 12}" font-weight="600">{escape(panel.title)}</text>'
    for value in (0, 25, 50, 75, 100):
        y = _y(value)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="faint" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
    for step in steps:
        x = _x(step, steps)
        yield (
            f'<text class="faint" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle">{step}</text>'
        )
    yield (
        f'<text class="faint" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 6}" '
        'text-anchor="middle">steps</text>'
    )
    for number, series in enumerate(panel.series):
        yield from _series(number, series, steps)


def _series(number: int, series: Series, steps: Sequence[int]) -> Iterator[str]:
    places = [(_x(step, steps), score, half) for step, score, half in series.points]
    path = " ".join(f"{x:.1f},{_y(score):.1f}" for x, score, _ in places)
    yield f'<polyline class="s{number}" points="{path}"/>'
    for x, score, half in places:
        low, high = _y(max(0.0, score - half)), _y(min(100.0, score + half))
        bar = f'x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"'
        yield f'<line class="s{number} e" {bar}/>'
        yield f'<circle class="f{number}" cx="{x:.1f}" cy="{_y(score):.1f}" r="{RADIUS}"/>'


def _x(step: int, steps: Sequence[int]) -> float:
    low, high = math.log(steps[0]), math.log(steps[-1])
    share = (math.log(step) - low) / (high - low) if high > low else 0.5
    return LEFT + 12 + share * (WIDTH - LEFT - RIGHT - 24)


def _y(score: float) -> float:
    return TOP + (1 - score / 100) * (HEIGHT - TOP - BOTTOM)
