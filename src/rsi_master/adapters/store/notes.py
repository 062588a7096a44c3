"""Signed notes as small text files, `<folder>/<size, zero padded>.note`, each whole or absent."""

from pathlib import Path

from rsi_master.adapters.store.durable import disk, make_folder, write_file

DIGITS = 12
NOTE_BYTES = 1_000_000


class NoteFolder:
    """The `notes` folder of a run. Durable on return."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, size: int, text: str) -> None:
        """Write the note over the first `size` events."""
        with disk("writing a signed note"):
            make_folder(self._folder)
            write_file(self._folder / f"{size:0{DIGITS}}.note", text.encode())

    def all(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each note, smallest first; undecodable bytes show as U+FFFD."""
        with disk("reading the signed notes"):
            found = sorted(self._folder.glob("*.note")) if self._folder.is_dir() else []
            return tuple((path.name, _text(path)) for path in found)


def _text(path: Path) -> str:
    """The text of a plain file of the size of a note; of anything else, nothing that is a note."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > NOTE_BYTES:
        return ""
    return path.read_text("utf-8", errors="replace")
