"""The judge of a job: a program of an agent in a cold process of its own, asked over a socket pair.

It is an attempt beside the attempt: begun before it, ended with it, and never told to anybody else.
"""

import socket

from rsi_master.adapters.compute.attempt import Attempt
from rsi_master.core.job import Job, Program, Resources

MEMORY_MIB = 512
MARGIN_SECONDS = 60.0
# Above the positions of all devices and slots beside them: a user of its own, which cannot reach
# the job's.
FIRST_POSITION = 128
PROGRAM = Program(entry="rsi_master.programs.code.runner:serve", job_class="code", runtime="core")


def beside(attempt: Attempt) -> Attempt:
    """The judge of an attempt; each of the two is given its end of a fresh line."""
    attempt.link, other = socket.socketpair()
    limit = attempt.job.resources.seconds + MARGIN_SECONDS
    job = Job(
        name=f"{attempt.job.name}.judge",
        job_class="code",
        runtime=PROGRAM.runtime,
        program="judge",
        config={},
        resources=Resources(seconds=limit, stall_seconds=limit, memory_mib=MEMORY_MIB),
    )
    return Attempt(
        job,
        PROGRAM,
        attempt.folder / "judge",
        devices=(),
        position=FIRST_POSITION + attempt.position,
        link=other,
        judged=attempt,
    )
