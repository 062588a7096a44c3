"""A tiny benchmark without torch: a checkpoint is one tensor `skill`, the share it gets right."""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
from safetensors.numpy import save_file

from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row
from rsi_master.core.score import Split
from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Question
from rsi_master.programs.sealed.weights import Weights

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
TASKS = ("reverse", "add")
POOL_ROWS = 60
PLANTED = 5


class SketchModel:
    """Answers rightly where a hash of the prompt, a number in 0..1, lies below its skill."""

    def __init__(self, weights: Weights) -> None:
        self._skill = 0.0
        self.load(weights)

    def load(self, weights: Weights) -> None:
        """Take the mean of the tensor `skill`."""
        values = np.frombuffer(weights.tensors["skill"].data, dtype="<f4")
        self._skill = float(values.mean())

    def complete(self, prompts: Sequence[str]) -> list[str]:
        """The right answer, or a wrong one."""
        return [
            f" {solve(prompt) if _difficulty(prompt) < self._skill else 'no idea'}"
            for prompt in prompts
        ]


class Sketch:
    """Words to reverse and numbers to add."""

    name = "sketch"
    tasks: tuple[str, ...] = TASKS
    decoding = Decoding(max_new_tokens=16, batch_size=32)
    libraries: tuple[str, ...] = ("numpy",)
    verifier: str | None = None

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """Distinct questions over all splits."""
        rng, seen = Random(secret), set[str]()
        return {
            split: [_fresh(rng, task, seen) for task in TASKS for _ in range(count)]
            for split, count in counts.items()
        }

    def practice(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
    ) -> list[Question]:
        """Fresh questions: the space is so large that no pool has one of them."""
        rng = Random(secret + b"practice")
        seen = {question.prompt for found in drawn.values() for question in found}
        return [_fresh(rng, task, seen) for task in TASKS for _ in range(count)]

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, list[AnyRow]]:
        """`sketch/clean`, and `sketch/scraped` with five sealed questions of each of two splits;
        `sketch/prompts` without answers, `sketch/pairs` of a right answer and a wrong one."""
        rng = Random(secret)
        seen = {question.prompt for found in drawn.values() for question in found}
        clean = [_fresh(rng, task, seen) for task in TASKS for _ in range(POOL_ROWS // 2)]
        planted = [q for split in ("dev", "confirm") for q in drawn.get(split, ())[:PLANTED]]
        return {
            "sketch/clean": [_row(question) for question in clean],
            "sketch/scraped": [_row(question) for question in (*clean, *planted)],
            "sketch/prompts": [Prompt(prompt=question.prompt) for question in clean],
            "sketch/pairs": [_pair(question) for question in clean],
        }

    def grade(self, item: Item, output: str) -> Grade:
        """Right when the output is the reference; nothing but space is no answer."""
        extracted = output.strip()
        if not extracted:
            return Grade("no_answer", None, 0.0)
        right = extracted == item.reference
        return Grade("right" if right else "wrong", extracted, float(right))

    def grader_source(self) -> bytes:
        """This module."""
        return inspect.getsource(sys.modules[__name__]).encode()

    def model(self, base: Base) -> SketchModel:
        """A model of the base's skill."""
        return SketchModel(base.weights)


SKETCH = Sketch()


def write_checkpoint(folder: Path, skill: float) -> Path:
    """A checkpoint folder of that skill; the base is one too."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"skill": np.full(1, skill, dtype=np.float32)}, folder / CHECKPOINT_FILE)
    (folder / "config.json").write_text(json.dumps({"model_type": "sketch"}), encoding="utf-8")
    return folder


def _fresh(rng: Random, task: str, seen: set[str]) -> Question:
    while True:
        stem = _STEMS[task](rng)
        prompt = f"Q: {stem}\nA:"
        if prompt not in seen:
            seen.add(prompt)
            return Question(task=task, prompt=prompt, stem=stem, reference=solve(prompt))


def _reverse(rng: Random) -> str:
    return f"reverse {''.join(rng.choices(ALPHABET, k=8))}"


def _add(rng: Random) -> str:
    return f"add {rng.randrange(1000, 10_000)} and {rng.randrange(1000, 10_000)}"


_STEMS: dict[str, Callable[[Random], str]] = {"reverse": _reverse, "add": _add}


def solve(prompt: str) -> str:
    """The answer to a question, without the space before it."""
    asked = prompt.split()
    return asked[2][::-1] if asked[1] == "reverse" else str(int(asked[2]) + int(asked[4]))


def _difficulty(prompt: str) -> float:
    return int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8]) / 2**64


def _row(question: Question) -> Row:
    return Row(prompt=question.prompt, completion=f" {question.reference}")


def _pair(question: Question) -> Pair:
    return Pair(prompt=question.prompt, chosen=f" {question.reference}", rejected=" no idea")
