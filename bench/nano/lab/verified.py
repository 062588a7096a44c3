"""What the open verifier makes of sampled answers: rows to train on, pairs to prefer by."""

from collections.abc import Sequence

from rsi_master.core.artifact import Pair, Row
from rsi_master.programs.nano import verifiers


def right(prompts: Sequence[str], answers: Sequence[Sequence[str]]) -> list[Row]:
    """A row for each answer that has all points."""
    return [
        Row(prompt=prompt, completion=text)
        for prompt, texts in zip(prompts, answers, strict=True)
        for text in texts
        if verifiers.points(prompt, text) == 1.0
    ]


def distinct(rows: Sequence[Row]) -> list[Row]:
    """Each row once, in order of appearance."""
    return list({(row.prompt, row.completion): row for row in rows}.values())


def contrast(prompt: str, answers: Sequence[str]) -> Pair | None:
    """A best and a worst answer, None where all are worth the same."""
    ranked = sorted((verifiers.points(prompt, text) or 0.0, text) for text in answers)
    if not ranked or ranked[0][0] == ranked[-1][0]:
        return None
    return Pair(prompt=prompt, chosen=ranked[-1][1], rejected=ranked[0][1])


def passes(row: Row) -> bool:
    """Whether the verifier knows nothing against the row."""
    points = verifiers.points(row.prompt, row.completion)
    return points is None or points == 1.0
