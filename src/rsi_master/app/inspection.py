"""What is looked at in the folder of a base: each file's digest, the record of them, its form.

Only reads. A folder that is as recorded and has the form may still hold a model that is no good:
weights are not loaded, their header is read.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from safetensors import SafetensorError, safe_open

from rsi_master.adapters.store.folder import plain_files
from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Misuse
from rsi_master.domains.training import vocabulary

DIGESTS: Final = "DIGESTS"
WEIGHTS: Final = "model.safetensors"
CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer.json"
NEEDED: Final = (WEIGHTS, CONFIG, TOKENIZER)
_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")
_CHARACTERS: Final = 300


class Flaw(Exception):
    """What is wrong with the folder of a base, in one line that names the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(" ".join(reason.split())[:_CHARACTERS])


def is_folder(place: Path) -> None:
    """Raise Flaw for what is no folder, or a link to one."""
    if place.is_symlink():
        raise Flaw("it is a link, no folder")
    if not place.exists():
        raise Flaw("it is missing")
    if not place.is_dir():
        raise Flaw("it is a file, no folder")


def flat(folder: Path) -> None:
    """Raise Flaw for what is no plain file, a folder included."""
    with os.scandir(folder) as entries:
        odd = sorted(entry.name for entry in entries if not entry.is_file(follow_symlinks=False))
    if odd:
        raise Flaw(f"{odd[0]} is a folder, link or special file")


def files(folder: Path, *, shared: bool = False) -> dict[str, str]:
    """The digest of each file by name, each read once; raises Flaw for links and special files, and
    for files with a second name unless they may be shared."""
    found: dict[str, str] = {}
    try:
        for name, descriptor in plain_files(folder, shared=shared):
            with os.fdopen(descriptor, "rb") as file:
                found[name] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except Misuse as cause:
        raise Flaw(cause.message) from cause
    return found


def digest_of(found: Mapping[str, str]) -> str:
    """What the object store says of a folder of these files, without reading them again."""
    return digest(encode({"files": dict(found)}))


def record(found: Mapping[str, str]) -> bytes:
    """The text of `DIGESTS`, as `sha256sum` would write it."""
    return "".join(f"{value[7:]}  {name}\n" for name, value in sorted(found.items())).encode()


def recorded(text: bytes) -> dict[str, str]:
    """The digests that `DIGESTS` holds, in any order; raises Flaw for another form."""
    lines = text.decode(errors="replace").removesuffix("\n").split("\n")
    matches = [_LINE.fullmatch(line) for line in lines]
    found = {match[2]: f"sha256:{match[1]}" for match in matches if match is not None}
    if len(found) != len(lines):
        raise Flaw(f"{DIGESTS} is not as it was written")
    return found


def same(found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise Flaw with the first file that is missing, new or another than was recorded."""
    for name in sorted({name for name, _ in found.items() ^ wanted.items()}):
        if name not in found:
            raise Flaw(f"{name} is missing")
        if name not in wanted:
            raise Flaw(f"{name} is not in {DIGESTS}")
        raise Flaw(f"{name} is not as recorded in {DIGESTS}")


def form(folder: Path, found: Mapping[str, str], needed: tuple[str, ...] = NEEDED) -> None:
    """Raise Flaw unless weights, configuration and tokenizer are there and can be read.

    Of the weights the header is read, which must cover the file: they may be larger than memory.
    The tokenizer is needed too where the configuration has a `vocab_size`, and must fit it.
    """
    absent = [name for name in needed if name not in found]
    if absent:
        raise Flaw(f"{absent[0]} is missing")
    _weights(folder)
    size = _configuration(folder).get("vocab_size")
    try:
        length = vocabulary.length(folder)
    except Misuse as cause:
        raise Flaw(f"{TOKENIZER} is not a tokenizer: {cause.__cause__}") from cause
    if not isinstance(size, int):
        return
    if length is None:
        raise Flaw(f"{TOKENIZER} is missing")
    if not 0 < length <= size:
        raise Flaw(f"{TOKENIZER} has {length} tokens, vocab_size in {CONFIG} is {size}")


def _weights(folder: Path) -> None:
    try:
        with safe_open(folder / WEIGHTS, framework="numpy") as weights:
            if not weights.keys():
                raise Flaw(f"{WEIGHTS} holds no tensor")
    except SafetensorError as cause:
        raise Flaw(f"{WEIGHTS} is not a safetensors file: {cause}") from cause


def _configuration(folder: Path) -> dict[str, object]:
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except ValueError as cause:
        raise Flaw(f"{CONFIG} is not JSON: {cause}") from cause
    if not isinstance(config, dict):
        raise Flaw(f"{CONFIG} is not an object")
    if not isinstance(config.get("model_type"), str):
        raise Flaw(f"{CONFIG} names no model_type")
    return config
