"""The embedded base as package data, and the digests of its files."""

import hashlib
import re
from pathlib import Path
from typing import Final

DIGESTS: Final = "DIGESTS"
CARD: Final = "MODEL_CARD.md"


def base_folder() -> Path:
    """Return the folder of the embedded base, ready for `from_pretrained`."""
    return Path(__file__).parent / "base"


def digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of `folder` by name, without the record of digests itself."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != DIGESTS
    }


def record(folder: Path) -> None:
    """Write the digests of `folder` into the table of its model card, and in `sha256sum`'s form."""
    card = folder / CARD
    told = card.read_text(encoding="utf-8")
    for name, digest in digests(folder).items():
        told = re.sub(rf"(?<=\| `{re.escape(name)}` \| `)[0-9a-f]{{64}}", digest, told)
    card.write_text(told, encoding="utf-8")
    lines = (f"{digest}  {name}\n" for name, digest in digests(folder).items())
    (folder / DIGESTS).write_text("".join(lines), encoding="utf-8")


def recorded(folder: Path) -> dict[str, str]:
    """Return the digests that were recorded for `folder`."""
    lines = (folder / DIGESTS).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
