"""Reading and checking answers: the last whole number of the first line that is written.

Later lines do not count, because a base that never ends goes on with questions of its own. Right
is what reasoning-gym scores with 1; its credit for answers that merely hold the right one is not
taken over.
"""

import re
import unicodedata
from typing import Final

_MINUS_SIGNS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?:(?<![)\d] )-)?"  # a minus after a value is an operator, not a sign
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.0+)?"
    r"(?![\w]|[.,][0-9])"
)


def extract(output: str) -> str | None:
    """The answer of an output in canonical form, None where it gives none."""
    plain = unicodedata.normalize("NFKC", output).translate(_MINUS_SIGNS).strip()
    numbers = _NUMBER.findall(plain.partition("\n")[0])
    if not numbers:
        return None
    return str(int(numbers[-1].partition(".")[0].replace(",", "")))
