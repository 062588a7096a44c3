"""The text format that prompts, rows and graders share.

Plain text, not the chat format of the base: rows may hold no control tokens, recipes apply no
template, and the end token of that format ends a row. What the base loses by that is part of what
a training can win.
"""

from typing import Final, Literal, get_args

Task = Literal["chain_sum", "products", "gcd", "lcm"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)

ANSWER_TOKENS: Final = 64
"""The decoding limit: every worked answer of the pools and its end token fit."""


def prompt(question: str) -> str:
    """A question exactly as the model reads it."""
    return f"Question: {question}\nAnswer:"


def completion(answer: str) -> str:
    """What follows a prompt: a result alone, or steps of which it is the last number."""
    return f" {answer}"
