"""What the Experiment OS costs: a finished run against a bare TRL script of the same trainings.

    python -m bench.cost.overhead RUN_FOLDER

Each Worker of the run becomes a lane: a process that imports the stack once, trains the Worker's
recipes in their order and evaluates each on as many prompts as the run did. As many lanes run side
by side as the run had Workers; verifications begin after the explorers, as they did. The wall time
of the run, from its opening to its end, is divided by that of the lanes; both include imports.
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.runs import seconds

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record, read
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import WorkerCreated


def main(run: str) -> None:
    """Print wall times and their ratio as JSON."""
    print(json.dumps(measure(read(RunFolder(Path(run).absolute())))))


def measure(record: Record) -> dict[str, object]:
    """Wall seconds of the run and of the bare lanes, and their ratio."""
    trained = [e for e in record.state.experiments.values() if e.checkpoint]
    ours, busy = seconds(record), sum(e.device_seconds() for e in trained)
    with tempfile.TemporaryDirectory() as folder:
        theirs = bare(record, Path(folder))
        lanes = sum(float(f.read_text("utf-8")) for f in Path(folder).glob("*/seconds"))
    return {
        "experiments": len(trained),
        "run_wall_seconds": round(ours, 1),
        "bare_wall_seconds": round(theirs, 1),
        "ratio": round(ours / theirs, 3),
        "run_device_seconds": round(busy, 1),
        "bare_device_seconds": round(lanes, 1),
        "device_ratio": round(busy / lanes, 3),
    }


def bare(record: Record, folder: Path) -> float:
    """Seconds that the same trainings take without the OS, in the same waves."""
    objects = FolderObjects(record.folder.objects)
    opened = record.state.opened
    if opened is None:
        raise SystemExit("the run was never opened")
    objects.materialise(opened.base.digest, folder / "base")
    lanes = write_lanes(record, objects, folder)
    begun = time.monotonic()
    for group in groups(record, lanes):
        with ThreadPoolExecutor(record.contract.research.parallel_workers) as pool:
            list(pool.map(carry_out, group))
    return time.monotonic() - begun


def write_lanes(record: Record, objects: FolderObjects, folder: Path) -> dict[str, Path]:
    """One file for each Worker that trained."""
    prompts = folder / "prompts.json"
    prompts.write_text(json.dumps(prompts_like(record, objects)), encoding="utf-8")
    lanes: dict[str, Path] = {}
    for node in record.state.graph.workers():
        owned = [e.queued for e in record.state.owned(node.id) if e.queued and e.checkpoint]
        if not owned:
            continue
        path = folder / f"{node.id}.json"
        experiments = [laid(queued, objects, folder) for queued in owned]
        lane = {
            "base": str(folder / "base"),
            "experiments": experiments,
            "items": str(prompts),
            "threads": 1,
        }
        path.write_text(json.dumps(lane), encoding="utf-8")
        lanes[node.id] = path
    return lanes


def laid(queued: ExperimentQueued, objects: FolderObjects, folder: Path) -> dict[str, object]:
    """The experiment with its data as a file."""
    data = folder / f"{queued.data[0][7:19]}.jsonl"
    if not data.exists():
        objects.materialise(queued.data[0], data)
    return {"data": str(data), "spec": queued.recipe, "seed": queued.seed}


def prompts_like(record: Record, objects: FolderObjects) -> list[str]:
    """As many prompts as one evaluation has items, from the training rows: the items are sealed."""
    dataset = next(iter(record.state.datasets))
    rows = [json.loads(line) for line in objects.get_bytes(dataset).splitlines()]
    evaluator = record.contract.evaluator
    tasks = len(record.state.opened.sealed.tasks) if record.state.opened else 1
    count = tasks * (evaluator.dev + evaluator.confirm)
    return [rows[index % len(rows)]["prompt"] for index in range(count)]


def groups(record: Record, lanes: dict[str, Path]) -> list[list[Path]]:
    """Explorers first, verifications after them, since they wait for a review."""
    found: dict[str, list[Path]] = {"explore": [], "verify": []}
    for node in record.state.graph.workers():
        if node.id in lanes and isinstance(node.created, WorkerCreated):
            found[node.created.purpose].append(lanes[node.id])
    return [found["explore"], found["verify"]]


def carry_out(lane: Path) -> None:
    """Run one lane to its end."""
    command = [sys.executable, str(Path(__file__).with_name("bare.py")), str(lane)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
