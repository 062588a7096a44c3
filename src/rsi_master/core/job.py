"""A job: a self-contained folder of inputs by digest that an engine runs once under a name.

The name is the experiment id and a counter (the fence). The engine knows the job by that name, so
a job is looked up before it is submitted again. Engines never retry.
"""

from typing import Final, Literal

from rsi_master.core.model import Value

Tier = Literal["host", "namespaces", "landlock", "none"]
JobClass = Literal["recipe", "code"]
JobState = Literal["running", "ended", "unknown"]
Ending = Literal[
    "ok", "crashed", "killed", "timeout", "stalled", "cancelled", "lost", "refused", "interrupted"
]

MODELS: Final = (
    "transformers.models.qwen3.modeling_qwen3",
    "transformers.models.llama.modeling_llama",
)
"""What a warm parent imports beforehand of the models that our programs run."""

STRENGTH: dict[Tier, int] = {"none": 0, "landlock": 1, "namespaces": 2, "host": 3}


def weaker(one: Tier | None, other: Tier) -> Tier:
    """The weaker of two tiers; None is none so far."""
    return other if one is None or STRENGTH[other] < STRENGTH[one] else one


class Resources(Value):
    """What a job may use: whole devices for at most `seconds` of wall clock."""

    devices: int = 1
    nodes: int = 1
    seconds: float
    memory_mib: int = 4096
    stall_seconds: float = 120.0


class Program(Value):
    """What carries a job out: `entry` is `module:function(folder)`, `preload` what a warm parent
    imports beforehand. One of class `code` runs what an agent wrote, in a cold process; its
    function is given descriptors of the files `out/made.jsonl` and `out/result.json` too."""

    entry: str
    job_class: JobClass = "recipe"
    preload: tuple[str, ...] = ()
    runtime: Literal["core", "train", "serve", "eval"] = "train"


class Input(Value):
    """A recorded artifact, visible to the job read-only as `in/<name>`."""

    name: str
    digest: str


class Job(Value):
    """One attempt: `program` is an entry of the runtime, `config` is its whole configuration.

    The job writes `out/` alone. It must leave `out/result.json`; `out/metrics.jsonl` is its
    heartbeat and may grow while it runs. `judge` is a program of an agent that runs in a cold
    process beside it, which it may ask.
    """

    name: str
    job_class: JobClass = "recipe"
    runtime: Literal["core", "train", "serve", "eval"] = "train"
    program: str
    config: dict[str, object]
    inputs: tuple[Input, ...] = ()
    judge: str | None = None
    resources: Resources


class JobStatus(Value):
    """What the engine knows of a job; `seconds` is device time, `tier` the isolation that held."""

    name: str
    state: JobState
    ending: Ending | None = None
    detail: str = ""
    tier: Tier | None = None
    seconds: float = 0.0
    devices: tuple[str, ...] = ()
