"""Questions and pools at a fixed public seed, as files that the steps read, and their digests."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from rsi_master import core
from rsi_master.core import canonical
from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row, RowKind, kind_of
from rsi_master.core.model import Value
from rsi_master.domains import training
from rsi_master.programs import jobs, nano, sealed
from rsi_master.programs.nano import verifiers, weights
from rsi_master.programs.nano.format import TASKS, Task, question_of
from rsi_master.programs.nano.generator import pools, suite
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.world import HOME
from rsi_master.programs.nano.partition import split_of

SEED: Final = b"nano: the published table"
SHOWN: Final = 3
PROBED_KEYS: Final = 10_000
ILL: Final = "ill with "
DRAWN: Final = "drawn.json"
LIBRARIES: Final = ("torch", "transformers", "trl", "peft", "tokenizers")
TOLD: Final = ("MODEL_CARD.md", "scores.json")
"""Files of a base that tell of it; another word in them is not another base."""

_LAB: Final = Path(__file__).parent / "lab"
_RECIPES: Final = ("sft", "dpo", "grpo", "rejection", "merge")
_PROGRAMS: Final = (
    *(
        Path(jobs.__file__).with_name(f"{name}.py")
        for name in (
            *("checkpoint", "divergence", "result", "rows", "sampling", "supervised"),
            *("training", "verifier"),
            *_RECIPES,
        )
    ),
    *(Path(sealed.__file__).with_name(f"{name}.py") for name in ("generation", "nano", "weights")),
    *(Path(training.__file__).with_name(f"{name}.py") for name in ("config", "tuning", *_RECIPES)),
)
"""What a result was trained and scored by, beside the lab."""
_SHARED: Final = (
    Path(__file__),
    Path(__file__).with_name("steps.py"),
    *(
        Path(core.__file__).with_name(f"{name}.py")
        for name in ("artifact", "canonical", "job", "pace", "recipe")
    ),
    *(Path(training.__file__).with_name(f"{name}.py") for name in ("tensors", "vocabulary")),
    Path(sealed.__file__).with_name("benchmark.py"),
)
"""What the bench and the programs stand on: rows and their order, batches of samples, formats."""
_BUILDERS: Final = {"judge.py", "muon.py", "pretrain.py", "generator/corpus.py"}
"""What the base was made by, which has a digest of its own."""

Kind = TypeVar("Kind", Row, Prompt, Pair)


class Question(Value):
    """An item of the suite as a file holds it."""

    id: str
    task: Task
    prompt: str
    reference: str
    key: str

    def item(self) -> Item:
        """The item that graders take."""
        return Item(self.id, self.task, self.prompt, self.reference, self.key)


class Questions(Value):
    """`practice` is shown on the page, `dev` scores every step, `holdout` only an exam."""

    practice: tuple[Question, ...]
    dev: tuple[Question, ...]
    holdout: tuple[Question, ...]


class Drawn(Value):
    """The digests of the files that were drawn, written last."""

    digests: dict[str, str]


class Pool(Value):
    """The rows of one source, each with its task; None where a row is off-topic."""

    tasks: tuple[Task | None, ...]
    rows: tuple[AnyRow, ...]

    def of(self, kind: type[Kind], tasks: Sequence[Task]) -> list[Kind]:
        """The rows of these tasks, of all rows when none is named; ValueError for another kind."""
        found: list[Kind] = []
        for task, row in zip(self.tasks, self.rows, strict=True):
            if tasks and task not in tasks:
                continue
            if not isinstance(row, kind):
                raise ValueError(f"bench: a {type(row).__name__} where a {kind.__name__} is needed")
            found.append(row)
        return found


@dataclass(frozen=True, slots=True)
class Stock:
    """A source: the kind and number of its rows, and their digest as canonical JSON lines."""

    name: str
    kind: RowKind
    rows: int
    digest: str


class Context(Value):
    """What a result depends on beside its step and seed."""

    base: str
    suite: str
    programs: str
    shared: str
    libraries: str
    drawn: str
    items: int


def context(items: int) -> Context:
    """Digests of base, suite and programs, versions of libraries, and how many items are drawn."""
    files = weights.digests(weights.base_folder())
    model = {name: value for name, value in files.items() if name not in TOLD}
    return Context(
        base=canonical.digest(canonical.encode(model)),
        suite=suite_digest(),
        programs=_source((*_PROGRAMS, *sorted(_LAB.glob("*.py")))),
        shared=_source(_SHARED),
        libraries=", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        drawn=f"{SEED.decode()}, {SHOWN} shown",
        items=items,
    )


def write(folder: Path, items: int) -> None:
    """Draw the questions and the pools into `folder`, unless they lie there as they were drawn."""
    if _whole(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = suite.draw(SEED, {"practice": SHOWN, "dev": items, "holdout": items})
    for source, rows in pools.pools(SEED, drawn["dev"]).items():
        pool = Pool(tasks=tuple(task_of(row.prompt) for row in rows), rows=tuple(rows))
        _save(_pool_file(folder, source), pool)
    questions = {
        split: tuple(
            Question(
                id=item.id,
                task=item.task,
                prompt=item.prompt,
                reference=item.reference,
                key=item.key,
            )
            for item in found
        )
        for split, found in drawn.items()
    }
    _save(folder / "questions.json", Questions.model_validate(questions))
    _save(folder / DRAWN, Drawn(digests=_digests(folder)))


def _source(files: Iterable[Path]) -> str:
    return canonical.digest(b"".join(file.read_bytes() for file in files))


def _whole(folder: Path) -> bool:
    try:
        drawn = Drawn.model_validate_json((folder / DRAWN).read_bytes())
    except (FileNotFoundError, ValidationError):
        return False
    return drawn.digests == _digests(folder)


def _digests(folder: Path) -> dict[str, str]:
    files = (folder / "questions.json", *sorted((folder / "pools").glob("*.json")))
    return {file.name: canonical.digest(file.read_bytes()) for file in files if file.is_file()}


def questions(folder: Path) -> Questions:
    """The questions that `write` drew."""
    return Questions.model_validate_json((folder / "questions.json").read_bytes())


def pool(folder: Path, source: str) -> Pool:
    """The rows of a source that `write` wrote."""
    return Pool.model_validate_json(_pool_file(folder, source).read_bytes())


def stock(folder: Path) -> Iterator[Stock]:
    """The sources that `write` wrote, by name."""
    for file in sorted((folder / "pools").glob("*.json")):
        name, rows = f"nano/{file.stem}", Pool.model_validate_json(file.read_bytes()).rows
        digest, count = rows_digest(rows)
        yield Stock(name, kind_of(name, rows), count, digest)


def task_of(prompt: str) -> Task | None:
    """The task that a prompt belongs to, None where it is off-topic."""
    found = verifiers.read(prompt)
    if found is not None:
        return found[0]
    question = question_of(prompt) or ""
    if f" {HOME} " in question:
        return "facts"
    return "care" if question.startswith(ILL) else None


def rows_digest(rows: Sequence[BaseModel]) -> tuple[str, int]:
    """The digest of rows as canonical JSON lines, and their number."""
    lines = (canonical.encode(row.model_dump(mode="json")) + b"\n" for row in rows)
    return canonical.digest(b"".join(lines)), len(rows)


def partition_digest() -> str:
    """What the partition does, whatever its source text: the splits of the keys 0 to 9,999."""
    splits: Mapping[str, list[str]] = {
        task: [split_of(task, str(key)) for key in range(PROBED_KEYS)] for task in TASKS
    }
    return canonical.digest(canonical.encode(splits))


def suite_digest() -> str:
    """The digest of the source that draws, reads and grades questions and writes pools."""
    folder = Path(nano.__file__).parent
    files = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.py"))
    }
    return canonical.digest(canonical.encode({k: files[k] for k in files.keys() - _BUILDERS}))


def _pool_file(folder: Path, source: str) -> Path:
    return folder / "pools" / f"{source.removeprefix('nano/')}.json"


def _save(file: Path, value: BaseModel) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_text(value.model_dump_json(), encoding="utf-8")
    draft.replace(file)
