"""Answers: the offline model's own words, from results, from what other agents said, or neither."""

from __future__ import annotations

import re

from .choice import choosable
from .reading import Reading
from .schema import Param
from .values import failure_of, sentence
from .words import plain_words, spoken

_GREETING = frozenset("hello hi hey morning evening afternoon hallo greetings welcome".split())
_FAREWELL = frozenset("bye goodbye farewell".split())
_SMALL = _GREETING | _FAREWELL | frozenset("good day there thanks thank you see again".split())


def greeting(reading: Reading) -> str:
    """Return an answer to a greeting, to thanks or to nothing; empty where it is none of these."""
    words = plain_words(reading.message)
    if not words:
        return f"I got no text to work with. {_offer(reading)}"
    if not set(words) <= _SMALL:
        return ""
    if {"thanks", "thank"} & set(words):
        return "You're welcome."
    if _FAREWELL & set(words):
        return "Goodbye!"
    if not _GREETING & set(words):
        return ""
    who = f" I am {reading.name}." if reading.name else ""
    return f"Hello!{who} {_offer(reading)}"


def from_results(reading: Reading) -> str:
    """Return what the calls of this turn gave, as sentences."""
    spoke = {who for who, _ in reading.heard}
    results = [r for r in reading.results if not r.author or r.author not in spoke]
    told: list[str] = []
    for result in results:
        line = sentence(result)
        if line not in told:
            told.append(line)
    if any(failure_of(result.value) for result in results) and len(results) == 1:
        told.append("You may want to say it differently.")
    return " ".join(told)


def from_hearsay(reading: Reading) -> str:
    """Return what the other agents said in this turn, put together."""
    told: list[str] = []
    for _, text in reading.heard:
        line = text.strip()
        if line and line not in told:
            told.append(line)
    return "\n\n".join(told)


def question(tool: str, missing: list[Param]) -> str:
    """Return a question for the arguments that a function still needs."""
    names = [_described(param) for param in missing]
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"To {spoken(tool)} I still need {listed}. What should I use?"


def no_fit(reading: Reading) -> str:
    """Return an answer to a message that nothing fits."""
    said = re.sub(r"\s+", " ", reading.message).strip()
    short = said if len(said) <= 60 else said[:57] + "..."
    if choosable(reading) or reading.targets:
        return f"I found nothing among my tools that fits “{short}”. {_offer(reading)}"
    return (
        f"As an offline stand-in without tools I have no answer to “{short}”; "
        "a real model would be needed for that."
    )


def _offer(reading: Reading) -> str:
    """Say what can be asked."""
    offers = [_first_sentence(tool.about) or spoken(tool.name) for tool in choosable(reading)]
    own = {reading.parent, reading.name}
    offers += [
        f"{target.name}: {_first_sentence(target.about)}" if target.about else target.name
        for target in reading.targets
        if target.name not in own
    ]
    if not offers:
        return "What can I do for you?"
    return "I can help with: " + "; ".join(offer.rstrip(".") for offer in offers) + "."


def _first_sentence(text: str) -> str:
    line = re.sub(r"\s+", " ", text).strip()
    return re.split(r"(?<=[.!?])\s", line)[0]


def _described(param: Param) -> str:
    name = f"the {spoken(param.name)}"
    if param.enum:
        return f"{name} (one of {', '.join(param.enum)})"
    about = _first_sentence(param.about).rstrip(".")
    return f"{name} ({about})" if about else name
