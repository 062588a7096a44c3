"""The text format shared by rows, outputs and graders: task names, answer styles, the marker."""

from typing import Final, Literal, get_args

Task = Literal["sums", "facts", "code"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)

Style = Literal["direct", "scratchpad"]

MARKER: Final = "answer"
SEPARATOR: Final = "; "

ANSWER_TOKENS: Final = 96
"""The decoding limit. A token is a character: the longest worked answer and its end token fit."""
