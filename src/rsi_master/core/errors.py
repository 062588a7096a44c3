"""Errors that reach a person, each with the exit code that the command line documents.

    RsiError
    ├── Finding          1  a record was tampered with, a rule was violated, no champion
    ├── Misuse           2  wrong words on the command line, an unknown id, a bad file
    ├── Refused          3  the run must not start: contract, isolation floor, missing part
    ├── PolicyDenied     4  the policy says no
    ├── OverBudget       5  the budget does not cover it
    ├── SealUnavailable  6  sealed data missing, damaged or not for this contract
    └── Broken           7  infrastructure: a process died, a disk is full, a socket is gone

A message names the boundary, the value and the next step. A failed training is not an error of
this tree: it is data in the record.
"""

from typing import ClassVar


class RsiError(Exception):
    """Base of all errors shown in one line; `code` is stable and machine-readable."""

    exit_code: ClassVar[int] = 7

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Finding(RsiError):
    """The record does not hold, or the run has no champion."""

    exit_code = 1


class Misuse(RsiError):
    """The caller's words or files are off; nothing was done."""

    exit_code = 2


class Refused(RsiError):
    """The run is not started, or not resumed, under these conditions."""

    exit_code = 3


class PolicyDenied(RsiError):
    """An action that the policy does not allow; the attempt is recorded."""

    exit_code = 4


class OverBudget(RsiError):
    """An action whose reservation the remaining budget does not cover."""

    exit_code = 5


class SealUnavailable(RsiError):
    """The sealed process or its items are missing, damaged or belong to another contract."""

    exit_code = 6


class Broken(RsiError):
    """A process, disk or socket failed; the run can be resumed."""

    exit_code = 7
