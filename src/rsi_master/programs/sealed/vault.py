"""A sealed set on disk: secret, items, pools and `set.json`, which commits to all of them."""

import hashlib
import hmac
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from rsi_master.core.artifact import ROW, AnyRow, Digest, RowKind, kind_of
from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Broken, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.score import Drawn, Split
from rsi_master.core.sealed import SealedSet
from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.domains.training.tensors import Unreadable
from rsi_master.programs.sealed.benchmark import Base, Benchmark, Given, Item, Question, find
from rsi_master.programs.sealed.protocol import protocol_digest
from rsi_master.programs.sealed.scanner import Scanner
from rsi_master.programs.sealed.weights import Weights

OPENINGS = "openings.jsonl"
GIVEN = "given.jsonl"
PRACTICE = "practice.jsonl"
_SPLITS: tuple[Split, ...] = get_args(Split)


class Manifest(Value):
    """`set.json`: what is open about the set, the digests of its pools and its practice questions,
    what kind of rows each pool that is not empty holds, and the digest of the file that a person
    gave, if any."""

    set_version: Literal[1] = 1
    public: SealedSet
    pools: dict[str, Digest] = Field(default_factory=dict)
    holds: dict[str, RowKind] = Field(default_factory=dict)
    given: Digest | None = None
    practice: Digest | None = None


@dataclass(frozen=True, slots=True)
class Vault:
    """A loaded set whose bytes agree with its commitment."""

    manifest: Manifest
    benchmark: Benchmark
    base: Base
    items: Mapping[Split, tuple[Item, ...]]
    pools: Mapping[str, tuple[AnyRow, ...]]
    practice: tuple[Item, ...] = ()


def seal(
    benchmark: Benchmark,
    base: Base,
    counts: Mapping[Drawn, int],
    home: Path,
    *,
    openings: int = 1,
    secret: bytes | None = None,
) -> Path:
    """Draw a set and write it to `home/sealed/<name>`: all of it or nothing. 0700, files 0600.

    Practice questions are no part of the commitment to the items; one that repeats an item is left
    out. Raises Misuse for a source whose rows are of several kinds, Broken when the disk fails.
    """
    secret = secret or os.urandom(32)
    scored = {split: counts[split] for split in _SPLITS if split in counts}
    drawn = benchmark.draw(_derived(secret, "draw"), scored)
    items = {split: _sealed(secret, split, drawn.get(split, ())) for split in _SPLITS}
    pools = benchmark.pools(_derived(secret, "pools"), drawn)
    practice = _practice(benchmark, secret, drawn, counts.get("practice", 0))
    holds = {name: kind_of(f"source {name}", rows) for name, rows in pools.items() if rows}
    public = SealedSet(
        benchmark=benchmark.name,
        digest=_commitment(secret, items),
        protocol=protocol_digest(benchmark, base),
        base=base.weights.digest(),
        openings=openings,
        sizes={split: len(found) for split, found in items.items()},
        tasks=benchmark.tasks,
        sources=tuple(sorted(pools)),
        verifier=benchmark.verifier,
        practice=len(practice),
        suite=digest(benchmark.grader_source()),
    )
    digests = {name: digest(_lines(rows)) for name, rows in pools.items()}
    given = benchmark.given if isinstance(benchmark, Given) else None
    manifest = Manifest(
        public=public,
        pools=digests,
        holds=holds,
        given=None if given is None else digest(given),
        practice=digest(_lines(practice)),
    )
    files = {"secret": secret, "set.json": manifest.model_dump_json(indent=2).encode() + b"\n"}
    files |= {f"items.{split}.jsonl": _lines(found) for split, found in items.items()}
    files |= {_pool_file(source): _lines(rows) for source, rows in pools.items()}
    files |= {PRACTICE: _lines(practice), OPENINGS: b""}
    if given is not None:
        files[GIVEN] = given
    return _write(home / "sealed", public.digest.removeprefix("sha256:")[:16], files)


def load(folder: Path, base_folder: Path) -> Vault:
    """Read a set and check it against its commitment; raises SealUnavailable naming what is off."""
    manifest = _manifest(folder)
    public = manifest.public
    secret = _read(folder / "secret")
    items = {split: _read_items(folder, split) for split in _SPLITS}
    if _commitment(secret, items) != public.digest:
        raise SealUnavailable("SEAL_DAMAGED", f"items of {folder} differ from their commitment")
    pools = {source: _read_pool(folder, manifest, source) for source in public.sources}
    practice = _read_practice(folder, manifest)
    base = read_base(base_folder)
    benchmark = find(public.benchmark, base, _given(folder, manifest))
    if base.weights.digest() != public.base:
        raise SealUnavailable("SEAL_BASE", f"{base_folder} is not the base that was sealed with")
    if protocol_digest(benchmark, base) != public.protocol:
        raise SealUnavailable(
            "SEAL_PROTOCOL",
            "evaluator, decoding, tokenizer or libraries differ from those sealed with in "
            f"{folder}; install them again, or seal a new set",
        )
    return Vault(manifest, benchmark, base, items, pools, practice)


def read_base(folder: Path) -> Base:
    """The base in `folder`; raises SealUnavailable when its weights are missing or unreadable."""
    files = {path.name: _read(path) for path in sorted(folder.glob("*")) if path.is_file()}
    try:
        weights = Weights.parse(files.pop(CHECKPOINT_FILE))
    except (KeyError, Unreadable) as cause:
        raise SealUnavailable(
            "SEAL_BASE", f"{folder} holds no readable {CHECKPOINT_FILE}"
        ) from cause
    return Base(files, weights)


def _practice(
    benchmark: Benchmark,
    secret: bytes,
    drawn: Mapping[Split, Sequence[Question]],
    count: int,
) -> tuple[Item, ...]:
    """Open questions; what a careless benchmark drew for both stays sealed."""
    if not count:
        return ()
    scanner = Scanner([question for found in drawn.values() for question in found], ())
    found = benchmark.practice(_derived(secret, "pools"), drawn, count)
    return _sealed(secret, "practice", [q for q in found if not scanner.asks(q.prompt)])


def _sealed(secret: bytes, split: Drawn, questions: Sequence[Question]) -> tuple[Item, ...]:
    """Items in the order of their ids, so that neither tells the task or the draw."""
    items = [_item(secret, split, question) for question in questions]
    return tuple(sorted(items, key=lambda item: item.id))


def _item(secret: bytes, split: Drawn, question: Question) -> Item:
    fields = question.model_dump()
    if question.cluster is not None:
        fields["cluster"] = _name(secret, "cluster", split, question.task, question.cluster)
    return Item(id=_name(secret, split, question.task, question.prompt), **fields)


def _name(secret: bytes, *path: str) -> str:
    """A name that says nothing to those without the secret."""
    return _derived(secret, "\0".join(path)).hex()[:16]


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac.digest(secret, purpose.encode(), "sha256")


def _commitment(secret: bytes, items: Mapping[Split, tuple[Item, ...]]) -> str:
    # A field that an item does not have is left out: what was sealed before there was one agrees.
    listed = {
        split: [item.model_dump(exclude_defaults=True) for item in found]
        for split, found in items.items()
    }
    return "sha256:" + hashlib.sha256(secret + encode(listed)).hexdigest()


def _lines(values: Sequence[Value]) -> bytes:
    return b"".join(value.model_dump_json().encode() + b"\n" for value in values)


def _pool_file(source: str) -> str:
    return f"pool.{source.replace('/', '.')}.jsonl"


def _write(parent: Path, name: str, files: Mapping[str, bytes]) -> Path:
    try:
        return _written(parent, name, files)
    except OSError as cause:
        raise Broken(
            "DISK",
            f"writing {parent / name}: {cause.strerror or cause}; free or repair the disk, then "
            "run this again",
        ) from cause


def _written(parent: Path, name: str, files: Mapping[str, bytes]) -> Path:
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = Path(tempfile.mkdtemp(dir=parent, prefix=".draft-"))
    try:
        for file, data in files.items():
            descriptor = os.open(draft / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
        draft.rename(parent / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_folder(parent)
    return parent / name


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(_read(folder / "set.json"))
    except ValidationError as cause:
        raise SealUnavailable("SEAL_DAMAGED", f"{folder / 'set.json'} is not readable") from cause


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as cause:
        raise SealUnavailable("SEAL_MISSING", f"{path}: {cause.strerror}") from cause


def _given(folder: Path, manifest: Manifest) -> bytes | None:
    if manifest.given is None:
        return None
    data = _read(folder / GIVEN)
    if digest(data) != manifest.given:
        raise SealUnavailable("SEAL_DAMAGED", f"{folder / GIVEN} differs from its digest")
    return data


def _read_items(folder: Path, split: Split) -> tuple[Item, ...]:
    file = folder / f"items.{split}.jsonl"
    return _items(file, _read(file))


def _items(file: Path, data: bytes) -> tuple[Item, ...]:
    try:
        return tuple(Item.model_validate_json(line) for line in data.splitlines())
    except ValidationError as cause:
        raise SealUnavailable("SEAL_DAMAGED", f"{file} is not readable") from cause


def _read_practice(folder: Path, manifest: Manifest) -> tuple[Item, ...]:
    """A set that was sealed before there were practice questions has none."""
    if manifest.practice is None:
        return ()
    file = folder / PRACTICE
    data = _read(file)
    if digest(data) != manifest.practice:
        raise SealUnavailable("SEAL_DAMAGED", f"{file} differs from its digest")
    return _items(file, data)


def _read_pool(folder: Path, manifest: Manifest, source: str) -> tuple[AnyRow, ...]:
    data = _read(folder / _pool_file(source))
    if digest(data) != manifest.pools.get(source):
        raise SealUnavailable("SEAL_DAMAGED", f"pool {source} of {folder} differs from its digest")
    return tuple(ROW.validate_json(line) for line in data.splitlines())
