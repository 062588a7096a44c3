"""The words of the suite, in groups. All are distinct, so that a word tells its group."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

THEMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        theme: tuple(words.split())
        for theme, words in {
            "beast": "lion bear wolf fox deer goat mole hare otter mouse horse camel",
            "fruit": "fig plum pear apple grape lemon melon cherry mango peach lime quince",
            "metal": "iron gold tin lead zinc silver copper nickel cobalt steel brass bronze",
            "tree": "oak elm ash pine birch cedar maple beech alder larch poplar yew",
            "tool": "saw axe rake spade file drill hammer chisel wrench plane clamp awl",
            "bird": "owl crow hawk swan wren gull heron robin finch stork crane dove",
            "cloth": "silk wool linen felt satin tweed velvet lace denim cotton fleece canvas",
            "drink": "tea milk wine cider cocoa juice beer coffee mead soda broth punch",
        }.items()
    }
)

OWNERS: Final = ("ann", "bob", "eva", "joe", "kim", "lee", "max", "sam")
THINGS: Final = ("coins", "cards", "books", "shells", "pens", "nuts", "keys", "balls")
GAINS: Final = ("gets", "finds")
LOSSES: Final = ("gives", "loses")

FUNCTIONS: Final = (
    *("dim", "ring", "lock", "play", "heat", "wash"),
    *("open", "mail", "book", "call", "save", "turn"),
)
NUMBERED: Final = ("level", "hour", "day", "size", "speed", "count")
"""Parameters whose values are numbers from 1 to 99."""
WORDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "room": ("kitchen", "attic", "cellar", "hall"),
        "tone": ("soft", "loud", "deep", "high"),
        "color": ("red", "blue", "green", "white"),
        "mode": ("eco", "fast", "night", "full"),
        "place": ("park", "pier", "farm", "mill"),
        "style": ("plain", "bold", "neat", "wild"),
    }
)
"""Parameters whose values are words."""

SYMPTOMS: Final = (
    *("cough", "rash", "fever", "ache", "chill", "cramp", "burn", "sting"),
    *("itch", "sprain", "nausea", "bruise", "vertigo", "hiccup", "migraine", "gout"),
    *("acne", "croup", "mumps", "colic", "wart", "boil", "strain", "bunion"),
)
REMEDIES: Final = (
    *("honey", "oat", "willow", "mint", "sage", "thyme", "ginger", "clove"),
    *("garlic", "balm", "camphor", "arnica", "aloe", "fennel", "nettle", "basil"),
)

CONSONANTS: Final = "bdfgklmnprstvz"
VOWELS: Final = "aeiou"
SYLLABLES: Final = tuple(consonant + vowel for consonant in CONSONANTS for vowel in VOWELS)
"""What invented names are made of."""
