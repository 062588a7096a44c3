"""What a benchmark is to the sealed process: an extension point, found by entry point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

from rsi_master.core.artifact import AnyRow
from rsi_master.core.errors import Refused
from rsi_master.core.model import Value
from rsi_master.core.score import Split, Verdict
from rsi_master.programs.sealed.weights import Weights

GROUP = "rsi_master.benchmarks"


class Question(Value):
    """A drawn question. `prompt` is the text as the model reads it, `stem` the part of it that
    tells this question from all others.

    Questions of one task that hang on the same thing, as a text or a person, are no independent
    draws: they have one `cluster`, in any words, and scores count so. One without stands alone.
    """

    task: str
    prompt: str
    stem: str
    reference: str
    cluster: str | None = None


class Item(Question):
    """A sealed question under an id that says nothing; nor does the name of its cluster."""

    id: str


class Decoding(Value):
    """How outputs are made: greedy, until an end token or `max_new_tokens`."""

    max_new_tokens: int
    batch_size: int
    rule: str = "greedy, left padding, stop at the end token"


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one output; `points` lie in 0..1."""

    verdict: Verdict
    extracted: str | None
    points: float


@dataclass(frozen=True, slots=True)
class Base:
    """The pinned base: its files but the weights by name, and its weights."""

    files: Mapping[str, bytes]
    weights: Weights


class Model(Protocol):
    """A checkpoint that answers. It may be loaded anew by weights of the base's shapes."""

    def load(self, weights: Weights) -> None:
        """Take these tensors; they were checked against the base's."""

    def complete(self, prompts: Sequence[str]) -> list[str]:
        """One output for each prompt of a batch, without special tokens."""


class Benchmark(Protocol):
    """Draws questions, knows pools of training rows, grades outputs, makes a model of a base."""

    @property
    def name(self) -> str:
        """The name under which contracts ask for it."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the average is taken over."""

    @property
    def decoding(self) -> Decoding:
        """How outputs are made."""

    @property
    def libraries(self) -> tuple[str, ...]:
        """Distributions that generate or grade: another version of one is another protocol."""

    @property
    def verifier(self) -> str | None:
        """The open verifier as `module:function` of (prompt, answer), for training jobs to import:
        points in 0..1, None for a prompt that it does not know, as every evaluated one. For prompts
        that bear their answer (`Problem`), that is the third argument."""

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        """So many questions of each task for each split, fixed by the secret."""

    def practice(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
    ) -> Sequence[Question]:
        """So many open questions of each task, none of them drawn for a split nor in a pool of the
        same secret; none at all where the benchmark has no such questions. Whoever probes a
        checkpoint sees them whole."""

    def pools(
        self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
    ) -> Mapping[str, Sequence[AnyRow]]:
        """The rows of each source, of one kind a source: worked rows, prompts alone or preference
        pairs. Those of a careless source may hold drawn questions."""

    def grade(self, item: Item, output: str) -> Grade:
        """The verdict on an output; depends on nothing but the arguments."""

    def grader_source(self) -> bytes:
        """The source text that decides on verdicts, for the digest of the protocol."""

    def model(self, base: Base) -> Model:
        """A model of the base's architecture with the base's weights."""


@runtime_checkable
class Given(Protocol):
    """A benchmark that was made of a file: a sealed set keeps the file to make it again."""

    @property
    def given(self) -> bytes:
        """The bytes of the file."""


@runtime_checkable
class FromFile(Protocol):
    """What the name of a benchmark stands for whose questions a person gives in a file."""

    def of(self, data: bytes, base: Base) -> Benchmark:
        """The benchmark of these bytes for that base, equal for equal arguments. Raises Misuse for
        a file that cannot be used, in one line with row, value and fix."""


def find(name: str, base: Base, given: bytes | None = None) -> Benchmark:
    """The installed benchmark of that name, of the given file where it wants one; raises Refused
    with the names that there are, and where a file is missing or has no use."""
    found = _installed(name)
    if isinstance(found, FromFile):
        if given is None:
            raise Refused(
                "NO_BENCHMARK_FILE",
                f"benchmark {name!r} takes its questions from a file; `rsi init NAME --benchmark "
                "FILE` writes a contract that names it",
            )
        return found.of(given, base)
    if given is not None:
        raise Refused(
            "BENCHMARK_FILE_UNUSED",
            f"benchmark {name!r} draws its own questions; remove evaluator.items from the contract",
        )
    return found


def _installed(name: str) -> Benchmark | FromFile:
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise Refused("NO_BENCHMARK", f"benchmark {name!r} is not installed; there are: {names}")
    found: Benchmark | FromFile = known[name].load()
    return found
