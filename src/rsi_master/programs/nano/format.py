"""The text format shared by rows, outputs and graders: task names, answer styles, the marker."""

from typing import Final, Literal, get_args

Task = Literal["sums", "facts", "code"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)

Style = Literal["direct", "scratchpad"]

MARKER: Final = "answer"
SEPARATOR: Final = "; "

ANSWER_TOKENS: Final = 64
"""Characters that the longest completion takes with its end token, rounded up: a decoding limit."""
