"""The tasks of the suite, one generator each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rsi_master.programs.nano.format import Task
from rsi_master.programs.nano.generator.problem import Generator
from rsi_master.programs.nano.generator.tasks import calls, care, chain, code, facts, sums, write

GENERATORS: Final[Mapping[Task, Generator]] = MappingProxyType(
    {
        "sums": sums.generate,
        "chain": chain.generate,
        "facts": facts.generate,
        "calls": calls.generate,
        "code": code.generate,
        "write": write.generate,
        "care": care.generate,
    }
)
