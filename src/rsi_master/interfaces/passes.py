"""Lasting tokens, issued by the operator of an installation."""

import re

from rsi_master.adapters.store.durable import disk
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import read
from rsi_master.core.action import Caller, Role
from rsi_master.core.errors import Misuse
from rsi_master.expos.tokens import Tokens
from rsi_master.interfaces import words

FIXED = {Role.MAIN: "main", Role.OPERATOR: "operator"}
LETTER = {Role.WORKER: "w", Role.REVIEWER: "r"}


def issue(folder: RunFolder, home: Home, role: Role, node: str | None) -> str:
    """A token for a role at a node. Whoever can write the home of the run is its operator.

    Raises Broken when the disk fails; the tokens of before stay then.
    """
    if not home.operator_token(folder.id).is_file():
        raise Misuse(
            "NOT_THE_OPERATOR",
            f"run {folder.id} was not started from {home.root}; set RSI_HOME to the installation "
            "that started it",
        )
    actor = "person" if role == Role.OPERATOR else "agent"
    caller = Caller(role=role, node=_node(folder, role, node), actor=actor)
    with disk(f"writing {home.tokens(folder.id)}", "run this again"):
        return Tokens(home.tokens(folder.id)).issue_lasting(caller)


def _node(folder: RunFolder, role: Role, node: str | None) -> str:
    if role == Role.OS:
        raise Misuse(
            "ROLE", "the Experiment OS holds no token; take main, worker, reviewer or operator"
        )
    if role in FIXED:
        if node not in (None, FIXED[role]):
            raise Misuse(
                "NODE", f"the role {role.value} sits at the node {FIXED[role]}, not {node}"
            )
        return FIXED[role]
    letter = LETTER[role]
    known = [name for name in read(folder).state.graph.nodes if name.startswith(letter)]
    if node is None or not re.fullmatch(rf"{letter}\d{{1,6}}", node) or node not in known:
        raise Misuse(
            "NODE",
            f"{node or 'no node'} is no {role.value} of this run; name one of "
            f"{words.listed(known, 'those that Main will open')}",
        )
    return node
