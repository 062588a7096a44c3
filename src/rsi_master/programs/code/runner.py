"""Runs a program of an agent over its input, inside the confinement: one line of output for each
row of input, in a file that the owner reads with suspicion.

The program shares this interpreter, so it can write whatever this module could: nothing here is a
check that anybody relies on. The checks below tell an honest author what is wrong, and where.
"""

import json
import math
import os
import random
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

NAMES: Final = {"transform": "transform", "verifier": "verify", "reward": "reward"}
"""The function that a program of each kind defines."""
FAILURES: Final = 3
"""So many are told, then the rest is not tried."""
SHAPES: Final = (
    {"prompt", "completion"},
    {"prompt"},
    {"prompt", "answer"},
    {"prompt", "chosen", "rejected"},
)
_FILE = "program.py"
_CHARACTERS = 200

Function = Callable[..., object]
Line = Mapping[str, Any]


def run(folder: Path, made: int, result: int) -> int:
    """Carry the job out; `made` and `result` are descriptors to write to. The exit code."""
    failures: list[dict[str, object]] = []
    done = 0
    loaded = _loaded(folder / "in" / "program.json", failures)
    if loaded is not None:
        for row, line in enumerate(_lines(folder / "in" / "input.jsonl")):
            try:
                said = {"row": row, **_asked(*loaded, line)}
                _write(made, said)
                done += 1
            except BaseException as error:  # noqa: BLE001 - whatever a program raises is told
                failures.append(_told(error, row))
                if len(failures) == FAILURES:
                    break
    _write(result, {"done": done, "failures": failures})
    return 0


def serve(folder: Path, made: int, result: int, link: int) -> int:
    """Answer over `link` for as long as anybody asks, an episode and its points in a line each."""
    failures: list[dict[str, object]] = []
    loaded = _loaded(folder / "in" / "program.json", failures)
    done = 0
    with os.fdopen(os.dup(link), "rb") as asked:
        for line in asked:
            try:
                said = _asked(*loaded, json.loads(line)) if loaded else {"failure": failures[0]}
            except BaseException as error:  # noqa: BLE001 - whatever a program raises is told
                said = {"failure": _told(error, None)}
            _write(link, said)
            done += 1
    _write(result, {"done": done, "failures": []})
    return 0


def _loaded(program: Path, failures: list[dict[str, object]]) -> tuple[str, Function] | None:
    """The program's kind, and its function in a module of its own; a failure is noted."""
    random.seed(0)
    try:
        told = json.loads(program.read_bytes())
        module = types.ModuleType("program")
        sys.modules["program"] = module
        exec(compile(told["source"], _FILE, "exec"), module.__dict__)  # what all of this is for
        return told["kind"], getattr(module, NAMES[told["kind"]])
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is told
        failures.append(_told(error, None))
        return None


def _lines(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _asked(kind: str, function: Function, line: Line) -> dict[str, object]:
    if kind == "transform":
        return {"made": _rows(function(dict(line)))}
    return {"points": [_points(_judged(kind, function, line, one)) for one in _answers(line)]}


def _judged(kind: str, function: Function, line: Line, answer: str) -> object:
    if kind == "verifier":
        return function(line["prompt"], answer)
    known = line.get("known")
    return function({"prompt": line["prompt"], "answer": answer, "known": known})


def _answers(line: Line) -> tuple[str, ...]:
    """The answers that a row bears, in the order of `core.artifact`."""
    names = ("completion", "answer", "chosen", "rejected")
    return tuple(line[name] for name in names if name in line)


def _rows(found: object) -> list[dict[str, str]]:
    """None, one row or several, as a list."""
    several = [] if found is None else [found] if isinstance(found, dict) else found
    if not isinstance(several, list | tuple):
        raise TypeError(f"transform gave {_name(found)}; give a row, a list of rows or None")
    return [_row(one) for one in several]


def _row(found: object) -> dict[str, str]:
    if not isinstance(found, dict) or set(found) not in SHAPES:
        keys = sorted(map(str, found)) if isinstance(found, dict) else _name(found)
        raise TypeError(f"transform gave a row of {keys}; its keys are {_shapes()}")
    for key, value in found.items():
        if not isinstance(value, str):
            raise TypeError(f"transform gave {key} = {_name(value)}; fields are texts")
    return dict(found)


def _shapes() -> str:
    return " or ".join("/".join(sorted(shape, reverse=True)) for shape in SHAPES)


def _points(found: object) -> float | None:
    if found is None:
        return None
    if not isinstance(found, int | float) or not math.isfinite(found) or not 0 <= found <= 1:
        raise ValueError(f"{str(found)[:40]} is no number in 0..1 and not None")
    return float(found)


def _name(value: object) -> str:
    return type(value).__name__


def _told(error: BaseException, row: int | None) -> dict[str, object]:
    """What was raised, at which line of the program: the last of its lines that was running."""
    try:
        text = f"{type(error).__name__}: {error}"[:_CHARACTERS]
    except BaseException:  # noqa: BLE001 - an error that cannot say what it is
        text = "an error without words"
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {"row": row, "line": line, "error": text}


def _write(descriptor: int, said: Mapping[str, object]) -> None:
    data = json.dumps(said, allow_nan=False).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]
