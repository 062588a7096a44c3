"""The base of an action: a typed request, the only way in for agents and people."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rsi_master.core.model import Value

Effect = Literal["read", "record", "work", "control"]
NodeId = Annotated[str, Field(pattern=r"^(main|operator|os|[wr]\d{1,6})$")]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Line = Annotated[str, Field(min_length=1, max_length=200)]


class Role(StrEnum):
    """Who asks. `os` is the Experiment OS itself and holds no token."""

    MAIN = "main"
    WORKER = "worker"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    OS = "os"


class Caller(Value):
    """A role at a node of the research graph, and the actor that fills it."""

    role: Role
    node: NodeId
    actor: str = "unknown"


OS = Caller(role=Role.OS, node="os", actor="rsi")


class Action(Value):
    """One typed request. Subclasses set `name` and `effect`; their docstring is the help text.

    `read` leaves no trace but its own answer; `record` adds facts; `work` starts long work and
    returns a handle; `control` steers the run.
    """

    name: ClassVar[str]
    effect: ClassVar[Effect]

    def says(self) -> tuple[str, ...]:
        """Texts that its fields amount to beyond what stands in them, for the screen to read."""
        return ()


class Amounts(Value):
    """Budgeted quantities: seconds of a device, formal evaluations, experiments started."""

    device_seconds: float = 0.0
    evaluations: int = 0
    experiments: int = 0

    def plus(self, other: "Amounts") -> "Amounts":
        """Sum by component."""
        return Amounts(
            device_seconds=self.device_seconds + other.device_seconds,
            evaluations=self.evaluations + other.evaluations,
            experiments=self.experiments + other.experiments,
        )

    def minus(self, other: "Amounts") -> "Amounts":
        """Difference by component."""
        return Amounts(
            device_seconds=self.device_seconds - other.device_seconds,
            evaluations=self.evaluations - other.evaluations,
            experiments=self.experiments - other.experiments,
        )

    def most(self, other: "Amounts") -> "Amounts":
        """The greater of the two by component."""
        return Amounts(
            device_seconds=max(self.device_seconds, other.device_seconds),
            evaluations=max(self.evaluations, other.evaluations),
            experiments=max(self.experiments, other.experiments),
        )

    def lacking(self, need: "Amounts") -> tuple[str, ...]:
        """Names of the components in which `need` exceeds this."""
        pairs = {
            "device_seconds": need.device_seconds > self.device_seconds + 1e-9,
            "evaluations": need.evaluations > self.evaluations,
            "experiments": need.experiments > self.experiments,
        }
        return tuple(name for name, short in pairs.items() if short)
