"""Parts of the sealed process: vault, registry, weights, grading, the socket's end."""

import importlib.metadata
import json
import os
import shutil
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from rsi_master.core.artifact import AnyRow
from rsi_master.core.canonical import digest
from rsi_master.core.errors import Broken, Misuse, PolicyDenied, SealUnavailable
from rsi_master.core.score import Drawn, Scored, Split
from rsi_master.core.sealed_wire import FRAME_LIMIT, FrameReader, frame
from rsi_master.domains.training.tensors import Unreadable
from rsi_master.programs.sealed import protocol
from rsi_master.programs.sealed.benchmark import Base, Decoding, Grade, Item, Question
from rsi_master.programs.sealed.channel import Channel, OwnerGoneError
from rsi_master.programs.sealed.grading import answer, summarise
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.protocol import protocol_digest
from rsi_master.programs.sealed.registry import Registry
from rsi_master.programs.sealed.vault import load, read_base, seal
from rsi_master.programs.sealed.weights import Weights
from rsi_master.testing.disk import full_disk
from rsi_master.testing.sketch import SKETCH, Sketch, SketchModel, write_checkpoint


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "base", 0.5)


@pytest.fixture
def folder(tmp_path: Path, base: Path) -> Path:
    counts: dict[Drawn, int] = {"dev": 6, "holdout": 6, "practice": 3}
    return seal(SKETCH, read_base(base), counts, tmp_path, secret=b"s" * 32)


def test_a_sealed_set_reads_back(folder: Path, base: Path) -> None:
    vault = load(folder, base)
    assert {split: len(items) for split, items in vault.items.items()} == {
        "dev": 12,
        "confirm": 0,
        "holdout": 12,
        "twin": 0,
    }
    ids = [item.id for items in vault.items.values() for item in items]
    assert len(set(ids)) == 24
    assert folder.name == vault.manifest.public.digest.removeprefix("sha256:")[:16]
    assert vault.manifest.public.suite == digest(SKETCH.grader_source())
    assert vault.manifest.holds == {
        "sketch/clean": "rows",
        "sketch/few": "rows",
        "sketch/scraped": "rows",
        "sketch/prompts": "prompts",
        "sketch/pairs": "pairs",
    }


def test_a_source_holds_rows_of_one_kind(tmp_path: Path, base: Path) -> None:
    class Careless(Sketch):
        def pools(
            self, secret: bytes, drawn: Mapping[Split, Sequence[Question]]
        ) -> Mapping[str, list[AnyRow]]:
            found = super().pools(secret, drawn)
            return {"mixed": [*found["sketch/prompts"], *found["sketch/pairs"]], "none": []}

    with pytest.raises(Misuse, match="source mixed holds pairs and prompts"):
        seal(Careless(), read_base(base), {"dev": 6}, tmp_path / "home")
    assert not list((tmp_path / "home").rglob("*"))


def test_a_set_that_does_not_fit_on_the_disk_leaves_nothing(base: Path, tmp_path: Path) -> None:
    with full_disk(100), pytest.raises(Broken, match="File too large; free or repair the disk"):
        seal(SKETCH, read_base(base), {"dev": 6}, tmp_path)
    assert list((tmp_path / "sealed").iterdir()) == []


def test_practice_questions_lie_beside_the_items(folder: Path, base: Path) -> None:
    vault = load(folder, base)
    assert vault.manifest.public.practice == len(vault.practice) == 6
    assert set(vault.manifest.public.sizes) == {"dev", "confirm", "holdout", "twin"}
    sealed = {item.prompt for items in vault.items.values() for item in items}
    assert not {item.prompt for item in vault.practice} & sealed
    ids = [item.id for items in (*vault.items.values(), vault.practice) for item in items]
    assert len(set(ids)) == len(ids)


def test_a_question_that_is_drawn_for_both_stays_sealed(tmp_path: Path, base: Path) -> None:
    class Careless(Sketch):
        def practice(
            self, secret: bytes, drawn: Mapping[Split, Sequence[Question]], count: int
        ) -> list[Question]:
            return [*drawn["dev"], *super().practice(secret, drawn, count)]

    folder = seal(Careless(), read_base(base), {"dev": 6, "practice": 2}, tmp_path / "home")
    vault = load(folder, base)
    assert len(vault.practice) == vault.manifest.public.practice == 4
    assert not {i.prompt for i in vault.practice} & {i.prompt for i in vault.items["dev"]}


def test_a_set_that_was_sealed_before_there_was_practice_is_served(
    folder: Path, base: Path
) -> None:
    (folder / "practice.jsonl").unlink()
    told = json.loads((folder / "set.json").read_text())
    del told["practice"], told["public"]["practice"]
    (folder / "set.json").write_text(json.dumps(told))
    vault = load(folder, base)
    assert (vault.practice, vault.manifest.public.practice) == ((), 0)


def test_digest_and_ids_are_salted(tmp_path: Path, base: Path, folder: Path) -> None:
    other = seal(SKETCH, read_base(base), {"dev": 6}, tmp_path, secret=b"t" * 32)
    first, second = load(folder, base), load(other, base)
    assert first.manifest.public.digest != second.manifest.public.digest
    assert not {i.id for i in first.items["dev"]} & {i.id for i in second.items["dev"]}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("items.dev.jsonl", b"reference", b"referenze"),
        ("items.holdout.jsonl", b'"task":"add"', b'"task":"Add"'),
        ("secret", b"ss", b"st"),
        ("pool.sketch.clean.jsonl", b"Q: add", b"Q: sub"),
        ("set.json", b'"sketch"', b'"sketch" "'),
        ("practice.jsonl", b"Q: add", b"Q: sub"),
    ],
)
def test_a_changed_file_is_found(
    folder: Path, base: Path, file: str, old: bytes, new: bytes
) -> None:
    data = (folder / file).read_bytes()
    assert old in data
    (folder / file).write_bytes(data.replace(old, new, 1))
    with pytest.raises(SealUnavailable) as damaged:
        load(folder, base)
    assert damaged.value.code == "SEAL_DAMAGED"


def test_a_missing_file_and_another_base_are_named(
    folder: Path, base: Path, tmp_path: Path
) -> None:
    with pytest.raises(SealUnavailable, match="not the base"):
        load(folder, write_checkpoint(tmp_path / "other", 0.6))
    (folder / "secret").unlink()
    with pytest.raises(SealUnavailable, match="secret: No such file"):
        load(folder, base)


def test_the_protocol_covers_grader_decoding_and_tokenizer(base: Path) -> None:
    class LaxGrader(Sketch):
        def grader_source(self) -> bytes:
            return b"all is right"

    class LongDecoding(Sketch):
        decoding = Decoding(max_new_tokens=17, batch_size=32)

    found = read_base(base)
    tokenizer = Base({**found.files, "tokenizer.json": b"{}"}, found.weights)
    digests = {
        protocol_digest(SKETCH, found),
        protocol_digest(LaxGrader(), found),
        protocol_digest(LongDecoding(), found),
        protocol_digest(SKETCH, tokenizer),
    }
    assert len(digests) == 4


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with copies of the packages that the protocol covers."""
    copies = []
    for package in protocol._PACKAGES:
        copies.append(tmp_path / "src" / package.name)
        shutil.copytree(package, copies[-1])
    monkeypatch.setattr(protocol, "_PACKAGES", tuple(copies))
    return tmp_path / "src"


@pytest.mark.parametrize(
    "file", ["sealed/generation.py", "sealed/grading.py", "sealed/weights.py", "stats/intervals.py"]
)
def test_the_protocol_covers_the_source_of_the_evaluator(
    sources: Path, base: Path, file: str
) -> None:
    found = read_base(base)
    before = protocol_digest(SKETCH, found)
    with (sources / file).open("a", encoding="utf-8") as source:
        source.write("# changed\n")
    assert protocol_digest(SKETCH, found) != before


def test_the_protocol_is_that_of_the_source_wherever_it_lies(
    base: Path, request: pytest.FixtureRequest
) -> None:
    before = protocol_digest(SKETCH, read_base(base))
    request.getfixturevalue("sources")
    assert protocol_digest(SKETCH, read_base(base)) == before


@pytest.mark.parametrize(("library", "covered"), [("torch", True), ("rich", False)])
def test_the_protocol_covers_the_versions_of_what_the_benchmark_uses(
    base: Path, monkeypatch: pytest.MonkeyPatch, library: str, covered: bool
) -> None:
    found, installed = read_base(base), importlib.metadata.version
    before = protocol_digest(NANO, found)
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "9.9" if name == library else installed(name)
    )
    assert (protocol_digest(NANO, found) != before) == covered


def test_openings_are_counted_over_processes_and_a_torn_one_is_none(tmp_path: Path) -> None:
    Registry(tmp_path, 2).open("a", "sha256:1")
    with (tmp_path / "openings.jsonl").open("ab") as file:
        file.write(b'{"name":"torn","wei')
    other = Registry(tmp_path, 2)
    other.open("a", "sha256:1")
    other.open("b", "sha256:2")
    with pytest.raises(PolicyDenied, match="2 of 2 times, by a, b"):
        Registry(tmp_path, 2).open("c", "sha256:3")
    assert len((tmp_path / "openings.jsonl").read_bytes().splitlines()) == 2


def test_an_unreadable_registry_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "openings.jsonl").write_bytes(b"nonsense\n")
    with pytest.raises(SealUnavailable, match=r"openings\.jsonl"):
        Registry(tmp_path, 5).open("a", "sha256:1")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_a_number_and_infinity_are_found_in_every_dtype(dtype: type, value: float) -> None:
    fine = Weights.parse(save({"w": np.array([0.0, -1.5, np.finfo(dtype).max], dtype)}))
    odd = Weights.parse(save({"w": np.array([0.0, -1.5, value], dtype)}))
    assert fine.misfit(fine) is None
    assert odd.misfit(fine) == "NOT_FINITE"


def test_the_digest_of_weights_sees_name_shape_dtype_and_value() -> None:
    values = np.array([1, 2, 3, 4], np.float32)
    variants: list[dict[str, np.ndarray]] = [
        {"w": values},
        {"v": values},
        {"w": values.reshape(2, 2)},
        {"w": values.view(np.int32)},
        {"w": values + 1},
        {"w": values, "z": values[:1]},
    ]
    assert len({Weights.parse(save(tensors)).digest() for tensors in variants}) == len(variants)
    reordered = Weights.parse(save({"b": values, "a": values}))
    assert reordered.digest() == Weights.parse(save({"a": values, "b": values})).digest()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\xff" * 64, b"\x08" + b"\0" * 7 + b"{}"])
def test_other_bytes_are_no_weights(data: bytes) -> None:
    with pytest.raises(Unreadable, match="safetensors"):
        Weights.parse(data)


class BrittleGrader(Sketch):
    def grade(self, item: Item, output: str) -> Grade:
        if item.task == "add":
            raise ZeroDivisionError(item.reference)
        return super().grade(item, output)


class BrittleModel(SketchModel):
    """Fails on every batch that `fails` says; counts what it was asked."""

    def __init__(self, fails: Callable[[Sequence[str], int], bool]) -> None:
        super().__init__(Weights.parse(save({"skill": np.ones(1, np.float32)})))
        self._fails = fails
        self._calls = 0

    def complete(self, prompts: Sequence[str]) -> list[str]:
        self._calls += 1
        if self._fails(prompts, self._calls):
            raise RuntimeError("CUDA error")
        return super().complete(prompts)


def test_an_error_is_zero_points_and_stays_in_n(folder: Path, base: Path) -> None:
    vault = load(folder, base)
    model = SketchModel(Weights.parse(save({"skill": np.ones(1, np.float32)})))
    score = summarise("dev", answer(BrittleGrader(), model, vault.items["dev"], lambda: None))
    assert score.counts == {"right": 6, "wrong": 0, "no_answer": 0, "error": 6}
    assert isinstance(score.average, Scored)
    assert (score.average.value, score.average.n) == (0.5, 12)


class SmallBatches(Sketch):
    decoding = Decoding(max_new_tokens=16, batch_size=11)


@pytest.mark.parametrize("position", [0, 5, 11])
def test_an_item_that_fails_alone_is_an_error_and_the_others_are_scored(
    folder: Path, base: Path, position: int
) -> None:
    """Of twelve items in batches of eleven and one."""
    items = load(folder, base).items["dev"]
    odd = sorted(items, key=lambda item: (len(item.prompt), item.id))[position].prompt
    model = BrittleModel(lambda prompts, _: odd in prompts)
    verdicts = answer(SmallBatches(), model, items, lambda: None)
    assert summarise("dev", verdicts).counts == {
        "right": 11,
        "wrong": 0,
        "no_answer": 0,
        "error": 1,
    }


def test_a_batch_too_large_for_the_device_is_answered_one_by_one(folder: Path, base: Path) -> None:
    items = load(folder, base).items["dev"]
    model = BrittleModel(lambda prompts, _: len(prompts) > 1)
    verdicts = answer(SKETCH, model, items, lambda: None)
    assert summarise("dev", verdicts).counts["right"] == 12


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param(lambda prompts, call: True, id="from the start"),
        pytest.param(lambda prompts, call: call > 1, id="after the first batch"),
        pytest.param(lambda prompts, call: call in (1, *range(7, 99)), id="amid the second pass"),
        pytest.param(lambda prompts, call: "add" in prompts[0], id="on one kind of batch"),
    ],
)
def test_a_failing_device_is_no_wrong_answer(
    folder: Path, base: Path, fails: Callable[[Sequence[str], int], bool]
) -> None:
    """Points that a device lost would widen the gain of the other checkpoint."""

    class OneTask(Sketch):
        decoding = Decoding(max_new_tokens=16, batch_size=6)

    items = load(folder, base).items["dev"]
    with pytest.raises(SealUnavailable) as failed:
        answer(OneTask(), BrittleModel(fails), items, lambda: None)
    assert failed.value.code == "GENERATION_FAILED"


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 7))
def test_frames_survive_any_cut(bodies: list[bytes], size: int) -> None:
    stream = b"".join(frame(body) for body in bodies)
    reader, found = FrameReader(), []
    for start in range(0, len(stream), size):
        body = reader.feed(stream[start : start + size])
        while body is not None:
            found.append(body)
            body = reader.feed(b"")
    assert found == bodies


def test_an_oversize_frame_is_refused_before_it_is_read() -> None:
    owner, ours = socket.socketpair()
    with owner, ours:
        owner.sendall(struct.pack(">I", FRAME_LIMIT + 1))
        with pytest.raises(Broken, match=str(FRAME_LIMIT + 1)):
            Channel(ours).receive()
    with pytest.raises(Misuse, match="fewer rows"):
        frame(b"x" * (FRAME_LIMIT + 1))


def test_the_end_of_the_stream_is_the_end_of_the_owner() -> None:
    owner, ours = socket.socketpair()
    with ours:
        Channel(ours).check()
        owner.close()
        with pytest.raises(OwnerGoneError):
            Channel(ours).check()
        with pytest.raises(OwnerGoneError):
            Channel(ours).receive()


@pytest.mark.parametrize("mode", [os.O_RDWR, os.O_WRONLY])
def test_a_writable_descriptor_is_no_checkpoint(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"w")
    descriptor = os.open(path, mode)
    with pytest.raises(Misuse, match="read-only"):
        received(descriptor)


def test_a_pipe_is_no_checkpoint_and_nothing_is_none() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with pytest.raises(Misuse, match="plain file"):
        received(reading)
    with pytest.raises(Misuse, match="0 descriptors"):
        received()


def received(*descriptors: int) -> list[bytes]:
    owner, ours = socket.socketpair()
    with owner, ours:
        socket.send_fds(owner, [frame(b"{}")], list(descriptors))
        for descriptor in descriptors:
            os.close(descriptor)
        with Channel(ours).receive() as found:
            return found.checkpoints(1)
