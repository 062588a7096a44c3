"""What verification found, in words."""

import contextlib

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import follow
from rsi_master.core.errors import RsiError
from rsi_master.core.job import Tier, weaker
from rsi_master.core.run import OwnerStarted
from rsi_master.core.text import line
from rsi_master.expos.verify import Report
from rsi_master.interfaces import words


def text(report: Report, tier: Tier | None, key: str) -> str:
    """The report as it is printed: the findings one a line, then what was covered."""
    lines = []
    if tier == "none":
        lines.append("NOT ISOLATED: the record may be whole, but nothing kept jobs from cheating")
    lines += [line(f"{flaw.code}: {flaw.where}: {flaw.what}") for flaw in report.flaws]
    if report.sound:
        lines.append(f"The record of {report.origin} is whole.")
    else:
        lines.append(f"The record of {report.origin} does not hold.")
    unsigned = report.events - report.signed
    after = f", {words.count(unsigned, 'event')} after the last signed head" if unsigned else ""
    lines += [
        f"  events     {report.events}, {report.signed} of them signed{after}",
        f"  artifacts  {report.artifacts} by digest",
        f"  root       {report.root}",
        f"  trust      {report.anchor}",
        f"  key        {key}",
    ]
    return "\n".join(lines)


def tier_of(folder: RunFolder) -> Tier | None:
    """The weakest isolation tier under which any owner worked on the run, as far as the events can
    be read; verification names what cannot."""
    found: Tier | None = None
    with contextlib.suppress(RsiError):
        for event in follow(folder):
            if isinstance(event.fact, OwnerStarted):
                found = weaker(found, event.fact.tier)
    return found
