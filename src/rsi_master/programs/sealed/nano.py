"""The embedded nano suite as a benchmark of the sealed process."""

import inspect
from collections.abc import Mapping, Sequence

from rsi_master.core.artifact import Row
from rsi_master.core.score import Split
from rsi_master.programs.nano import format as text_format
from rsi_master.programs.nano import minilang, verifiers
from rsi_master.programs.nano.format import ANSWER_TOKENS, TASKS
from rsi_master.programs.nano.generator import graders, suite
from rsi_master.programs.nano.generator.problem import Item as NanoItem
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Model, Question

_HEAD, _TAIL = "Q: ", "\nA:"


class Nano:
    """Three generated tasks under the fixed public partition of their prompts."""

    name = "nano"
    tasks: tuple[str, ...] = TASKS
    decoding = Decoding(max_new_tokens=ANSWER_TOKENS, batch_size=128)
    libraries: tuple[str, ...] = ("torch", "transformers", "tokenizers", "numpy")

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """A secret sample of each split; raises ValueError when a split holds fewer."""
        drawn = suite.draw(secret, dict(counts.items()))
        return {split: [_question(item) for item in drawn[split]] for split in counts}

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, list[Row]]:
        """Direct and worked answers, and a scrape that holds questions of dev and confirm."""
        leaked = [_item(q, q.prompt) for split in ("dev", "confirm") for q in drawn.get(split, ())]
        found = suite.pools(secret, leaked)
        return {
            source: [Row(prompt=row.prompt, completion=row.completion) for row in rows]
            for source, rows in found.items()
        }

    def grade(self, item: Item, output: str) -> Grade:
        """Right or wrong; no partial credit."""
        found = graders.grade(_item(item, item.id), output)
        return Grade(found.verdict, found.extracted, float(found.verdict == "right"))

    def grader_source(self) -> bytes:
        """The modules that read and check answers."""
        modules = (graders, verifiers, minilang, text_format)
        return "".join(inspect.getsource(module) for module in modules).encode()

    def model(self, base: Base) -> Model:
        """The base in transformers; torch is imported here and not before."""
        from rsi_master.programs.sealed.generation import CausalModel  # noqa: PLC0415 - 2 s, 300 MB

        return CausalModel(base, self.decoding)


NANO = Nano()


def _question(item: NanoItem) -> Question:
    stem = item.prompt.removeprefix(_HEAD).removesuffix(_TAIL)
    return Question(task=item.task, prompt=item.prompt, stem=stem, reference=item.reference)


def _item(question: Question, name: str) -> NanoItem:
    task = next(task for task in TASKS if task == question.task)
    return NanoItem(name, task, question.prompt, question.reference, key="")
