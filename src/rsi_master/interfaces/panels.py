"""The parts of the board as tables: figures, directions, running jobs."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import ConsoleDimensions
from rich.table import Table
from rich.text import Text

from rsi_master.core.contract import Contract
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Node, WorkerCreated
from rsi_master.core.state import State
from rsi_master.core.text import line
from rsi_master.interfaces import words
from rsi_master.interfaces.decision import decision
from rsi_master.interfaces.pulse import Beat, Gauge
from rsi_master.interfaces.standing import best_of, best_on_dev, standing

# The lines that Main's last decision may take on a terminal.
DECISION_LINES = 2
# From this width on a job's progress is drawn as well as told.
WIDE = 96
BAR = 12
GAP = 2
LABEL = len("isolation")
STYLES = {"active": "cyan", "closed": "dim"}


@dataclass(frozen=True)
class Figure:
    """A labelled line; of those that do not fit, the ones of a higher rank go first."""

    label: str
    text: str
    rank: int
    style: str = ""


def head(name: str, state: State, how: str) -> Text:
    """The name of the run and how it stands, under a warning where jobs were not confined."""
    found = Text(no_wrap=True, overflow="ellipsis")
    if state.weakest == "none":
        found.append("NOT ISOLATED: this run makes no claim about integrity\n", "bold red")
    return found.append(line(name), "bold").append(f" is {how} (intervals: 95 %)")


def figures(
    contract: Contract, state: State, now: float, size: ConsoleDimensions | None
) -> list[Figure]:
    """What the run is after, has reached, has used and did last."""
    found = [*_reached(contract, state), *_used(contract, state, now)]
    if state.denials:
        found.append(Figure("denied", words.count(state.denials, "action"), 3))
    return [*found, *_decided(state, size)]


def weightiest(found: Sequence[Figure], most: int) -> list[Figure]:
    """At most so many, in their order."""
    ranked = sorted(range(len(found)), key=lambda at: (found[at].rank, at))
    return [found[at] for at in sorted(ranked[:most])]


def labelled(found: Sequence[Figure], size: ConsoleDimensions | None) -> Table:
    """Figures under each other."""
    table = _grid()
    for one in found:
        table.add_row(Text(one.label.ljust(LABEL), "dim"), _long(one.text, size, one.style))
    return table


def directions(state: State, nodes: Sequence[Node], size: ConsoleDimensions | None) -> Table:
    """Workers with what they reached, and reviews."""
    table = _grid("node", "direction", "state", "experiments", "best on dev")
    for node in nodes:
        created = node.created
        share = best = ""
        if isinstance(created, WorkerCreated):
            about, owned = created.direction, state.owned(node.id)
            share = f"{sum(e.ended is not None for e in owned)} of {created.experiments}"
            leading = best_of(state, owned)
            best = words.split(leading.score("dev")) if leading else ""
        else:
            about = f"review of {words.listed(created.scope)}"
        how = standing(node, state)
        style = STYLES.get(how, "")
        table.add_row(node.id, _long(about, size), Text(how, style), share, best)
    return table


def jobs(
    running: Sequence[Experiment], gauge: Gauge, now: float, size: ConsoleDimensions | None
) -> Table:
    """What runs or waits, how far it is, its last reward or loss, and since when it runs."""
    table = _grid("running", "of", "stage", "progress", "measure", "elapsed")
    for experiment in running:
        attempt, beat = experiment.running(), gauge.beat(experiment, now)
        elapsed = words.seconds(max(0.0, now - attempt.at)) if attempt else ""
        name, told = words.short(experiment.id), experiment.lifecycle
        row = (name, experiment.worker(), told, _progress(beat, size), _measure(beat), elapsed)
        table.add_row(*row)
    return table


def _reached(contract: Contract, state: State) -> Iterator[Figure]:
    base, best = state.experiments.get(BASE), best_on_dev(state)
    yield Figure("target", contract.target, 2)
    if state.tier is not None:
        worse = "" if state.weakest == state.tier else f", the weakest so far is '{state.weakest}'"
        yield Figure("isolation", f"jobs run under '{state.tier}'{worse}", 4)
    yield Figure("base", f"dev {words.split(base.score('dev') if base else None)}", 0)
    if best is not None:
        owner = f"{words.short(best.id)} of {best.worker()}"
        yield Figure("best", f"dev {words.split(best.score('dev'))}, {owner}", 0, "bold green")


def _used(contract: Contract, state: State, now: float) -> Iterator[Figure]:
    books, limit = state.books, contract.budget
    spent, held = books.spent, books.reserved()
    reserved = f" ({held.device_seconds:.0f} s reserved)" if held.device_seconds else ""
    seconds = f"{spent.device_seconds:.0f} of {limit.device_seconds:g} device seconds{reserved}"
    experiments = f"{spent.experiments} of {words.count(limit.experiments, 'experiment')}"
    yield Figure("used", f"{seconds}, {experiments}", 1)
    evaluations = words.count(limit.evaluations, "evaluation")
    yield Figure("", f"{spent.evaluations} of {evaluations}, each of a checkpoint on a split", 5)
    wall = state.wall(now)
    left = words.seconds(max(0.0, limit.wall_seconds - wall))
    rest = "" if state.finished else f", {left} left"
    yield Figure("clock", f"{words.seconds(wall)} used{rest}", 0)


def _decided(state: State, size: ConsoleDimensions | None) -> list[Figure]:
    """Main's last decision, on a terminal broken into the lines that it may have."""
    if state.choice is None:
        return []
    told, label = decision(state.choice), "Main"
    if size is None:
        return [Figure(label, told, 0)]
    width = max(20, size.width - LABEL - GAP)
    lines = textwrap.wrap(
        told, width, max_lines=DECISION_LINES, placeholder=" …", break_on_hyphens=False
    )
    return [Figure("" if at else label, line, at) for at, line in enumerate(lines)]


def _progress(beat: Beat | None, size: ConsoleDimensions | None) -> Text:
    if beat is None:
        return Text()
    told = f"step {beat.step} of {beat.steps} ({100 * beat.step // beat.steps} %)"
    if size is None or size.width < WIDE:
        return Text(told)
    done = round(BAR * beat.share())
    bar = Text("━" * done, "cyan").append("─" * (BAR - done), "dim")
    return bar.append(f" {told}", "default")


def _measure(beat: Beat | None) -> str:
    """What tells more of the two: a mean reward where answers are rewarded, else the loss."""
    if beat is None or beat.reward is beat.loss is None:
        return ""
    if beat.reward is not None:
        return f"reward {beat.reward:.3g}"
    return f"loss {beat.loss:.3g}"


def _grid(*heads: str) -> Table:
    """A table without lines; its second column holds the long texts and gives way."""
    table = Table(box=None, show_header=bool(heads), pad_edge=False, padding=(0, GAP, 0, 0))
    for at, name in enumerate(heads or ("", "")):
        table.add_column(name, header_style="dim", no_wrap=at != 1)
    return table


def _long(text: str, size: ConsoleDimensions | None, style: str = "") -> Text:
    """On one line, cut off on a terminal, broken elsewhere."""
    narrow = size is not None
    return Text(line(text), style, no_wrap=narrow, overflow="ellipsis" if narrow else "fold")
