"""Probes: what a checkpoint answers to open practice questions, which score nothing.

Practice questions belong to no split that is scored. They are open: whoever probes sees them whole,
and nothing forbids to train on them.
"""

from typing import Annotated

from pydantic import Field

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import Artifact, Digest
from rsi_master.core.event import Fact
from rsi_master.core.model import Value
from rsi_master.core.score import Verdict

Task = Annotated[str, Field(min_length=1, max_length=100)]
Start = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=64)]


class Window(Value):
    """Which practice questions: of one task or of all, so many of them from `start` on."""

    task: Task | None = None
    start: Start = 0
    count: Count = 16


class PracticeAnswer(Value):
    """One open question, what a checkpoint wrote, and how that is graded. An output that repeats a
    sealed question is withheld: None, like what was extracted from it."""

    question: str
    task: str
    prompt: str
    reference: str
    output: str | None
    extracted: str | None
    verdict: Verdict
    points: Annotated[float, Field(ge=0, le=1)]


class ProbeResult(Value):
    """The answers to a window, of `total` questions that there are in its task, or in all.

    `weights` is the digest of the tensors that answered, `seconds` what it took.
    """

    answers: tuple[PracticeAnswer, ...]
    total: int
    weights: str
    protocol: str
    seconds: float


class ProbeRecorded(Fact):
    """A Worker saw what a checkpoint answers to practice questions; `outputs` holds the answers,
    one canonical JSON object a line, and `seconds` is device time."""

    type = "probe.recorded"

    intent: str
    worker: NodeId
    experiment: str
    window: Window
    questions: int
    right: int
    outputs: Artifact
    weights: Digest
    protocol: Digest
    seconds: float


class ProbeFailed(Fact):
    """A probe began and gave no answers, and why; its device seconds are spent all the same."""

    type = "probe.failed"

    intent: str
    worker: NodeId
    experiment: str
    window: Window
    reason: str
    seconds: float
