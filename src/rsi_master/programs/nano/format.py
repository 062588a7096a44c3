"""The text format shared by rows, outputs and graders: task names, answer styles, the marker."""

from typing import Final, Literal, get_args

Task = Literal["sums", "chain", "facts", "calls", "code", "write", "care"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)

Style = Literal["direct", "scratchpad"]

MARKER: Final = "answer"
SEPARATOR: Final = "; "

ANSWER_TOKENS: Final = 80
"""The decoding limit: the longest worked answer and its end token fit."""

_HEAD: Final = "Q: "
_TAIL: Final = "?\nA:"


def prompt_of(question: str) -> str:
    """Return the prompt of a question, from the first to the last character that a model reads."""
    return f"{_HEAD}{question}{_TAIL}"


def question_of(prompt: str) -> str | None:
    """Return the question that `prompt` asks, None where it is no prompt of this format."""
    if not (prompt.startswith(_HEAD) and prompt.endswith(_TAIL)):
        return None
    return prompt[len(_HEAD) : -len(_TAIL)]
