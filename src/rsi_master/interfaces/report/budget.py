"""What the run was allowed, what it used, and what is left."""

from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Line, Row, Section, Table
from rsi_master.interfaces.report.subject import Subject

HEAD = ("quantity", "allowed", "used", "reserved", "left")


def budget(subject: Subject) -> Section:
    """The section."""
    status = subject.status
    left = status.limit.minus(status.spent).minus(status.reserved)
    rows = [
        _row(
            "device seconds",
            *(
                f"{amount.device_seconds:.1f}"
                for amount in (status.limit, status.spent, status.reserved, left)
            ),
        ),
        _row(
            "evaluations, each of a checkpoint on a split",
            *(str(a.evaluations) for a in (status.limit, status.spent, status.reserved, left)),
        ),
        _row(
            "experiments",
            *(str(a.experiments) for a in (status.limit, status.spent, status.reserved, left)),
        ),
    ]
    clock = max(0.0, status.wall_limit - status.wall_seconds)
    wall = (status.wall_limit, status.wall_seconds, None, clock)
    rows.append(_row("time on the clock", *("" if w is None else words.seconds(w) for w in wall)))
    caption = (
        "A failure of infrastructure gives its trial back; the time that it took stays used. When "
        "the clock is over nothing begins, but the run still concludes, so that it may have used "
        "more of it than was allowed."
    )
    return Section("Budget", "budget", (Table(caption, HEAD, tuple(rows)),))


def _row(*cells: str) -> Row:
    lines: tuple[Line, ...] = tuple((cell,) for cell in cells)
    return Row(lines)
