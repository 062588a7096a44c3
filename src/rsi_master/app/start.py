"""Starting and resuming a run: what may refuse refuses here, before anything is spent."""

import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.adapters.sealed.sealing import Items, seal
from rsi_master.adapters.store.durable import disk, laid, write_file
from rsi_master.adapters.system import Uuid7
from rsi_master.agents.agent import Agent
from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.agents.playbook.worker import WorkerPlaybook
from rsi_master.app import bases, plugins
from rsi_master.app.director import LoopFollower
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.lab import Lab, Wrap, local_compute, open_lab, signing_key, versions
from rsi_master.app.owner import Owner
from rsi_master.app.server import serving
from rsi_master.core.action import OS, Amounts, Caller, Role
from rsi_master.core.budget import Books, Costs
from rsi_master.core.contract import Contract, parse
from rsi_master.core.errors import Misuse, Refused
from rsi_master.core.event import Event
from rsi_master.core.recipe import Recipe
from rsi_master.core.run import OwnerStarted, RunFinished, RunOpened, TurnRole
from rsi_master.core.score import Drawn
from rsi_master.core.warm import JobTier
from rsi_master.domains.training import tensors
from rsi_master.expos.tokens import Tokens

Follower = Callable[[Event], None]
BENCHMARKS = "rsi_master.benchmarks"
# Seconds of the shortest training that is worth a run.
LEAST_TRAINING = 10.0


def create(
    text: str, origin: str, parent: Path, home: Home, questions: Path | None = None
) -> RunFolder:
    """A new run folder under `parent`, its items sealed, its contract frozen: all of it or nothing.

    `questions` is the file that the contract names by digest, where this home does not know it.
    """
    contract = parse(text, origin)
    recipes = plugins.recipes(contract.policy.recipes)
    base = bases.sound(contract.base.name, home)
    check_base(contract, base.digest)
    check_budget(contract)
    check_benchmark(contract)
    items = _items(contract, home, questions)
    choose(probe(), floor_of(contract))
    signer = signing_key(home)
    _make(parent)
    run = f"{contract.name}-{Uuid7().fresh()}"
    benchmark = contract.evaluator.benchmark
    sealed = seal(benchmark, base.folder, home.root, _counts(contract), items=items)
    check_sources(contract, recipes, sealed)
    folder = RunFolder(parent.absolute() / run)
    try:
        with disk(f"making {folder.path}", "run this again"), laid(folder.path) as place:
            place.mkdir()
            draft = RunFolder(place)
            write_file(draft.contract_file, text.encode())
            write_file(draft.path / "run.id", f"{run}\n".encode())
            write_file(draft.verifier_file, f"{signer.verifier}\n".encode())
            home.link_seal(run, sealed)
            _operator_token(home, run)
    except BaseException:
        shutil.rmtree(sealed, ignore_errors=True)
        raise
    return folder


@dataclass(frozen=True)
class Setting:
    """What a caller may put beside a run: watchers, fillings of the roles, a wrapped store."""

    followers: tuple[Follower, ...] = ()
    agents: Mapping[TurnRole, Agent] | None = None
    wrap: Wrap | None = None


def run(folder: RunFolder, home: Home, setting: Setting = Setting()) -> RunFinished:
    """Own the run until it is finished; a run that has events is resumed."""
    contract = folder.contract()
    tier = choose(probe(), floor_of(contract))
    loop = LoopFollower(contract.research.turn_failures)
    with open_lab(folder, home, (loop, *setting.followers), setting.wrap) as lab:
        if lab.state.finished is not None:
            return lab.state.finished
        _record_start(lab, tier)
        compute = local_compute(lab, tier)
        try:
            # What a former owner left open is closed before anybody can ask for more.
            owner = Owner(lab, compute, loop, setting.agents or playbook())
            with serving(lab.gateway, home.socket(folder.id)):
                return owner.run()
        finally:
            compute.close()


def playbook() -> dict[TurnRole, Agent]:
    """The offline filling of the roles."""
    return {"main": MainPlaybook(), "worker": WorkerPlaybook(), "reviewer": ReviewerPlaybook()}


def check_base(contract: Contract, found: str) -> None:
    """Refuse a base whose bytes, by their digest, are not those of the contract."""
    if found != contract.base.digest:
        raise Refused(
            "BASE_DIFFERS",
            f"base {contract.base.name!r} has digest {found}, the contract says "
            f"{contract.base.digest}; take the base of the contract or write a new contract",
        )


def check_budget(contract: Contract) -> None:
    """Refuse a budget that cannot carry one experiment, its verification and a claim."""
    costs, budget = Costs.of(contract), contract.budget
    once = costs.scoring.plus(Amounts(device_seconds=LEAST_TRAINING, experiments=1))
    least = costs.base.plus(costs.claim).plus(once).plus(once)
    lacking = Books.of(budget).limit.lacking(least)
    if lacking:
        name = lacking[0]
        raise Refused(
            "BUDGET_TOO_SMALL",
            f"budget.{name} = {getattr(budget, name):g}, but the base, one experiment, its "
            f"verification and the claim take {getattr(least, name):g}; raise it",
        )


def _make(parent: Path) -> None:
    """The folder of runs, before anything is sealed."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise Refused(
            "RUNS_FOLDER", f"cannot make {parent}: {cause.strerror}; pass --runs"
        ) from cause


def check_benchmark(contract: Contract) -> None:
    """Refuse a benchmark that is not installed."""
    name = contract.evaluator.benchmark
    known = sorted(point.name for point in entry_points(group=BENCHMARKS))
    if name not in known:
        raise Refused(
            "BENCHMARK_MISSING", f"benchmark {name!r} is not installed; installed: {known}"
        )


def _items(contract: Contract, home: Home, questions: Path | None) -> Items | None:
    """The file of questions that the contract names; raises Refused where nobody says where it is,
    Misuse where one is given that no contract asks for."""
    digest = contract.evaluator.items
    if digest is None:
        if questions is not None:
            raise Misuse("BENCHMARK_FILE_UNUSED", "the contract names no evaluator.items")
        return None
    path = questions or home.items(digest)
    if path is None or not path.exists():
        where = f"it lay at {path}" if path else f"{home.root} does not know where it lies"
        raise Refused(
            "BENCHMARK_FILE_MISSING",
            f"evaluator.items = {digest}: {where}; name the file: `rsi run CONTRACT --benchmark "
            "FILE`",
        )
    return Items(path, digest)


def check_sources(contract: Contract, recipes: Mapping[str, Recipe], sealed: Path) -> None:
    """Refuse a source that the sealed benchmark does not have, and sources none of which holds a
    kind of rows that a recipe takes: only sealing tells. Nothing of the set stays then."""
    found = json.loads((sealed / "set.json").read_text(encoding="utf-8"))
    problem = _unknown(contract, found["public"]["sources"]) or _unusable(
        contract, recipes, found["holds"]
    )
    if problem is not None:
        shutil.rmtree(sealed)
        raise problem


def _unknown(contract: Contract, sources: Sequence[str]) -> Refused | None:
    for name in contract.policy.sources:
        if name not in sources:
            there = ", ".join(sources)
            return Refused("SOURCE_UNKNOWN", f"policy.sources names {name!r}; there are: {there}")
    return None


def _unusable(
    contract: Contract, recipes: Mapping[str, Recipe], holds: Mapping[str, str]
) -> Refused | None:
    """Sources that some recipe takes may stand beside others, which people may look into."""
    takes = {name: recipe.spec.takes for name, recipe in recipes.items()}
    named = contract.policy.sources
    if any(holds.get(source) in takes.values() for source in named):
        return None
    held = ", ".join(f"{source} holds {holds.get(source, 'no rows')}" for source in named)
    taken = ", ".join(f"recipe {name} takes {kind}" for name, kind in takes.items())
    fits = [source for source, kind in holds.items() if kind in takes.values()]
    return Refused(
        "SOURCES_UNUSABLE",
        f"nothing in policy.sources can be trained on: {held}; {taken}; "
        f"sources that fit: {', '.join(fits) or 'none'}",
    )


def _record_start(lab: Lab, tier: JobTier) -> None:
    resumed = lab.state.opened is not None
    if resumed:
        _same_programs(lab)
    facts: list[RunOpened | OwnerStarted] = []
    if not resumed:
        facts.append(_opening(lab, tier))
    facts.append(
        OwnerStarted(resumed=resumed, tier=tier, platform=platform.platform(), versions=versions())
    )
    with lab.lock:
        ticket = lab.ledger.append(OS, facts)
    ticket.wait()


def _opening(lab: Lab, tier: JobTier) -> RunOpened:
    base = bases.find(lab.contract.base.name, lab.home)
    weights = tensors.read(base / "model.safetensors")
    return RunOpened(
        run=lab.folder.id,
        contract=lab.objects.put_bytes("contract", lab.folder.contract_text().encode()),
        base=lab.objects.put_folder("base", base),
        parameters=sum(_size(tensor.shape) for tensor in weights.values()),
        sealed=lab.sealed.open(),
        tier=tier,
        recipes={name: plugins.source_digest(r) for name, r in lab.recipes.items()},
        versions=versions(),
        platform=platform.platform(),
    )


def _same_programs(lab: Lab) -> None:
    """A run goes on under the programs and the sealed set that it began with."""
    opened = lab.state.opened
    if opened is None:
        return
    for name, recipe in lab.recipes.items():
        if plugins.source_digest(recipe) != opened.recipes.get(name):
            raise Refused(
                "RECIPE_DIFFERS",
                f"recipe {name!r} is not the one that the run began with; "
                "install that version again, or start a new run",
            )
    sealed = lab.sealed.open()
    if sealed.digest != opened.sealed.digest or sealed.protocol != opened.sealed.protocol:
        raise Refused(
            "SEAL_DIFFERS",
            "the sealed set or the evaluation protocol is not the one that the run began with; "
            "resume with the installation that sealed it",
        )


def _operator_token(home: Home, run: str) -> None:
    caller = Caller(role=Role.OPERATOR, node="operator", actor="person")
    token = Tokens(home.tokens(run)).issue_lasting(caller)
    write_file(home.operator_token(run), f"{token}\n".encode(), 0o600)


def _counts(contract: Contract) -> dict[Drawn, int]:
    evaluator = contract.evaluator
    return {
        "dev": evaluator.dev,
        "confirm": evaluator.confirm,
        "holdout": evaluator.holdout,
        "practice": evaluator.practice,
    }


def floor_of(contract: Contract) -> JobTier:
    """The contract's isolation floor; raises Refused for one that no tier here can reach."""
    floor = contract.isolation.floor
    if floor == "host":
        raise Refused(
            "ISOLATION_FLOOR",
            "the floor 'host' needs sealed data under another user or machine, which this version "
            "cannot attach; accept less in the contract: under [isolation] write "
            'floor = "namespaces"',
        )
    return floor


def _size(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count
