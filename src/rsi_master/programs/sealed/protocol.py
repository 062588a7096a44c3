"""The protocol: all that turns a checkpoint into a score, apart from the items, as one digest."""

from pathlib import Path
from typing import Final

from rsi_master import stats
from rsi_master.core.canonical import digest, encode
from rsi_master.domains.training import tensors
from rsi_master.programs import stack
from rsi_master.programs.sealed.benchmark import Base, Benchmark

DENOMINATOR: Final = (
    "all drawn items; an error is 0 points; average is the unweighted mean over tasks"
)
# Generation and grading lie in this package, intervals in `stats`, the reading of weights in
# `tensors`.
_PACKAGES: Final = (Path(__file__).parent, Path(stats.__file__).parent)
_MODULES: Final = (Path(tensors.__file__),)


def protocol_digest(benchmark: Benchmark, base: Base) -> str:
    """Digest of sources, decoding, tokenizer and configuration of the base, and library versions.

    Another version of a library may generate other tokens from equal weights. Raises Refused where
    one is not installed.
    """
    rules = {
        "benchmark": benchmark.name,
        "tasks": list(benchmark.tasks),
        "decoding": benchmark.decoding.model_dump(mode="json"),
        "grader": digest(benchmark.grader_source()),
        "sources": _sources(),
        "versions": stack.versions(benchmark.libraries),
        "base": {n: digest(data) for n, data in base.files.items() if n.endswith(".json")},
        "denominator": DENOMINATOR,
    }
    return digest(encode(rules))


def _sources() -> dict[str, str]:
    found = {
        str(file.relative_to(folder.parent)): file
        for folder in _PACKAGES
        for file in folder.rglob("*.py")
    }
    found |= {file.name: file for file in _MODULES}
    return {name: digest(file.read_bytes()) for name, file in found.items()}
