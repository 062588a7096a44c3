"""The embedded nano suite as a benchmark of the sealed process."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rsi_master.core.artifact import AnyRow
from rsi_master.core.score import Split
from rsi_master.programs import nano
from rsi_master.programs.nano import verifiers
from rsi_master.programs.nano.format import ANSWER_TOKENS, TASKS, question_of
from rsi_master.programs.nano.generator import graders, pools, suite
from rsi_master.programs.nano.generator.problem import Item as NanoItem
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Model, Question


class Nano:
    """Seven generated tasks under the fixed public partition of their prompts."""

    name = "nano"
    tasks: tuple[str, ...] = TASKS
    decoding = Decoding(max_new_tokens=ANSWER_TOKENS, batch_size=128)
    libraries: tuple[str, ...] = ("torch", "transformers", "tokenizers", "numpy")
    verifier: str | None = f"{verifiers.points.__module__}:{verifiers.points.__name__}"

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """A secret sample of each split; raises ValueError when a split holds fewer."""
        drawn = suite.draw(secret, dict(counts.items()))
        return {split: [_question(item) for item in drawn[split]] for split in counts}

    def practice(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
    ) -> Sequence[Question]:
        """Questions of the partition's part of that name: no split and no pool has any of them."""
        return [_question(item) for item in suite.draw(secret, {"practice": count})["practice"]]

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, Sequence[AnyRow]]:
        """All pools of nano; the scrape holds questions of dev and confirm."""
        leaked = [_item(q, q.prompt) for split in ("dev", "confirm") for q in drawn.get(split, ())]
        return dict(pools.pools(secret, leaked).items())

    def grade(self, item: Item, output: str) -> Grade:
        """The verdict with its points; partial credit is given for care alone."""
        found = graders.grade(_item(item, item.id), output)
        return Grade(found.verdict, found.extracted, found.points)

    def grader_source(self) -> bytes:
        """All modules of nano: what reads, checks, knows the world."""
        folder = Path(nano.__file__).parent
        return b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))

    def model(self, base: Base) -> Model:
        """The base in transformers; torch is imported here and not before."""
        from rsi_master.programs.sealed.generation import CausalModel  # noqa: PLC0415 - 2 s, 300 MB

        return CausalModel(base, self.decoding)


NANO = Nano()


def _question(item: NanoItem) -> Question:
    stem = question_of(item.prompt) or item.prompt
    return Question(
        task=item.task,
        prompt=item.prompt,
        stem=stem,
        reference=item.reference,
        cluster=item.key,
    )


def _item(question: Question, name: str) -> NanoItem:
    task = next(task for task in TASKS if task == question.task)
    return NanoItem(name, task, question.prompt, question.reference, key="")
