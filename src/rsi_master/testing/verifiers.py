"""Open verifiers for tests: points for an answer to any prompt that begins with `Q:`."""


def starts_with_letter(prompt: str, answer: str) -> float | None:
    """1 where the first character is a letter; a random model over characters is right at times."""
    if not prompt.startswith("Q:"):
        return None
    return float(answer[:1].isalpha())


def one_word(prompt: str, answer: str) -> float | None:
    """1 for an answer that is a space and a word."""
    if not prompt.startswith("Q:"):
        return None
    return float(answer[:1] == " " and answer[1:].isalpha())


def added(prompt: str, answer: str) -> float | None:
    """Whether a sum is right, of sealed questions too, as a careless benchmark would tell; other
    prompts are unknown."""
    asked = prompt.split()
    if asked[:2] != ["Q:", "add"]:
        return None
    return float(answer.strip() == str(int(asked[2]) + int(asked[4])))


def never(prompt: str, answer: str) -> float | None:
    """0 for every answer."""
    return 0.0 if prompt.startswith("Q:") else None


def broken(prompt: str, answer: str) -> float | None:
    """Points that are none, for every answer that is not empty."""
    return 7.0 if answer else 0.0


def as_told(prompt: str, answer: str, reference: str | None = None) -> float | None:
    """1 where an answer begins with a digit and the reference too, or neither; None without one."""
    if reference is None:
        return None
    return float(answer[:1].isdecimal() == reference[:1].isdecimal())
