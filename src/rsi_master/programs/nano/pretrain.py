"""Rebuild the embedded base: `python -m rsi_master.programs.nano.pretrain --out DIR`.

One thread, seeded; processor types differ in the last bits, so a rebuild is judged by its scores
and not by its digests. Nothing is saved of a training that the limit of minutes ends: the rates
reach zero at the last step, and a base that was cut short is another base.

Exit code 1 for a training over its minutes, 2 for wrong use, a folder that is not empty or one that
another pre-training holds, 7 where the base could not be saved; then the folder is empty as before.
"""

import argparse
import fcntl
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Final, NoReturn, get_args

import torch
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

from rsi_master.programs.nano import tokenizer as pieces
from rsi_master.programs.nano.generator.corpus import Phase, documents
from rsi_master.programs.nano.muon import Muon

ROWS: Final = 16
LENGTH: Final = 128
BUFFERED: Final = 24
WARMUP: Final = 40
DECAY_FROM: Final = 0.35
IGNORED: Final = -100
HEAD: Final = 32
REPORT_EVERY: Final = 100
DRAFT: Final = ".draft"
"""Where a base is written, in its folder, until it is whole."""
SEEDS: Final = range(-(2**63), 2**64)
"""What torch takes."""
BROKEN: Final = 7
MINUTES: Final = 20.0
"""What a rebuild costs at most, in CPU time; a slower machine must be given more by name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a base; heads are 32 wide."""

    hidden: int
    layers: int
    inner: int


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "base": Shape(hidden=128, layers=3, inner=320),
        "narrow": Shape(hidden=96, layers=4, inner=256),
    }
)
"""The embedded base, and a second one for tests that must not be tuned to one."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What one pre-training costs and how fast it learns; `matrix_rate` is Muon's.

    In the last `questions` steps many documents are questions with a bare answer.
    """

    steps: int = 2800
    questions: int = 300
    matrix_rate: float = 0.02
    rate: float = 4e-3
    seed: int = 1

    def factor(self, step: int) -> float:
        """Return the share of the full rate at `step`: warm-up, plateau, linear decay to zero."""
        decay = (self.steps - step) / (self.steps * (1 - DECAY_FROM))
        return min(1.0, (step + 1) / WARMUP, decay)

    def phase(self, step: int) -> Phase:
        """Return what is read at `step`."""
        return "questions" if step >= self.steps - self.questions else "knowledge"


def configuration(shape: Shape) -> Qwen3Config:
    """Return the Qwen3 configuration of a shape, with tied embeddings."""
    return Qwen3Config(
        vocab_size=len(pieces.VOCABULARY),
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.hidden // HEAD,
        num_key_value_heads=shape.hidden // HEAD,
        head_dim=HEAD,
        max_position_embeddings=pieces.CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=pieces.PAD_ID,
        bos_token_id=pieces.BEGIN_ID,
        eos_token_id=pieces.END_ID,
    )


def batches(schedule: Schedule) -> Iterator[torch.Tensor]:
    """Yield (ROWS, LENGTH) ids of whole documents, each ended, the rest of a row padded."""
    encoded: dict[Phase, Iterator[list[int]]] = {
        phase: _encoded(Random(f"{schedule.seed} {phase}"), phase) for phase in get_args(Phase)
    }
    waiting: list[list[int]] = []
    for step in range(schedule.steps):
        source = encoded[schedule.phase(step)]
        yield torch.tensor([_row(source, waiting) for _ in range(ROWS)])


def _encoded(rng: Random, phase: Phase) -> Iterator[list[int]]:
    tokens = pieces.build()
    for text in documents(rng, phase):
        yield [*tokens.encode(text).ids, pieces.END_ID]


def _row(encoded: Iterator[list[int]], waiting: list[list[int]]) -> list[int]:
    """Fill one row with the first documents that fit, from a buffer that is topped up first."""
    waiting.extend(islice(encoded, BUFFERED - len(waiting)))
    row: list[int] = []
    for ids in list(waiting):
        if len(row) + len(ids) <= LENGTH:
            row += ids
            waiting.remove(ids)
    return row + [pieces.PAD_ID] * (LENGTH - len(row))


def train(shape: Shape, schedule: Schedule, minutes: float) -> Qwen3ForCausalLM:
    """Train from scratch for `schedule.steps`; raise TimeoutError after `minutes` of CPU time."""
    torch.manual_seed(schedule.seed)
    model = Qwen3ForCausalLM(configuration(shape)).train()
    matrices, rest = _divided(model)
    muon = Muon(matrices)
    adam = torch.optim.AdamW(rest, lr=schedule.rate, betas=(0.9, 0.95), weight_decay=0.0)
    started = time.process_time()
    for step, ids in enumerate(batches(schedule)):
        labels = ids.masked_fill(ids == pieces.PAD_ID, IGNORED)
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step(schedule.matrix_rate * schedule.factor(step))
        adam.param_groups[0]["lr"] = schedule.rate * schedule.factor(step)
        adam.step()
        model.zero_grad(set_to_none=True)
        spent = time.process_time() - started
        if step % REPORT_EVERY == 0:
            print(f"step {step} loss {loss.item():.4f} cpu {spent:.0f} s", flush=True)
        if spent > minutes * 60:
            raise TimeoutError(
                f"pretrain: step {step} of {schedule.steps} when {minutes:g} CPU minutes are over; "
                "nothing is saved, allow more with --minutes"
            )
    return model.eval()


def _divided(model: Qwen3ForCausalLM) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the matrices of the layers, for Muon, and the embeddings and norms, for AdamW."""
    matrices = [weight for weight in model.model.layers.parameters() if weight.ndim == 2]
    chosen = {id(weight) for weight in matrices}
    return matrices, [weight for weight in model.parameters() if id(weight) not in chosen]


def save(model: Qwen3ForCausalLM, folder: Path) -> None:
    """Write weights, configuration and tokenizer of the base into `folder`.

    Not whole after a failure, and what is raised then is not OSError alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.generation_config = GenerationConfig(
        do_sample=False,
        pad_token_id=pieces.PAD_ID,
        bos_token_id=pieces.BEGIN_ID,
        eos_token_id=pieces.END_ID,
    )
    model.save_pretrained(folder)
    pieces.save(folder)


@contextmanager
def claimed(out: Path) -> Iterator[Path]:
    """Hold the folder for one base, and yield a new one in it to write the base to.

    Raises ValueError where there is a base or another process holds the folder, and OSError where
    it cannot be written. What a process that was killed left of a draft is removed.
    """
    out.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, out)
        if any(entry.name != DRAFT for entry in out.iterdir()):
            raise ValueError(f"{out} is not empty; name a new folder: a base has one record")
        draft = out / DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, out: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as cause:
        raise ValueError(f"another pre-training holds {out}; name another folder") from cause


class _Parser(argparse.ArgumentParser):
    """Tells in one line what is wrong with the command line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"pretrain: {message}\n")


def _minutes(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is no limit; give minutes above 0")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if value not in SEEDS:
        raise argparse.ArgumentTypeError(
            f"{text} is no seed; give a number from {SEEDS[0]} to {SEEDS[-1]}"
        )
    return value


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a new folder")
    return Path(text)


def main() -> None:
    """Parse the command line, train and save."""
    parser = _Parser(description=__doc__)
    parser.add_argument("--out", type=_folder, required=True, help="folder for the new base")
    parser.add_argument("--shape", choices=tuple(SHAPES), default="base")
    parser.add_argument("--minutes", type=_minutes, default=MINUTES, help="limit of CPU minutes")
    parser.add_argument("--seed", type=_seed, default=1)
    asked = parser.parse_args()
    with ExitStack() as held:
        try:
            draft = held.enter_context(claimed(asked.out))
        except ValueError as cause:
            parser.error(str(cause))
        except OSError as cause:
            parser.error(f"{asked.out}: {cause.strerror}; name a folder that can be written")
        torch.set_num_threads(1)
        try:
            model = train(SHAPES[asked.shape], Schedule(seed=asked.seed), asked.minutes)
        except TimeoutError as cause:
            raise SystemExit(str(cause)) from cause
        _saved(model, draft, asked.out)


def _saved(model: Qwen3ForCausalLM, draft: Path, out: Path) -> None:
    try:
        save(model, draft)
        for file in sorted(draft.iterdir()):
            file.rename(out / file.name)
    except Exception as cause:  # tokenizers and safetensors raise their own
        told = " ".join(str(cause).split())
        print(
            f"pretrain: {out} could not be saved: {told}; nothing is left there, make room for it "
            "and run again",
            file=sys.stderr,
        )
        raise SystemExit(BROKEN) from cause


if __name__ == "__main__":
    main()
