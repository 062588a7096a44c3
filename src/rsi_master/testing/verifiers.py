"""Open verifiers for tests: points for an answer to any prompt that begins with `Q:`."""


def starts_with_letter(prompt: str, answer: str) -> float | None:
    """1 where the first character is a letter; a random model over characters is right at times."""
    if not prompt.startswith("Q:"):
        return None
    return float(answer[:1].isalpha())


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
