"""The open verifier: points for an output to a prompt of the train split, from the prompt alone.

Training jobs may import it. It knows no reference, and no prompt of an evaluation split has a
verdict here; code is run on fewer inputs than the sealed grader's.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from rsi_master.programs.nano.format import Task, question_of
from rsi_master.programs.nano.partition import split_of
from rsi_master.programs.nano.questions.calls import Call
from rsi_master.programs.nano.questions.chain import Chain
from rsi_master.programs.nano.questions.code import Program
from rsi_master.programs.nano.questions.sums import Sum
from rsi_master.programs.nano.questions.write import Order
from rsi_master.programs.nano.reading import answer_of

Question = Sum | Chain | Call | Program | Order

_READERS: Final[Mapping[Task, Callable[[str], Question | None]]] = MappingProxyType(
    {
        "sums": Sum.read,
        "chain": Chain.read,
        "calls": Call.read,
        "code": Program.read,
        "write": Order.read,
    }
)
VERIFIABLE: Final[tuple[Task, ...]] = tuple(_READERS)


def read(prompt: str) -> tuple[Task, Question] | None:
    """Return task and question of `prompt`, None where it is none that can be verified."""
    text = question_of(prompt)
    if text is None:
        return None
    for task, reader in _READERS.items():
        question = reader(text)
        if question is not None:
            return task, question
    return None


def points(prompt: str, output: str) -> float | None:
    """Return points in 0..1 for `output`; None for a prompt that is not of the train split.

    Facts and care have no verifier: what is right there cannot be told from the prompt.
    """
    found = read(prompt)
    if found is None or split_of(found[0], found[1].key) != "train":
        return None
    return found[1].points(answer_of(output))
