"""The notary: the Merkle tree over the durable events and the signed notes at intervals of it."""

import threading
from typing import Protocol

from rsi_master.core.errors import Finding
from rsi_master.expos.merkle import Tree, leaf_hash
from rsi_master.expos.notes import Note, Signer

EVERY = 256


class NoteStore(Protocol):
    """Where the notes of one run are kept, beside its ledger."""

    def put(self, size: int, text: str) -> None:
        """Write the note over the first `size` events; whole or absent, durable on return."""

    def all(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each note, smallest size first."""


class Notary:
    """Signs for the run `origin`. Only durable events may be extended by; safe between threads."""

    def __init__(self, origin: str, signer: Signer, notes: NoteStore, every: int = EVERY) -> None:
        self._origin = origin
        self._signer = signer
        self._notes = notes
        self._every = every
        self._lock = threading.Lock()
        self._tree = Tree()
        self._last: Note | None = None
        self._saved = {note.size: note for note in map(self._own, notes.all())}

    def replay(self, body: bytes) -> None:
        """Take a recorded event in; raises Finding when the saved note at its end differs."""
        self._tree.append(leaf_hash(body))
        saved = self._saved.get(self._tree.size)
        if saved is None:
            return
        if saved.root != self._tree.root():
            what = f"the ledger differs from its signed note of {saved.size} events"
            raise Finding("LEDGER_ALTERED", f"{what}; run `rsi verify` to locate the change")
        self._last = saved

    def replayed(self) -> None:
        """End of the recorded events; raises Finding when a saved note covers more of them. A head
        that a former owner died before signing is signed now."""
        longest = max(self._saved, default=0)
        if longest > self._tree.size:
            what = f"truncation: {self._tree.size} events remain of {longest} signed ones"
            raise Finding("LEDGER_TRUNCATED", f"{what}; restore ledger.db from a copy")
        signed = self._last.size if self._last else 0
        if self._tree.size // self._every > signed // self._every:
            self.sign()

    def extend(self, body: bytes) -> None:
        """Take a durable event in; signs when the interval is full."""
        with self._lock:
            self._tree.append(leaf_hash(body))
            if self._tree.size % self._every == 0:
                self._sign()

    def sign(self) -> Note:
        """The signed note over all durable events, written if it was not yet."""
        with self._lock:
            return self._sign()

    def _sign(self) -> Note:
        if self._last is None or self._last.size != self._tree.size:
            note = self._signer.sign(self._origin, self._tree.size, self._tree.root())
            self._notes.put(note.size, note.text())
            self._last = note
        return self._last

    def _own(self, named: tuple[str, str]) -> Note:
        """A saved note, if it is of this run and by this key."""
        note = Note.parse(named[1])
        self._signer.verifier.verify(note)
        if note.origin != self._origin:
            raise Finding("NOTE_FOREIGN", f"{named[0]} is of run {note.origin}, not {self._origin}")
        return note
