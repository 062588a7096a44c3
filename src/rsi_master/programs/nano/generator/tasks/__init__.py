"""The tasks of the suite, one generator each; sealed, never imported by a training job."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rsi_master.programs.nano.format import Task
from rsi_master.programs.nano.generator.problem import Generator
from rsi_master.programs.nano.generator.tasks import code, facts, sums

GENERATORS: Final[Mapping[Task, Generator]] = MappingProxyType(
    {"sums": sums.generate, "facts": facts.generate, "code": code.generate}
)
