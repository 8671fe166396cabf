"""Arguments: fills a function's parameters from the user's words and from earlier results.

A required parameter that nothing speaks for stays empty, so that the model asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from ... import _clock
from .facts import Facts, Found
from .reading import Result, ToolView
from .schema import Param
from .values import same_named
from .words import plain_words, stem, stems

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

# What a parameter is about, told by the words of its name; the first row that fits counts.
_TOPICS: tuple[tuple[str, str], ...] = (
    ("email", "email mail recipient"),
    ("url", "url link uri website"),
    ("currency", "currency currencies"),
    ("date", "date day when departing departs arrives checkin checkout deadline"),
    ("time", "time hour"),
    ("path", "path file filename"),
    ("code", "id number reference code ticket sku"),
    ("expression", "expression formula equation"),
    ("place", "city location place destination origin town country airport region address"),
    ("message", "body content message text"),
    ("query", "query question prompt request topic subject search keyword input term"),
    ("person", "name person customer passenger guest user employee author owner who"),
    ("reason", "reason purpose justification cause"),
)
_ORIGIN = frozenset("from origin departure source start".split())
_GOAL = frozenset("to destination arrival target goal end".split())
_PLACED = frozenset("from to in at near via".split())
_MONEY = frozenset("amount price budget cost total limit sum value".split())


@dataclass(slots=True)
class Filled:
    """What could be filled in.

    `evidence` counts arguments that the text clearly speaks for; `several` holds further values of
    one argument, for parallel calls.
    """

    args: dict[str, Any] = field(default_factory=dict[str, Any])
    missing: list[Param] = field(default_factory=list[Param])
    evidence: int = 0
    several: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])


def fill(tool: ToolView, texts: list[Facts], results: list[Result]) -> Filled:
    """Fill in a function's arguments.

    Args:
      tool: the function.
      texts: what stands in the user's message, then in earlier words that it completes.
      results: what calls of this turn gave.
    """
    filled = Filled()
    for facts in texts:
        hand = _Hand(facts, tool)
        todo = [param for param in tool.params if param.name not in filled.args]
        for param in sorted(todo, key=lambda p: not p.required):
            value = hand.clear(param)
            if value is not None:
                filled.args[param.name] = value
                filled.evidence += 1
        if not filled.several:
            filled.several = hand.several
        for param in todo:
            if param.required and param.name not in filled.args:
                value = hand.likely(param)
                if value is not None:
                    filled.args[param.name] = value
    for param in tool.params:
        if param.required and param.name not in filled.args:
            value = same_named(param.name, results)
            if value is None:
                filled.missing.append(param)
            else:
                filled.args[param.name] = value
    return filled


def topic_of(param: Param, tool: str = "") -> str:
    """Return what a parameter of the function `tool` is about; empty where nothing tells."""
    if param.form in ("date", "date-time"):
        return "date"
    name = plain_words(param.name)
    for topic, words in _TOPICS:
        if any(word in words.split() for word in name):
            return topic
    if name and name[0] in ("from", "to"):
        about = plain_words(param.about + " " + tool)
        return "email" if "email" in about or "mail" in about else "place"
    return "date" if re.search(r"\bYYYY-MM-DD\b|\bISO date\b|\bday\b", param.about) else ""


def role_of(param: Param) -> str:
    """Return whether a parameter is where something comes `from` or goes `to`; else empty."""
    name = set(plain_words(param.name))
    if name & _ORIGIN:
        return "from"
    return "to" if name & _GOAL else ""


class _Hand:
    """Fills the parameters of one function from one text; a thing used once is used up."""

    def __init__(self, facts: Facts, tool: ToolView) -> None:
        self.facts = facts
        self.tool = tool
        self.used: set[tuple[int, int]] = set()
        self.several: dict[str, list[Any]] = {}
        self._by_topic: dict[str, Callable[[Param], Any]] = {
            "email": lambda p: self._take(self.facts.emails),
            "url": lambda p: self._take(self.facts.urls),
            "path": lambda p: self._take(self.facts.paths),
            "expression": lambda p: self._take(self.facts.sums),
            "currency": self._currency,
            "date": self._date,
            "time": lambda p: self._take(self.facts.times),
            "code": self._code,
            "place": self._place,
            "person": self._person,
            "message": lambda p: self._quoted() or self.facts.phrase_after("saying|says") or None,
            "reason": lambda p: self.facts.phrase_after("because(?: of)?|for") or None,
            "query": lambda p: (
                self._quoted()
                or self.facts.phrase_after("about|regarding|concerning|on the topic of")
                or None
            ),
        }

    def clear(self, param: Param) -> Any:
        """Return the value that the text clearly gives; None where it gives none."""
        if param.enum:
            return self._enum(param)
        match param.kind:
            case "boolean":
                return self._boolean(param)
            case "integer" | "number":
                return self._number(param, near=True)
            case "array":
                return self._array(param)
            case "object":
                return self._object(param)
            case _:
                return self._string(param)

    def likely(self, param: Param) -> Any:
        """Return the value of a required parameter that the text probably means, else None."""
        if param.enum or param.kind in ("boolean", "array", "object"):
            return None
        if param.kind in ("integer", "number"):
            return self._number(param, near=False)
        topic = topic_of(param, self.tool.name)
        if topic == "place":
            return self._take(self.facts.proper)
        if topic == "person":
            return self._take([f for f in self.facts.proper if f.before not in _PLACED])
        if topic in ("query", "message") and not self._by_topic_elsewhere("email"):
            text = self.facts.text.strip()
            return text if len(stems(text)) >= 2 else None
        if topic == "code":
            return self._take(self.facts.numbers)
        return None if topic else self._quoted() or self._object_of_verb()

    def _take(self, candidates: list[Found]) -> str | None:
        for found in candidates:
            if found.span not in self.used:
                self.used.add(found.span)
                return found.text
        return None

    def _enum(self, param: Param) -> Any:
        places = [(self.facts.mentions(value), value) for value in param.enum]
        named = sorted((place, value) for place, value in places if place >= 0)
        return named[0][1] if named else None

    def _boolean(self, param: Param) -> bool | None:
        words = plain_words(self.facts.text)
        wanted = set(stems(param.name))
        for index, word in enumerate(words):
            if stem(word) in wanted:
                return not {"no", "not", "without", "don"} & set(words[max(0, index - 3) : index])
        return None

    def _number(self, param: Param, *, near: bool) -> int | float | None:
        wanted = set(stems(param.name)) | set(stems(param.about))
        free = [found for found in self.facts.numbers if found.span not in self.used]
        if set(plain_words(param.name)) & _MONEY:
            best = [found for found in free if found.money] or [f for f in free if wanted & f.near]
        else:
            best = [found for found in free if wanted & found.near and not found.money]
        if not near and not best:
            best = free
        text = self._take(best)
        if text is None:
            return None
        return int(float(text)) if param.kind == "integer" else _as_number(text)

    def _array(self, param: Param) -> list[Any] | None:
        item = param.item
        if item is None or item.kind == "object":
            return None
        if item.enum:
            return [value for value in item.enum if self.facts.mentions(value) >= 0] or None
        if item.kind in ("integer", "number"):
            free = [found for found in self.facts.numbers if found.span not in self.used]
            self.used.update(found.span for found in free)
            cast = int if item.kind == "integer" else _as_number
            return [cast(found.text) for found in free] or None
        named = self.facts.quoted or self.facts.proper
        return [found.text for found in named if found.span not in self.used] or None

    def _object(self, param: Param) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for inner in param.fields:
            value = self.clear(inner)
            if value is None and inner.required:
                value = self.likely(inner)
            if value is not None:
                values[inner.name] = value
            elif inner.required:
                return None
        return values or None

    def _string(self, param: Param) -> Any:
        by_topic = self._by_topic.get(topic_of(param, self.tool.name))
        if by_topic is not None:
            return by_topic(param)
        return self._named(param)

    def _named(self, param: Param) -> str | None:
        """Return what follows the parameter's own name, as in `title "Foo"` or `color: blue`."""
        for word in plain_words(param.name):
            own = rf"\b{re.escape(word)}(?:e?d)?\b\s*(?::|=|is|called|named)?"
            pattern = own + r"\s*(\"[^\"]+\"|[\w.-]+)"
            match = re.search(pattern, self.facts.text, re.IGNORECASE)
            if match and match[1].lower() not in (
                "of",
                "for",
                "in",
                "on",
                "to",
                "and",
                "the",
                "is",
            ):
                return match[1].strip('"')
        return None

    def _quoted(self) -> str | None:
        return self._take(self.facts.quoted)

    def _object_of_verb(self) -> str | None:
        """Return what the verb of the function's name acts on, as `milk` in `add milk to ...`."""
        for word in plain_words(self.tool.name)[:1]:
            phrase = self.facts.phrase_after(re.escape(word))
            phrase = re.split(r"\s+(?:to|from|in|on|at|for|with)\s+", phrase)[0]
            if phrase and stem(phrase.split()[-1]) not in set(stems(self.tool.name)):
                return phrase
        return None

    def _place(self, param: Param) -> str | None:
        role = role_of(param)
        if role:
            return self._take(self.facts.after(role, *(("for",) if role == "to" else ())))
        candidates = [
            found
            for found in self.facts.after("in", "at", "near", "around", "for", "to", "of")
            if found.span not in self.used
        ]
        if not candidates:
            return self._take(self.facts.proper)
        joined = [f for f in self.facts.proper if f.before == "and" and f.start > candidates[0].end]
        # Two places in one breath ("in Rome and Paris") are two calls.
        self.several[param.name] = [found.text for found in joined]
        return self._take(candidates)

    def _person(self, param: Param) -> str | None:
        words = ("for", "is", "am", "named", "called", "by")
        if "recipient" in param.name:
            words += ("to",)
        said = self.facts.after(*words)
        return self._take([found for found in said if found.text[0].isupper()])

    def _by_topic_elsewhere(self, topic: str) -> bool:
        """Whether the function also takes something of a topic, as a mail's address."""
        return any(topic_of(param, self.tool.name) == topic for param in self.tool.params)

    def _currency(self, param: Param) -> str | None:
        if role_of(param) == "to":
            return self._take(
                [f for f in self.facts.currencies if f.before in ("to", "in", "into")]
            )
        return self._take(
            [f for f in self.facts.currencies if f.before not in ("to", "in", "into")]
        )

    def _code(self, param: Param) -> str | None:
        noun = [word for word in plain_words(param.name) if word not in ("id", "number", "code")]
        near = [f for f in self.facts.codes if set(map(stem, noun)) & f.near]
        code = self._take(near) or self._take(self.facts.codes)
        if code is not None:
            return code.lstrip("#")
        numbers = [f for f in self.facts.numbers if set(map(stem, noun)) & f.near]
        return self._take(numbers)

    def _date(self, param: Param) -> str | None:
        said = self._take(self.facts.dates)
        if said is None:
            return None
        exact = param.form in ("date", "date-time") or "YYYY-MM-DD" in param.about
        return iso_date(said) if exact else said


def _as_number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and "." not in text else number


def iso_date(said: str) -> str:
    """Return a date in words as `YYYY-MM-DD`, counted from today; unclear ones stay as they are."""
    low = said.lower()
    today = datetime.fromtimestamp(_clock.now(), UTC).date()
    if low in ("today", "tonight"):
        return today.isoformat()
    if low == "tomorrow":
        return (today + timedelta(days=1)).isoformat()
    for number, weekday in enumerate(_WEEKDAYS):
        if low.endswith(weekday):
            ahead = (number - today.weekday() - 1) % 7 + 1
            return (today + timedelta(days=ahead)).isoformat()
    return _calendar_date(low, today)


def _calendar_date(low: str, today: date) -> str:
    numbers = [int(number) for number in re.findall(r"\d+", low)]
    month = next((i for i, m in enumerate(_MONTHS, 1) if re.search(rf"\b{m}", low)), None)
    if month is None and re.fullmatch(r"\d{1,2}[./]\d{1,2}[./]\d{4}", low):
        numbers, month = [numbers[0], numbers[2]], numbers[1]
    if month is None or not numbers or not (1 <= month <= 12 and 1 <= numbers[0] <= 28 + 3):
        return low
    year = numbers[1] if len(numbers) > 1 else today.year
    try:
        found = date(year, month, numbers[0])
        if len(numbers) == 1 and found < today:
            found = date(year + 1, month, numbers[0])
    except ValueError:
        return low
    return found.isoformat()
