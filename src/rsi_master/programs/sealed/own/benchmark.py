"""A person's own questions and answers as a benchmark of the sealed process."""

import hmac
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rsi_master.core.artifact import AnyRow, Problem, Row
from rsi_master.core.errors import Refused
from rsi_master.core.score import Split
from rsi_master.programs.own import reading
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Model, Question
from rsi_master.programs.sealed.own import file, fit, sameness
from rsi_master.programs.sealed.own.file import Entry, shown

NAME: Final = "jsonl"
LIBRARIES: Final = ("torch", "transformers", "tokenizers")
ROWS: Final = "own/train"
PROMPTS: Final = "own/prompts"
BATCH: Final = 32


class Jsonl:
    """What the name stands for until the file of a contract is known."""

    name = NAME

    def of(self, data: bytes, base: Base) -> "Own":
        """The benchmark of a file's bytes for that base; raises BadFile, also for what the base
        cannot read in one piece."""
        entries = file.parse(data)
        return Own(data, entries, fit.room(entries, base))


@dataclass(frozen=True, slots=True)
class Own:
    """Right or wrong answers, compared as `reading` says. Prompts that are one question by
    `sameness` never part, and one of them is evaluated."""

    given: bytes
    entries: tuple[Entry, ...]
    tokens: int

    @property
    def name(self) -> str:
        """The name of the entry point."""
        return NAME

    @property
    def tasks(self) -> tuple[str, ...]:
        """Those that rows name, in the order of the alphabet."""
        return tuple(sorted(self.questions()))

    @property
    def decoding(self) -> Decoding:
        """The longest answer of the file fits."""
        return Decoding(max_new_tokens=self.tokens, batch_size=BATCH)

    @property
    def libraries(self) -> tuple[str, ...]:
        """What generates."""
        return LIBRARIES

    @property
    def verifier(self) -> str | None:
        """Answers to training prompts are compared as those to sealed ones."""
        return f"{reading.points.__module__}:{reading.points.__name__}"

    def questions(self) -> Mapping[str, Sequence[Entry]]:
        """By task, the first entry of each question; all entries of one belong to its task."""
        first = {entry.key(): entry for entry in reversed(self.entries)}
        found: dict[str, list[Entry]] = {}
        for entry in sorted(first.values(), key=lambda one: one.number):
            found.setdefault(entry.task, []).append(entry)
        return found

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """So many questions of each task; raises Refused unless one of each is left to train on."""
        drawn: dict[Split, list[Question]] = {split: [] for split in counts}
        for task, entries in self.questions().items():
            asked = sum(counts.values())
            if asked >= len(entries):
                raise Refused(
                    "TOO_FEW_QUESTIONS",
                    f"task {shown(task)} has {len(entries)} different questions, the contract asks "
                    f"for {asked} to evaluate on; lower evaluator.dev, confirm and holdout so that "
                    "some are left to train on",
                )
            order = iter(sorted(entries, key=lambda entry: _rank(secret, entry)))
            for split, count in counts.items():
                drawn[split] += [_question(next(order)) for _ in range(count)]
        return drawn

    def practice(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
    ) -> Sequence[Question]:
        """None: every question that is not drawn is trained on."""
        return ()

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, Sequence[AnyRow]]:
        """All entries whose questions were not drawn: to learn from, and to be asked with a
        verifier that knows the answer."""
        sealed = {question.stem for found in drawn.values() for question in found}
        left = [entry for entry in self.entries if entry.key() not in sealed]
        return {
            ROWS: [Row(prompt=entry.prompt, completion=fit.completion(entry)) for entry in left],
            PROMPTS: [Problem(prompt=entry.prompt, answer=entry.answer) for entry in left],
        }

    def grade(self, item: Item, output: str) -> Grade:
        """Right, wrong or no answer."""
        found = reading.answer_of(output)
        if not found:
            return Grade("no_answer", None, 0.0)
        right = found == reading.answer_of(item.reference)
        return Grade("right" if right else "wrong", found, float(right))

    def grader_source(self) -> bytes:
        """The modules that read and compare answers, and those that draw the questions."""
        modules = (reading, file, sameness, fit)
        return "".join(map(inspect.getsource, modules)).encode()

    def model(self, base: Base) -> Model:
        """The base in transformers; torch is imported here and not before."""
        from rsi_master.programs.sealed.generation import CausalModel  # noqa: PLC0415 - 2 s, 300 MB

        return CausalModel(base, self.decoding)


JSONL = Jsonl()


def _rank(secret: bytes, entry: Entry) -> bytes:
    """The place of a question in the order of the draw."""
    return hmac.digest(secret, entry.key().encode(), "sha256")


def _question(entry: Entry) -> Question:
    return Question(task=entry.task, prompt=entry.prompt, stem=entry.key(), reference=entry.answer)
