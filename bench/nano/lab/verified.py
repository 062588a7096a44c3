"""What the open verifier makes of answers: pairs to prefer by, and which rows pass."""

from collections.abc import Sequence

from bench.nano.lab.made import Failed

from rsi_master.core.artifact import Pair, Row
from rsi_master.programs.nano import verifiers


def contrast(prompt: str, answers: Sequence[str]) -> Pair | None:
    """The first of the best answers and the first of the worst, None where all are worth the same.

    Raises Failed for a prompt that no verifier knows.
    """
    worth = [known(prompt, text) for text in answers]
    if not worth or min(worth) == max(worth):
        return None
    best, worst = (answers[worth.index(one)] for one in (max(worth), min(worth)))
    return Pair(prompt=prompt, chosen=best, rejected=worst)


def known(prompt: str, answer: str) -> float:
    """The points of an answer; raises Failed for a prompt that no verifier knows."""
    points = verifiers.points(prompt, answer)
    if points is None:
        raise Failed(f"bench: no verifier knows {prompt!r}; name tasks that have one")
    return points


def passes(row: Row) -> bool:
    """Whether the verifier knows nothing against the row."""
    points = verifiers.points(row.prompt, row.completion)
    return points is None or points == 1.0
