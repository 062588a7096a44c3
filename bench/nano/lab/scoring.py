"""Greedy answers by the generator of the sealed process, graded as it grades."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.nano import material
from bench.nano.material import Question
from bench.nano.result import Answer, Points
from bench.nano.steps import Exam, Prompted, Step

from rsi_master.core.artifact import Row
from rsi_master.programs.jobs.checkpoint import WEIGHTS
from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator import graders
from rsi_master.programs.sealed.benchmark import Base
from rsi_master.programs.sealed.generation import CausalModel
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.weights import Weights

Asker = Callable[[Sequence[Question]], list[str]]


@dataclass(frozen=True, slots=True)
class Scored:
    """Points and keys by task in the order of the items, and answers to the practice questions."""

    points: dict[Task, Points]
    keys: dict[Task, tuple[str, ...]]
    answers: tuple[Answer, ...]


def score(step: Step, checkpoint: Path, folder: Path) -> Scored:
    """Have the checkpoint answer the split of its step, and the practice questions."""
    found = material.questions(folder)
    ask = _asker(step, checkpoint, folder)
    asked = found.holdout if isinstance(step, Exam) else found.dev
    graded = _graded(asked, ask(asked))
    return Scored(
        points={task: tuple(one.points for one in graded if one.task == task) for task in TASKS},
        keys={task: tuple(one.key for one in asked if one.task == task) for task in TASKS},
        answers=_graded(found.practice, ask(found.practice)),
    )


def _graded(asked: Sequence[Question], outputs: Sequence[str]) -> tuple[Answer, ...]:
    return tuple(
        Answer(
            task=one.task,
            prompt=one.prompt,
            output=output,
            points=graders.grade(one.item(), output).points,
        )
        for one, output in zip(asked, outputs, strict=True)
    )


def _asker(step: Step, checkpoint: Path, folder: Path) -> Asker:
    files = {
        path.name: path.read_bytes()
        for path in checkpoint.iterdir()
        if path.is_file() and path.name != WEIGHTS
    }
    weights = Weights.parse((checkpoint / WEIGHTS).read_bytes())
    model = CausalModel(Base(files=files, weights=weights), NANO.decoding)
    shots = _shots(step.shots, folder) if isinstance(step, Prompted) else {}

    def ask(questions: Sequence[Question]) -> list[str]:
        prompts = [shots.get(one.task, "") + one.prompt for one in questions]
        size = NANO.decoding.batch_size
        batches = (prompts[at : at + size] for at in range(0, len(prompts), size))
        outputs = [text for batch in batches for text in model.complete(batch)]
        return [text.split("\n")[0] for text in outputs] if shots else outputs

    return ask


def _shots(count: int, folder: Path) -> dict[Task, str]:
    """For each task `count` direct examples, each on lines of its own."""
    pool = material.pool(folder, "nano/direct")
    return {
        task: "".join(f"{row.prompt}{row.completion}\n" for row in pool.of(Row, (task,))[:count])
        for task in TASKS
    }
