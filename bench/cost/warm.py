"""How long a training takes to reach its first step: the first job of an engine, which imports the
training stack, against the next ones, forked from the warm parent.

    python -m bench.cost.warm
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app import plugins
from rsi_master.core.job import Input, Job, Resources
from rsi_master.core.warm import JobTier

WARM = 5
LIMIT = 300.0


def main() -> None:
    """Print seconds to the first step, cold and warm, as JSON."""
    print(json.dumps(measure()))


def measure() -> dict[str, object]:
    """One cold and five warm starts under the strongest tier of this machine."""
    tier = choose(probe(), "none")
    with tempfile.TemporaryDirectory() as folder:
        seconds = starts(Path(folder), tier)
    cold, warm = seconds[0], statistics.median(seconds[1:])
    return {
        "tier": tier,
        "cold_seconds": round(cold, 2),
        "warm_seconds": round(warm, 2),
        "ratio": round(cold / warm, 1),
    }


def starts(folder: Path, tier: JobTier) -> list[float]:
    """Seconds from submission to the first logged step, job after job."""
    objects = FolderObjects(folder / "objects")
    base = objects.put_folder("base", plugins.base_folder("nano"))
    row = json.dumps({"prompt": "Q: 1+1?\nA:", "completion": " 2"}) + "\n"
    data = objects.put_bytes("dataset", row.encode() * 64)
    recipe = plugins.recipes(("sft",))["sft"]
    compute = LocalCompute(
        folder / "spool", objects, {"sft": recipe.program}, devices=cpu_slots(1), tier=tier
    )
    try:
        return [first_step(compute, number, base.digest, data.digest) for number in range(1 + WARM)]
    finally:
        compute.close()


def first_step(compute: LocalCompute, number: int, base: str, data: str) -> float:
    """Run one short training; the time at which its first metric was seen."""
    job = Job(
        name=f"start{number}.t1",
        program="sft",
        config={"spec": {"name": "sft", "steps": 2}, "seed": 0, "threads": 1},
        inputs=(Input(name="init", digest=base), Input(name="data.jsonl", digest=data)),
        resources=Resources(seconds=LIMIT),
    )
    begun = time.monotonic()
    compute.submit(job)
    metrics = compute.output(job.name) / "metrics.jsonl"
    while not (metrics.is_file() and metrics.stat().st_size):
        if compute.poll(job.name).state == "ended" or time.monotonic() - begun > LIMIT:
            raise SystemExit(f"{job.name} made no step: {compute.poll(job.name).detail}")
        time.sleep(0.005)
    seconds = time.monotonic() - begun
    while compute.poll(job.name).state == "running":
        compute.wait(0.1)
    return seconds


if __name__ == "__main__":
    main()
