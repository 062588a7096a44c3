"""The lab: the parts of one run put together under one owner."""

import contextlib
import platform
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rsi_master.adapters.compute.devices import cpu_slots, gpus
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sealed.client import SealedProcess
from rsi_master.adapters.store.lock import RunLock
from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.adapters.system import SystemClock, Uuid7
from rsi_master.app import bases, plugins
from rsi_master.app.catalog import catalogue
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.core.contract import Contract, parse
from rsi_master.core.errors import Refused
from rsi_master.core.event import Event
from rsi_master.core.facts import CODEC
from rsi_master.core.ports import EventStore, ObjectStore
from rsi_master.core.recipe import Recipe
from rsi_master.core.run import RunOpened
from rsi_master.core.state import State
from rsi_master.core.warm import JobTier
from rsi_master.domains.data.domain import PROGRAMS
from rsi_master.domains.training.lifecycle import programs
from rsi_master.expos.gateway import LocalGateway, Parts
from rsi_master.expos.ledger import Ledger, Stamp
from rsi_master.expos.making import Making
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Signer, create_key, load_key
from rsi_master.expos.probing import Probing
from rsi_master.expos.tokens import Tokens

Follower = Callable[[Event], None]
Wrap = Callable[[EventStore], EventStore]
TRACKED = ("rsi-master", "torch", "transformers", "trl", "peft", "tokenizers", "numpy")


@dataclass(frozen=True)
class Lab:
    """An opened run: record, gateway and sealed process. Jobs come with `compute`, and whoever
    probes waits at `probing`, whoever has data made at `making`, until an engine serves it."""

    folder: RunFolder
    home: Home
    contract: Contract
    state: State
    ledger: Ledger
    objects: ObjectStore
    tokens: Tokens
    sealed: SealedProcess
    gateway: LocalGateway
    recipes: dict[str, Recipe]
    lock: threading.RLock
    clock: SystemClock
    probing: Probing
    making: Making


@contextlib.contextmanager
def open_lab(
    folder: RunFolder, home: Home, followers: tuple[Follower, ...] = (), wrap: Wrap | None = None
) -> Iterator[Lab]:
    """Own the run, replay its record, start the sealed process; undo all of it at the end."""
    contract = folder.contract()
    recipes = plugins.recipes(contract.policy.recipes)
    base = bases.find(contract.base.name, home)
    sealed_set = home.seal(folder.id)
    signer = load_key(home.key)
    state = State.under(contract)
    lock = threading.RLock()

    def follow(event: Event) -> None:
        state.apply(event)
        for follower in followers:
            follower(event)

    clock, ids, probing, making = SystemClock(), Uuid7(), Probing(), Making()
    objects, tokens = FolderObjects(folder.objects), Tokens(home.tokens(folder.id))
    with contextlib.ExitStack() as stack:
        stack.enter_context(RunLock(folder.lock))
        stack.enter_context(RunLock(home.lock(folder.id)))
        store: EventStore = SqliteEvents(folder.ledger)
        stack.callback(store.close)
        same_contract(store, objects, contract)
        stamp = Stamp(clock, ids, contract.digest())
        notary = Notary(folder.id, signer, NoteFolder(folder.notes))
        ledger = stack.enter_context(
            Ledger(wrap(store) if wrap else store, CODEC, stamp, follow, notary)
        )
        sealed = stack.enter_context(SealedProcess(sealed_set, base))
        parts = Parts(
            contract=contract,
            catalogue=catalogue(recipes),
            ledger=ledger,
            state=state,
            tokens=tokens,
            objects=objects,
            sealed=sealed,
            clock=clock,
            ids=ids,
            probing=probing,
            making=making,
        )
        yield Lab(
            folder=folder,
            home=home,
            contract=contract,
            state=state,
            ledger=ledger,
            objects=objects,
            tokens=tokens,
            sealed=sealed,
            gateway=LocalGateway(parts, lock),
            recipes=recipes,
            lock=lock,
            clock=clock,
            probing=probing,
            making=making,
        )


def same_contract(store: EventStore, objects: ObjectStore, contract: Contract) -> None:
    """Refuse a contract other than the one that the run began with, naming what differs."""
    first = next(iter(store.read()), None)
    if first is None:
        return
    opened = CODEC.read(first).fact
    if not isinstance(opened, RunOpened):
        return
    recorded = parse(objects.get_bytes(opened.contract.digest).decode(), "the recorded contract")
    changed = contract.differences(recorded)
    if changed:
        raise Refused(
            "CONTRACT_CHANGED",
            f"contract.toml differs from the contract of the run (here != recorded): "
            f"{'; '.join(changed)}; put it back, or start a new run",
        )


def local_compute(lab: Lab, tier: JobTier) -> LocalCompute:
    """The engine of this machine, with the contract's device slots; GPUs where there are any."""
    known = programs(lab.recipes, merging=lab.contract.policy.merging)
    slots = lab.contract.devices.slots
    return LocalCompute(
        lab.folder.spool,
        lab.objects,
        {**known, **PROGRAMS},
        devices=gpus()[:slots] or cpu_slots(slots),
        tier=tier,
    )


def signing_key(home: Home) -> Signer:
    """The installation's key, made at first use."""
    home.prepare()
    if home.key.exists():
        return load_key(home.key)
    return create_key(home.key, "rsi-master")


def versions() -> dict[str, str]:
    """Versions of what computes a result."""
    found = {"python": platform.python_version()}
    for name in TRACKED:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def scratch(folder: RunFolder) -> Path:
    """Where checkpoints are laid for the sealed process while it reads them."""
    path = folder.spool / "sealed"
    path.mkdir(parents=True, exist_ok=True)
    return path
