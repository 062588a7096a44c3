"""What a process is asked to do: one step, where its parents lie, where the questions lie."""

from pathlib import Path

from bench.nano.steps import Step

from rsi_master.core.model import Value

FILE = "order.json"
LOG = "log.txt"


class Order(Value):
    """`inits` are checkpoint folders in the order of the step's own.

    `updates` is the length of a step that does not name its own.
    """

    step: Step
    seed: int
    inits: tuple[Path, ...]
    material: Path
    updates: int | None = None


def read(folder: Path) -> Order:
    """The order in `folder`."""
    return Order.model_validate_json((folder / FILE).read_bytes())


def write(folder: Path, order: Order) -> None:
    """Put the order where the process looks for it."""
    (folder / FILE).write_text(order.model_dump_json(), encoding="utf-8")
