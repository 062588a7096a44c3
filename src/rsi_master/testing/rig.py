"""A rig: a whole run on fakes, driven by hand. Its roles act through the real gateway; experiments
advance only in `settle`."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rsi_master.agents.playbook.replication import replica
from rsi_master.app.catalog import catalogue
from rsi_master.app.plugins import recipes
from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.contract import Contract
from rsi_master.core.event import Event, Fact
from rsi_master.core.facts import CODEC
from rsi_master.core.model import Value
from rsi_master.core.run import OwnerStarted, RunOpened
from rsi_master.core.score import Drawn
from rsi_master.core.state import State
from rsi_master.core.warm import JobTier
from rsi_master.domains.data.actions import DatasetView
from rsi_master.domains.data.running import PROGRAMS as CODE
from rsi_master.domains.planning.workers import Assignment, WorkerRef
from rsi_master.domains.review.actions import RequestedView
from rsi_master.domains.training.lifecycle import RecipeTrainer, programs
from rsi_master.domains.training.views import HandleView, WorkerExperimentView
from rsi_master.expos.catalogue import Catalogue
from rsi_master.expos.engine import Engine
from rsi_master.expos.gateway import LocalGateway, Parts, Session
from rsi_master.expos.ledger import Ledger, Stamp
from rsi_master.expos.making import Making
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Signer
from rsi_master.expos.plant import Plant
from rsi_master.expos.probing import Probing
from rsi_master.expos.tokens import Tokens
from rsi_master.programs.sealed.benchmark import Item
from rsi_master.programs.sealed.vault import load, read_base, seal
from rsi_master.testing.compute import FakeCompute
from rsi_master.testing.samples import SAMPLERS
from rsi_master.testing.sealed import FakeSealed
from rsi_master.testing.sketch import SKETCH, write_checkpoint
from rsi_master.testing.stores import (
    CountedIds,
    ManualClock,
    MemoryEvents,
    MemoryNotes,
    MemoryObjects,
)

BASE_SKILL = 0.2
SECONDS = 20.0
TICK_SECONDS = 0.002
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
Kind = TypeVar("Kind", bound=Fact)
Section = Mapping[str, object]


def sketch_contract(**sections: Section | str | int) -> Contract:
    """A contract on the sketch benchmark; a section given changes only the keys that it names."""
    plain: dict[str, Section | str | int] = {
        "name": "rig",
        "target": "reverse words and add numbers",
        "base": {"name": "sketch", "digest": "sha256:" + "0" * 64},
        "evaluator": {
            "benchmark": "sketch",
            "dev": 30,
            "confirm": 40,
            "holdout": 30,
            "seconds": 20,
        },
        "budget": {
            "device_seconds": 1000,
            "wall_seconds": 300,
            "evaluations": 60,
            "experiments": 10,
        },
        "policy": {"recipes": ["sketch"], "sources": ["sketch/clean", "sketch/scraped"]},
    }
    for name, given in sections.items():
        known = plain.get(name, {})
        merged = isinstance(given, Mapping) and isinstance(known, Mapping)
        plain[name] = {**known, **given} if merged else given  # type: ignore[dict-item]
    return Contract.model_validate(plain)


class Rig:
    """The parts of a run, opened and with its base known; `close` ends it."""

    def __init__(
        self,
        folder: Path,
        contract: Contract | None = None,
        compute: type[FakeCompute] = FakeCompute,
        store: MemoryEvents | None = None,
        followers: tuple[Callable[[Event], None], ...] = (),
        tier: JobTier = "none",
    ) -> None:
        self.tier: JobTier = tier
        self.contract = contract or sketch_contract()
        self.base = write_checkpoint(folder / "base", BASE_SKILL)
        self.recipes = recipes(self.contract.policy.recipes)
        self.catalogue: Catalogue = catalogue(self.recipes)
        self.objects = MemoryObjects()
        self.vault = self._seal(folder)
        self.sealed = FakeSealed(self.vault, self.base)
        self.clock = ManualClock()
        self.ids = CountedIds()
        self.store = store or MemoryEvents()
        self.state = State.under(self.contract)
        self.lock = threading.RLock()
        self.tokens = Tokens(folder / "tokens.json")
        self.probing = Probing()
        self.making = Making()
        self.followers = (self.state.apply, *followers)
        self.ledger = self._ledger()
        self.gateway = LocalGateway(self.parts(self.catalogue), self.lock)
        trained = programs(self.recipes, merging=self.contract.policy.merging)
        known = {**trained, **SAMPLERS, **CODE}
        slots = self.contract.devices.slots
        self.compute = compute(folder / "spool", self.objects, known, slots=slots)
        self.wake = threading.Event()
        scratch = folder / "scratch"
        scratch.mkdir()
        self.engine = Engine(self._plant(scratch), self.lock, self.wake.set)
        self.ledger.append(OS, self._opening()).wait()

    def close(self) -> None:
        """End engine, compute and ledger."""
        self.engine.close()
        self.compute.close()
        self.ledger.close()

    def session(self, role: Role, node: str) -> Session:
        """The gateway under a fresh token."""
        caller = Caller(role=role, node=node, actor="rig")
        return Session(self.gateway, self.tokens.issue(caller))

    def main(self) -> Session:
        """Main's session."""
        return self.session(Role.MAIN, "main")

    def worker(self, node: str) -> Session:
        """A Worker's session."""
        return self.session(Role.WORKER, node)

    def reviewer(self, node: str) -> Session:
        """A Reviewer's session."""
        return self.session(Role.REVIEWER, node)

    def operator(self) -> Session:
        """A person's session."""
        return self.session(Role.OPERATOR, "operator")

    def events(self) -> tuple[Event, ...]:
        """Everything recorded so far."""
        self.ledger.append(OS, ()).wait()
        return tuple(self.ledger.events())

    def facts(self, kind: type[Kind]) -> list[Kind]:
        """All recorded facts of a kind, oldest first."""
        return [event.fact for event in self.events() if isinstance(event.fact, kind)]

    def tick(self) -> None:
        """One round of the engine."""
        self.engine.tick()

    def settle(self) -> None:
        """Let the engine work until nothing is out and nothing waits."""
        limit = time.monotonic() + SECONDS
        while self.state.unfinished() or self.engine.busy():
            assert time.monotonic() < limit, "the engine does not come to rest"
            self.tick()
            self.wake.wait(TICK_SECONDS)

    def while_working(self, act: Callable[[], Value]) -> Value:
        """Let the engine work while an action waits for it; the action's answer."""
        limit = time.monotonic() + SECONDS
        with ThreadPoolExecutor(1) as caller:
            answer = caller.submit(act)
            while not answer.done():
                assert time.monotonic() < limit, "the action gets no answer"
                self.tick()
                self.wake.wait(TICK_SECONDS)
        return answer.result()

    def probe(self, node: str, experiment: str = "base", **window: object) -> Value:
        """A Worker puts practice questions to a checkpoint."""
        session = self.worker(node)
        return self.while_working(
            lambda: session.act("experiment.probe", experiment=experiment, **window)
        )

    def sample(self, node: str, dataset: str, **arguments: object) -> Value:
        """A Worker has answers drawn to the prompts of a dataset."""
        session = self.worker(node)
        return self.while_working(lambda: session.act("data.sample", dataset=dataset, **arguments))

    def score_base(self) -> None:
        """Evaluate the base."""
        self.engine.score_base()
        self.settle()

    def add(self, source: str = "sketch/clean") -> str:
        """Take a source into the pool; the dataset's id."""
        return cast(DatasetView, self.main().act("data.add", source=source)).id

    def open_worker(self, *data: str, experiments: int = 3, **more: object) -> str:
        """Main opens a direction; the Worker's node."""
        arguments: dict[str, object] = {
            "direction": "a direction",
            "hypothesis": "it helps",
            "task": "try it",
            "data": data,
            "experiments": experiments,
            **more,
        }
        return cast(WorkerRef, self.main().act("worker.create", **arguments)).node

    def submit(self, node: str, data: str, init: str = "base", **settings: object) -> str:
        """A Worker submits a training; the experiment's id."""
        recipe = {"name": "sketch", **settings}
        answer = self.worker(node).act("experiment.submit", recipe=recipe, data=data, init=init)
        return cast(HandleView, answer).experiment

    def train(self, node: str, data: str, init: str = "base", **settings: object) -> str:
        """Submit a training and let it end."""
        name = self.submit(node, data, init, **settings)
        self.settle()
        return name

    def merge(self, node: str, init: str, *others: str, **settings: object) -> str:
        """A Worker merges checkpoints; the experiment's id, once it has ended."""
        recipe = {"name": "merge", **settings}
        answer = self.worker(node).act("experiment.merge", recipe=recipe, init=init, others=others)
        self.settle()
        return cast(HandleView, answer).experiment

    def finalise(self, node: str, best: str | None = None) -> Value:
        """A Worker ends its work."""
        cites = (best,) if best else ()
        return self.worker(node).act(
            "worker.finalize", summary="it is done", cites=cites, best=best
        )

    def explored(self, data: str, **settings: object) -> tuple[str, str]:
        """A finalised Worker with one experiment: node and experiment."""
        node = self.open_worker(data)
        name = self.train(node, data, "base", **settings)
        self.finalise(node, name)
        return node, name

    def verified(self, name: str, promotion: int = 0, *beside: str) -> tuple[str, str]:
        """A finalised verification of an experiment, by a Worker that follows those `beside` it:
        node and the last new experiment."""
        owner = self.state.experiments[name].worker()
        node = self.open_worker(
            purpose="verify", replicates=name, promotion=promotion, predecessors=(owner, *beside)
        )
        session = self.worker(node)
        task = cast(Assignment, session.act("worker.current"))
        seen: list[WorkerExperimentView] = []
        while (again := replica(task, seen)) is not None:
            handle = cast(HandleView, session.act(again[0], **again[1]))
            self.settle()
            view = session.act("experiment.inspect", experiment=handle.experiment)
            seen.append(cast(WorkerExperimentView, view))
        self.finalise(node, seen[-1].id)
        return node, seen[-1].id

    def review(self, *scope: str) -> str:
        """Main orders a review; the Reviewer's node."""
        answer = self.main().act("review.request", question="which is better?", scope=scope)
        return cast(RequestedView, answer).node

    def items(self) -> tuple[Item, ...]:
        """Every sealed item, which no role may ever see."""
        return tuple(i for found in load(self.vault, self.base).items.values() for i in found)

    def _seal(self, folder: Path) -> Path:
        wanted = self.contract.evaluator
        counts: dict[Drawn, int] = {
            "dev": wanted.dev,
            "confirm": wanted.confirm,
            "holdout": wanted.holdout,
            "practice": wanted.practice,
        }
        return seal(SKETCH, read_base(self.base), counts, folder / "home", secret=b"s" * 32)

    def _ledger(self) -> Ledger:
        stamp = Stamp(self.clock, self.ids, self.contract.digest())
        notary = Notary("rig", Signer("rig", KEY), MemoryNotes())
        return Ledger(self.store, CODEC, stamp, self._follow, notary)

    def _follow(self, event: Event) -> None:
        for follower in self.followers:
            follower(event)

    def parts(self, known: Catalogue) -> Parts:
        """What a gateway over that catalogue works with."""
        return Parts(
            contract=self.contract,
            catalogue=known,
            ledger=self.ledger,
            state=self.state,
            tokens=self.tokens,
            objects=self.objects,
            sealed=self.sealed,
            clock=self.clock,
            ids=self.ids,
            probing=self.probing,
            making=self.making,
        )

    def _plant(self, scratch: Path) -> Plant:
        return Plant(
            contract=self.contract,
            state=self.state,
            ledger=self.ledger,
            compute=self.compute,
            sealed=self.sealed,
            objects=self.objects,
            trainer=RecipeTrainer(self.recipes, self.sealed.open().verifier),
            clock=self.clock,
            scratch=scratch,
            probing=self.probing,
            making=self.making,
        )

    def _opening(self) -> tuple[Fact, ...]:
        opened = RunOpened(
            run="rig",
            contract=self.objects.put_bytes("contract", b"the contract of a rig"),
            base=self.objects.put_folder("base", self.base),
            parameters=1,
            sealed=self.sealed.open(),
            tier=self.tier,
            recipes={},
            versions={},
            platform="rig",
        )
        return opened, OwnerStarted(resumed=False, tier=self.tier, platform="rig")
