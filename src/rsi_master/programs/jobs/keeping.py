"""What is kept of sampled answers: rows to train on, pairs to prefer by."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rsi_master.core import canonical
from rsi_master.core.artifact import Pair, Prompt, Row, RowKind
from rsi_master.core.failure import Drop, Failure
from rsi_master.domains.data.samples import SampleResult, SampleSpec
from rsi_master.programs.jobs import result, rows
from rsi_master.programs.jobs.result import Untrainable

Points = Callable[[str, str], float]
"""Points in 0..1 for (prompt, answer), for prompts that the verifier knows."""


def prompts(inputs: Path, holds: RowKind) -> list[Prompt]:
    """What is asked of a dataset of prompts or of worked rows: each once, with the known answer of
    those that bear one. Raises Untrainable for rows of another kind."""
    if holds == "prompts":
        found = rows.load(inputs, Prompt)
    else:
        found = [Prompt(prompt=row.prompt) for row in rows.load(inputs, Row)]
    return list(dict.fromkeys(found))


@dataclass
class Kept:
    """The rows or pairs so far, and the figures."""

    spec: SampleSpec
    dropped: Counter[Drop] = field(default_factory=Counter)
    rows: list[Row | Pair] = field(default_factory=list)
    asked: int = 0
    drawn: int = 0
    right: int = 0

    def take(self, prompts: Sequence[str], answers: Sequence[Sequence[str]], of: Points) -> None:
        """Judge all answers; raises Untrainable where nothing is left to keep."""
        for prompt, several in zip(prompts, answers, strict=True):
            self.asked += 1
            self.drawn += len(several)
            said = [text for text in several if text.strip()]
            self.dropped["empty"] += len(several) - len(said)
            self._judge(prompt, said, [of(prompt, text) for text in said])
        if not self.rows:
            raise self._nothing()

    def result(self, failure: Failure | None = None) -> SampleResult:
        """The figures, and why there are no rows."""
        return SampleResult(
            failure=failure,
            asked=self.asked,
            drawn=self.drawn,
            right=self.right,
            kept=len(self.rows),
            dropped=dict(sorted((+self.dropped).items())),
        )

    def _judge(self, prompt: str, said: Sequence[str], points: Sequence[float]) -> None:
        right = [text for text, found in zip(said, points, strict=True) if found == 1.0]
        self.right += len(right)
        if self.spec.keep == "right":
            distinct = list(dict.fromkeys(right))[: self.spec.per_prompt]
            self.rows += [Row(prompt=prompt, completion=text) for text in distinct]
        elif points and min(points) < max(points):
            best, worst = (said[points.index(one)] for one in (max(points), min(points)))
            self.rows.append(Pair(prompt=prompt, chosen=best, rejected=worst))

    def _nothing(self) -> Untrainable:
        tried = f"{self.spec.samples} answers to each of {self.asked} prompts"
        if self.spec.keep == "right":
            return Untrainable(
                "NO_RIGHT_ANSWER",
                f"none of {tried} passed the verifier; draw from a checkpoint that is right at "
                "times, or draw more",
            )
        return Untrainable(
            "NO_CONTRAST",
            f"of {tried} those to one prompt were all worth the same ({self.right} were right); "
            "draw more, or hotter",
        )


def write(out: Path, kept: Kept, failure: Failure | None = None) -> None:
    """Write `rows.jsonl`, empty where nothing is kept, and then `result.json`."""
    lines = (canonical.encode(row.model_dump(mode="json")) + b"\n" for row in kept.rows)
    (out / "rows.jsonl").write_bytes(b"".join(lines))
    result.write(out, kept.result(failure))
