"""Words and their stems, as the offline model compares them."""

from __future__ import annotations

import re

LONGEST = 4_000
"""Characters of a text that are read: some patterns need quadratic time."""

_STOP = frozenset(
    """a about after again all also am an and any are as at be been before but by can could did do
    does for from get give go had has have hello here hi him his how i if in into is it its let me
    more my need next no not now of off on one or other our out over please put s say she should so
    some t tell than that the their them then there these they this those to too us use very want
    was we were what when where which who why will with would you your""".split()
)
# Verbs that say little about what a tool is for.
GENERIC = frozenset(
    "find search look list show fetch read check load current user agent tool request answer help"
    " detail result handle write plan".split()
)
# Verbs of tools that change something: they are called only if the message has the same verb.
ACTING = frozenset(
    "book cancel pay delete remove send reimburse refund approve submit create update add buy"
    " order transfer set save post".split()
)
_SYNONYMS = {
    word: group.split()[0]
    for group in (
        "flight fly flew plane airline",
        "hotel room stay accommodation",
        "weather rain sunny forecast snow",
        "time clock hour",
        "price cost fare",
        "book reserve reservation",
        "trip travel journey",
    )
    for word in group.split()
}
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("ss", "ss"), ("s", ""))


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; `getWeather_now` has three."""
    broken = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return re.findall(r"[^\W\d_]+", broken.lower())


def stem_word(word: str) -> str:
    """Return the stem of a lower-case word; synonyms share one."""
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + rest
            break
    return _SYNONYMS.get(word, word)


def find_stems(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in order."""
    return [stem_word(word) for word in split_words(text) if word not in _STOP]


def is_common(word: str) -> bool:
    """Return whether a word is too common to be a name."""
    first = (split_words(word) or [""])[0]
    return first in _STOP | GENERIC | ACTING or first in _SYNONYMS


def speak_name(name: str) -> str:
    """Return an identifier as words: `get_current_time` becomes `get current time`."""
    return " ".join(split_words(name)) or name
