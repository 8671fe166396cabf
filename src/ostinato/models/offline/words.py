"""Words: how the offline model breaks text into comparable stems."""

from __future__ import annotations

import re

_STOP = frozenset(
    """a about after again all also am an and any are as at be been before but by can could did do
    does for from get give go had has have her here him his how i if in into is it its let me more
    my need no not of off on one or other our out over please put say she should so some tell than
    thank thanks that the their them then there these they this those to too up us use used using
    very want was we were what when where whether which who whom whose why will with would you your
    d ll m re s t ve""".split()
)  # fmt: skip

# Verbs that say nothing of what a tool is about, and do no harm.
GENERIC = frozenset(
    "find search look list show fetch read check lookup query load current available user agent"
    " tool request question answer help information detail result handle".split()
)

# Verbs of tools that change something: they are called only where the user says so.
ACTING = frozenset(
    "book cancel pay delete remove send reimburse refund approve submit create update add buy"
    " reserve schedule order transfer set save write post".split()
)

_GROUPS = (
    "flight fly flying flew plane airline",
    "hotel room accommodation stay sleep lodging hostel",
    "weather rain raining sunny forecast temperature warm cold hot umbrella snow wind",
    "time clock hour",
    "price cost fare expensive cheap cheapest",
    "book booking reserve reservation",
    "buy purchase",
    "pay payment",
    "guest passenger people person adult traveller traveler",
    "trip travel journey vacation holiday tour",
    "mail email e-mail",
    "restaurant eat dinner lunch food",
    "calculate compute calculation sum",
    "approve approval",
    "delete remove",
    "find search lookup",
    "doc document",
    "invoice bill",
)

_IRREGULAR = {"children": "child", "men": "man", "women": "woman", "sent": "send", "paid": "pay"}


def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of one meaning share it."""
    bare = _strip(_IRREGULAR.get(word, word))
    return _CANONICAL.get(bare, bare)


def _strip(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "aeioulsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_CANONICAL = {_strip(word): _strip(group.split()[0]) for group in _GROUPS for word in group.split()}
_EVERYDAY = frozenset(word for group in _GROUPS for word in group.split()) | {"go", "drive", "move"}
GENERIC_STEMS = frozenset(map(stem, GENERIC))
ACTING_STEMS = frozenset(map(stem, ACTING))


def is_everyday(word: str) -> bool:
    """Whether a lower-case word is one of the verbs and things known here, hence no name."""
    return word in GENERIC or word in ACTING or word in _EVERYDAY


def is_stop(word: str) -> bool:
    """Whether a word carries no meaning of its own."""
    return word.lower() in _STOP


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case; names like `getWeather_now` are broken up."""
    broken = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return re.findall(r"[^\W\d_]+", broken.lower())


def stems(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in order."""
    return [stem(word) for word in plain_words(text) if word not in _STOP]


def spoken(name: str) -> str:
    """Return an identifier as words: `get_current_time` -> `get current time`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower().strip() or name
