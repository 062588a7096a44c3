"""What a file of questions holds, told to whoever writes a contract for it: counts, no text."""

from rsi_master.core.canonical import digest
from rsi_master.core.sealed_wire import Survey
from rsi_master.programs.sealed.benchmark import Base
from rsi_master.programs.sealed.own.benchmark import JSONL
from rsi_master.programs.sealed.own.file import BadFile, shown

LEAST = 20
"""Questions that each task needs, so that every split has some."""


def survey(data: bytes, base: Base) -> Survey:
    """The counts of a file's bytes for that base; raises BadFile."""
    found = JSONL.of(data, base)
    questions = {task: len(entries) for task, entries in found.questions().items()}
    few = next((task for task, count in questions.items() if count < LEAST), None)
    if few is not None:
        told = f"task {shown(few)} has" if len(questions) > 1 else "it has"
        raise BadFile(
            f"{told} {questions[few]} different questions, {LEAST} are needed; add some"
            + (", or leave the task out" if len(questions) > 1 else "")
        )
    return Survey(digest=digest(data), rows=len(found.entries), questions=questions)
