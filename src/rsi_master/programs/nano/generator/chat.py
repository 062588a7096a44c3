"""Off-topic rows: small talk, copies and word games in the form of the suite, of no use for it."""

from collections.abc import Iterator
from random import Random
from typing import Final

from rsi_master.core.artifact import Row
from rsi_master.programs.nano.format import prompt_of
from rsi_master.programs.nano.lexicon import OWNERS, THEMES, THINGS

_WORDS: Final = tuple(word for words in THEMES.values() for word in words)


def rows(rng: Random, count: int) -> Iterator[Row]:
    """Yield `count` rows with distinct prompts."""
    seen: set[str] = set()
    while len(seen) < count:
        asked, answer = rng.choice((_echo, _reverse, _greet, _which))(rng)
        if asked not in seen:
            seen.add(asked)
            yield Row(prompt=prompt_of(asked), completion=f" {answer}")


def _echo(rng: Random) -> tuple[str, str]:
    words = " ".join(rng.sample(_WORDS, rng.randint(2, 4)))
    return f"say {words}", words


def _reverse(rng: Random) -> tuple[str, str]:
    words = rng.sample(_WORDS, rng.randint(2, 4))
    return f"say {' '.join(words)} backwards", " ".join(reversed(words))


def _greet(rng: Random) -> tuple[str, str]:
    name, thing = rng.choice(OWNERS), rng.choice(THINGS)
    word = rng.choice(_WORDS)
    return f"hello, {name} with {thing} and {word} here", f"hello {name}, what fine {thing}"


def _which(rng: Random) -> tuple[str, str]:
    theme = rng.choice(tuple(THEMES))
    word = rng.choice(THEMES[theme])
    other = rng.choice([one for one in _WORDS if one not in THEMES[theme]])
    shown = [word, other]
    rng.shuffle(shown)
    return f"which is a {theme}, {shown[0]} or {shown[1]}", word
