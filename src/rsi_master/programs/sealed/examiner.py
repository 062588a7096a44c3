"""Answers the requests of the owner from a loaded vault; knows no socket."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rsi_master.core.artifact import AnyRow
from rsi_master.core.canonical import digest
from rsi_master.core.errors import Misuse
from rsi_master.core.probe import PracticeAnswer, ProbeResult, Window
from rsi_master.core.score import (
    ClaimResult,
    EvaluationResult,
    ItemVerdict,
    PairedDifference,
    Split,
    SplitScore,
)
from rsi_master.core.sealed import Points, ScanReport, SealedSet
from rsi_master.domains.training.tensors import Unreadable
from rsi_master.programs.sealed import verifying
from rsi_master.programs.sealed.benchmark import Base, Item, Model
from rsi_master.programs.sealed.grading import answer, summarise, unscored
from rsi_master.programs.sealed.registry import Registry
from rsi_master.programs.sealed.scanner import Scanner
from rsi_master.programs.sealed.vault import Vault
from rsi_master.programs.sealed.weights import Unfit, Weights
from rsi_master.stats.paired import paired_difference

EVALUATED: tuple[Split, ...] = ("dev", "confirm")
CLAIMED: Split = "holdout"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that was handed over: its tensors when they can be scored, else the reason."""

    digest: str
    weights: Weights | None
    unfit: Unfit | Literal["UNREADABLE_WEIGHTS"] | None = None


class Examiner:
    """The sealed side of the port; threads generate in turns, everything else goes on meanwhile.

    `between` is called before each batch of generation.
    """

    def __init__(
        self, vault: Vault, registry: Registry, between: Callable[[], None] = lambda: None
    ) -> None:
        self._vault = vault
        self._registry = registry
        self._between = between
        self._model: Model | None = None
        self._generating = threading.Lock()
        items = [item for found in vault.items.values() for item in found]
        self._scanner = Scanner(items, control_tokens(vault.base))
        self._verifier = verifying.load(vault.manifest.public.verifier)

    def prepare(self) -> None:
        """Import what generation needs and answer one prompt, so that nothing is loaded later."""
        self._loaded().complete([self._any_prompt()])

    def open(self) -> SealedSet:
        """The public description of the set."""
        return self._vault.manifest.public

    def scan(self, rows: tuple[AnyRow, ...]) -> ScanReport:
        """Which rows may become data."""
        return self._scanner.scan(rows)

    def pool(self, source: str) -> tuple[AnyRow, ...]:
        """The rows of a source; raises Misuse with the sources that there are."""
        if source not in self._vault.pools:
            names = ", ".join(sorted(self._vault.pools))
            raise Misuse("NO_SOURCE", f"source {source!r} is not in the sealed set; it has {names}")
        return self._vault.pools[source]

    def verify(self, rows: tuple[AnyRow, ...]) -> tuple[Points, ...]:
        """What the open verifier says of each row's answers. A prompt that repeats a sealed
        question is unknown, whatever the verifier says: no filter tells what is right on an exam.
        """
        if self._verifier is None:
            raise Misuse("NO_VERIFIER", f"benchmark {self.open().benchmark} has no open verifier")
        return tuple(self._points(self._verifier, row) for row in rows)

    def _points(self, verifier: verifying.Verifier, row: AnyRow) -> Points:
        if self._scanner.asks(row.prompt):
            return (None,) * len(row.answers())
        return tuple(verifying.points(verifier, row.prompt, answer) for answer in row.answers())

    def evaluate(self, splits: tuple[Split, ...], data: bytes) -> EvaluationResult:
        """Score a checkpoint on dev or confirm; the holdout is for `claim` alone."""
        closed = [split for split in splits if split not in EVALUATED or not self._has(split)]
        if closed:
            raise Misuse("SPLIT_CLOSED", f"{closed} cannot be evaluated; ask for dev or confirm")
        started = time.monotonic()
        checkpoint = self._checkpoint(data)
        marked = {split: self._marked(split, checkpoint) for split in dict.fromkeys(splits)}
        return EvaluationResult(
            scores=tuple(score for score, _ in marked.values()),
            items={split: verdicts for split, (_, verdicts) in marked.items() if verdicts},
            weights=checkpoint.digest,
            protocol=self.open().protocol,
            seconds=time.monotonic() - started,
            batch_size=self._vault.benchmark.decoding.batch_size,
        )

    def probe(self, window: Window, data: bytes) -> ProbeResult:
        """What a checkpoint answers to open practice questions. Raises Misuse where the window
        holds none, or for weights that do not fit the base."""
        started = time.monotonic()
        practice = self._vault.practice
        found = [item for item in practice if window.task in (None, item.task)]
        asked = found[window.start : window.start + window.count]
        if not asked:
            of = f" of {window.task}" if window.task else ""
            raise Misuse("NO_PRACTICE", f"there are {len(found)} practice questions{of}")
        checkpoint = self._checkpoint(data)
        if checkpoint.weights is None:
            raise Misuse("UNFIT_WEIGHTS", f"the checkpoint cannot answer: {checkpoint.unfit}")
        verdicts = self._answered(asked, checkpoint.weights)
        return ProbeResult(
            answers=tuple(map(self._open_answer, asked, verdicts)),
            total=len(found),
            weights=checkpoint.digest,
            protocol=self.open().protocol,
            seconds=time.monotonic() - started,
        )

    def _open_answer(self, item: Item, verdict: ItemVerdict) -> PracticeAnswer:
        held = self._scanner.asks(verdict.output)
        return PracticeAnswer(
            question=item.id,
            task=item.task,
            prompt=item.prompt,
            reference=item.reference,
            output=None if held else verdict.output,
            extracted=None if held else verdict.extracted,
            verdict=verdict.verdict,
            points=verdict.points,
        )

    def claim(self, name: str, champion: bytes, base: bytes) -> ClaimResult:
        """Count the opening, then score champion and base on the holdout.

        A champion that cannot be scored opens nothing. Raises Misuse for another base.
        """
        started = time.monotonic()
        pinned, offered = self._checkpoint(base), self._checkpoint(champion)
        if not self._has(CLAIMED):
            raise Misuse("SPLIT_CLOSED", "the sealed set has no holdout; seal one with a holdout")
        if pinned.digest != self.open().base:
            raise Misuse("NOT_THE_BASE", f"{pinned.digest} is not the base of the sealed set")
        if offered.weights is not None:
            self._registry.open(name, offered.digest)
        before, base_verdicts = self._marked(CLAIMED, pinned)
        after, verdicts = self._marked(CLAIMED, offered)
        return ClaimResult(
            champion=after,
            base=before,
            difference=_difference(base_verdicts, verdicts) if verdicts else None,
            weights=offered.digest,
            protocol=self.open().protocol,
            seconds=time.monotonic() - started,
        )

    def _has(self, split: Split) -> bool:
        return bool(self._vault.items[split])

    def _checkpoint(self, data: bytes) -> Checkpoint:
        try:
            weights = Weights.parse(data)
        except Unreadable:
            return Checkpoint(digest(data), None, "UNREADABLE_WEIGHTS")
        unfit = weights.misfit(self._vault.base.weights)
        return Checkpoint(weights.digest(), None if unfit else weights, unfit)

    def _marked(
        self, split: Split, checkpoint: Checkpoint
    ) -> tuple[SplitScore, tuple[ItemVerdict, ...]]:
        if checkpoint.weights is None:
            return unscored(split, self.open().tasks, str(checkpoint.unfit)), ()
        verdicts = self._answered(self._vault.items[split], checkpoint.weights)
        return summarise(split, verdicts), verdicts

    def _answered(self, items: Sequence[Item], weights: Weights) -> tuple[ItemVerdict, ...]:
        with self._generating:
            model = self._loaded()
            model.load(weights)
            return answer(self._vault.benchmark, model, items, self._between)

    def _loaded(self) -> Model:
        if self._model is None:
            self._model = self._vault.benchmark.model(self._vault.base)
        return self._model

    def _any_prompt(self) -> str:
        return next(item.prompt for found in self._vault.items.values() for item in found)


def control_tokens(base: Base) -> tuple[str, ...]:
    """The special tokens of the base's tokenizer, none without a tokenizer.json."""
    tokenizer = json.loads(base.files.get("tokenizer.json", b"{}"))
    return tuple(
        token["content"] for token in tokenizer.get("added_tokens", ()) if token["special"]
    )


def _difference(
    base: tuple[ItemVerdict, ...], champion: tuple[ItemVerdict, ...]
) -> PairedDifference:
    found = paired_difference(
        [verdict.points for verdict in base],
        [verdict.points for verdict in champion],
        [verdict.task for verdict in base],
        [verdict.drawn_with() for verdict in base],
    )
    return PairedDifference(
        mean=found.mean,
        low=found.low,
        high=found.high,
        p=found.p,
        n=found.n,
        discordant=found.discordant,
    )
