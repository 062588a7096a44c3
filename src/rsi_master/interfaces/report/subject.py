"""What a report is about: a record, where the run stands, and what its verification found."""

from dataclasses import dataclass

from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import Record, check, read, trust
from rsi_master.app.yardsticks import Unknown, Yardsticks, yardsticks
from rsi_master.core.errors import RsiError
from rsi_master.core.facts import artifacts
from rsi_master.expos.verify import Report
from rsi_master.interfaces.report.refs import Refs
from rsi_master.interfaces.status import Glance, Status

# What is read and hashed in a few seconds.
CHEAP_BYTES = 1 << 28


@dataclass(frozen=True)
class Verification:
    """What verification found while the report was written, or why it was left out."""

    report: Report | None
    key: str = ""
    omitted: str = ""


@dataclass(frozen=True)
class Subject:
    """All that a report is written from."""

    record: Record
    status: Status
    verification: Verification
    refs: Refs
    yardsticks: Yardsticks | Unknown

    @staticmethod
    def of(folder: RunFolder, home: Home) -> "Subject":
        """Read a run, which may be going on, and verify it where that is cheap."""
        record = read(folder)
        status = Glance(record, home).status()
        return Subject(record, status, verification(record, home), Refs.of(record), known(record))


def known(record: Record) -> Yardsticks | Unknown:
    """What is published for the benchmark of a run, of its suite and base."""
    opened = record.state.opened
    return yardsticks(opened.sealed) if opened else Unknown("none is known before the run opened")


def verification(record: Record, home: Home) -> Verification:
    """The verification of a record whose artifacts are few bytes; of others the reason why not."""
    sizes = {a.digest: a.size for event in record.events for a in artifacts(event)}
    total = sum(sizes.values())
    if total > CHEAP_BYTES:
        return Verification(None, omitted=f"its artifacts are {total / 1e9:.1f} GB to read")
    try:
        report = check(record.folder, home=home)
        return Verification(report, key=trust(record.folder, home))
    except RsiError as problem:
        why = problem.message.replace(str(record.folder.path), "RUN")
        return Verification(None, omitted=f"{problem.code}: {why}")
