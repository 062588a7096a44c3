"""Reading and checking answers: the last whole number of the first line that is written.

Later lines do not count, because a base that never ends goes on with questions of its own. Right
is an answer whose number, read so, equals the reference; of that number alone the scorer of
reasoning-gym says the same. Of the whole answer it says less than 1 where words, other numbers or a
typographic minus stand with the right one, in gcd and lcm also for leading zeros, `.0`, a plus, a
full stop, a comma, wide digits or space. What it takes for a whole number in sums and products, and
is none here: `5e0`, `5_`, oddly placed commas.
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
