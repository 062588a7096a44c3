"""Four generated tasks of reasoning-gym as a benchmark of the sealed process."""

import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from typing import Final

from rsi_master.core.artifact import Row
from rsi_master.core.errors import Refused
from rsi_master.core.score import Split
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Model, Question
from rsi_master.programs.sealed.gym import answers, partition
from rsi_master.programs.sealed.gym import format as text_format
from rsi_master.programs.sealed.gym.format import ANSWER_TOKENS, TASKS

PACKAGE: Final = "reasoning_gym"


class ReasoningGym:
    """Right or wrong answers to questions in one line; no partial credit."""

    name = "reasoning-gym"
    tasks: tuple[str, ...] = TASKS
    decoding = Decoding(max_new_tokens=ANSWER_TOKENS, batch_size=16)
    libraries: tuple[str, ...] = ("torch", "transformers", "tokenizers")
    verifier: str | None = None

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """See `Benchmark`; raises Refused without the package, ValueError for too many."""
        _require()
        from rsi_master.programs.sealed.gym import suite  # noqa: PLC0415 - optional, 3 s

        return suite.draw(secret, counts)

    def practice(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
    ) -> Sequence[Question]:
        """Questions of the part `train` that come after those of the pools."""
        _require()
        from rsi_master.programs.sealed.gym import suite  # noqa: PLC0415 - optional, 3 s

        return suite.practice(secret, [one for found in drawn.values() for one in found], count)

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, list[Row]]:
        """Direct and worked answers to the same questions."""
        _require()
        from rsi_master.programs.sealed.gym import suite  # noqa: PLC0415 - optional, 3 s

        return suite.pools(secret, [one for found in drawn.values() for one in found])

    def grade(self, item: Item, output: str) -> Grade:
        """Right, wrong or no answer."""
        found = answers.extract(output)
        if found is None:
            return Grade("no_answer", None, 0.0)
        right = found == item.reference
        return Grade("right" if right else "wrong", found, float(right))

    def grader_source(self) -> bytes:
        """The modules that read and check answers."""
        modules = (answers, partition, text_format)
        return "".join(inspect.getsource(module) for module in modules).encode()

    def model(self, base: Base) -> Model:
        """The base in transformers; torch is imported here and not before."""
        from rsi_master.programs.sealed.generation import CausalModel  # noqa: PLC0415 - 2 s, 300 MB

        return CausalModel(base, self.decoding)


GYM = ReasoningGym()


def _require() -> None:
    if importlib.util.find_spec(PACKAGE) is None:
        raise Refused(
            "NO_BENCHMARK",
            "benchmark 'reasoning-gym' draws from a package that is not installed; in the "
            "checkout: .venv/bin/pip install -c constraints.txt -e '.[train,smollm2]'",
        )
