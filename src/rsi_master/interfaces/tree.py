"""The research graph with the experiments that its Workers own, and the way to the champion."""

import json
from typing import Literal

from rich.text import Text
from rich.tree import Tree

from rsi_master.app.reader import Record
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Node, WorkerCreated
from rsi_master.core.lineage import ancestors, teachers
from rsi_master.core.model import Value
from rsi_master.core.run import ClaimScored
from rsi_master.core.state import State
from rsi_master.core.text import visible
from rsi_master.interfaces import words
from rsi_master.interfaces.standing import standing

NodeKind = Literal["main", "worker", "review", "base", "experiment"]
EdgeKind = Literal["opens", "dependency", "scope", "owns", "continues", "teaches"]


class Vertex(Value):
    """A node of the research graph or an experiment."""

    id: str
    kind: NodeKind
    label: str
    state: str


class Edge(Value):
    """`source` comes before `target`."""

    source: str
    target: str
    kind: EdgeKind


class Graph(Value):
    """Both graphs and their link, the ownership; `champion` is the path from the base."""

    nodes: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    champion: tuple[str, ...]


def graph(record: Record) -> Graph:
    """The graphs of a run as they stand."""
    state = record.state
    nodes = [Vertex(id="main", kind="main", label=record.contract.target, state="")]
    edges: list[Edge] = []
    for node in state.graph.nodes.values():
        nodes.append(_vertex(node, state))
        edges += _edges(node)
    for experiment in state.experiments.values():
        nodes.append(_experiment(state, experiment))
        queued = experiment.queued
        if queued is not None:
            edges.append(Edge(source=queued.worker, target=experiment.id, kind="owns"))
            parents, taught = queued.parents(), teachers(state, experiment.id)
            edges += [Edge(source=n, target=experiment.id, kind="continues") for n in parents]
            edges += [Edge(source=n, target=experiment.id, kind="teaches") for n in taught]
    return Graph(nodes=tuple(nodes), edges=tuple(edges), champion=_champion(state))


def tree(record: Record) -> Tree:
    """Main's nodes in order of birth, under each Worker its experiments."""
    state = record.state
    way = _champion(state)
    base = state.experiments.get(BASE)
    root = Tree(_text(f"main  {record.contract.target}"))
    root.add(_text(f"base  dev {words.split(base.score('dev') if base else None)}"))
    for node in state.graph.nodes.values():
        branch = root.add(_text(_line(node, state)))
        for experiment in state.owned(node.id):
            mark = "  * on the way to the champion" if experiment.id in way else ""
            vertex = _experiment(state, experiment)
            name = words.short(experiment.id)
            branch.add(_text(f"{name}  {vertex.state}  {vertex.label}{mark}"))
        if node.report is not None:
            branch.add(_text(node.report.recommendation))
    if way:
        root.add(_text("champion  " + " -> ".join(words.short(name) for name in way)))
    return root


def dot(found: Graph) -> str:
    """The graphs in the language of Graphviz."""
    shapes = {"main": "house", "worker": "box", "review": "diamond", "base": "doubleoctagon"}
    lines = ["digraph run {", "  rankdir=LR;"]
    for node in found.nodes:
        label = json.dumps(f"{words.short(node.id)}\n{node.label[:60]}", ensure_ascii=False)
        bold = ", penwidth=3" if node.id in found.champion else ""
        shape = shapes.get(node.kind, "ellipse")
        lines.append(f"  {json.dumps(node.id)} [shape={shape}, label={label}{bold}];")
    for edge in found.edges:
        style = "solid" if edge.kind == "continues" else "dashed"
        ends = f"{json.dumps(edge.source)} -> {json.dumps(edge.target)}"
        lines.append(f'  {ends} [label="{edge.kind}", style={style}];')
    return "\n".join([*lines, "}"])


def _champion(state: State) -> tuple[str, ...]:
    if not isinstance(state.claimed, ClaimScored):
        return ()
    name = state.claimed.experiment
    return tuple(reversed((name, *ancestors(state, name))))


def _vertex(node: Node, state: State) -> Vertex:
    created, how = node.created, standing(node, state)
    if isinstance(created, WorkerCreated):
        return Vertex(id=node.id, kind="worker", label=created.direction, state=how)
    return Vertex(id=node.id, kind="review", label=created.question, state=how)


def _edges(node: Node) -> list[Edge]:
    created = node.created
    opened = Edge(source="main", target=node.id, kind="opens")
    if isinstance(created, WorkerCreated):
        before = created.predecessors
        return [opened, *(Edge(source=n, target=node.id, kind="dependency") for n in before)]
    return [opened, *(Edge(source=n, target=node.id, kind="scope") for n in created.scope)]


def _experiment(state: State, experiment: Experiment) -> Vertex:
    scores = experiment.evaluation.scores if experiment.evaluation else ()
    figures = words.listed((f"{one.split} {words.split(one)}" for one in scores), "no score")
    if experiment.queued is None:
        return Vertex(id=experiment.id, kind="base", label=figures, state=experiment.lifecycle)
    label = f"{figures}; {words.training(state, experiment, brief=True)}"
    lifecycle = f"{experiment.lifecycle}, {experiment.integrity}"
    return Vertex(id=experiment.id, kind="experiment", label=label, state=lifecycle)


def _text(told: str) -> Text:
    return Text(visible(told))


def _line(node: Node, state: State) -> str:
    vertex, created = _vertex(node, state), node.created
    if isinstance(created, WorkerCreated):
        after = f", after {words.listed(created.predecessors)}" if created.predecessors else ""
    else:
        after = f", over {words.listed(created.scope)}"
    return f"{node.id}    {vertex.state}{after}: {vertex.label}"
