"""Choice: which functions and which agents fit what the user said, by the words they share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .arguments import Filled, fill, topic_of
from .facts import Facts
from .reading import TRANSFER, Reading, Target, ToolView
from .words import ACTING_STEMS, GENERIC_STEMS, stems

EXIT_LOOP = "exit_loop"
SET_RESPONSE = "set_model_response"
_APART = frozenset((TRANSFER, EXIT_LOOP, SET_RESPONSE))
_FITS = 1.5
_AGENT_FITS = 1.0
_BY_NAME, _BY_ABOUT, _BY_PARAM, _BY_EVIDENCE = 3.0, 1.0, 0.5, 0.4
_MANY = 4


@dataclass(slots=True)
class Fit:
    """A function, how well it fits, which words it explains, and its arguments."""

    tool: ToolView
    score: float
    words: set[str]
    named: set[str]
    filled: Filled

    @property
    def asked_for(self) -> bool:
        """Whether the user asked for the change that the function makes."""
        return bool(self.named & ACTING_STEMS)

    @property
    def ready(self) -> bool:
        """Whether every required argument is there."""
        return not self.filled.missing


def choosable(reading: Reading) -> list[ToolView]:
    """Return the functions that are picked by words, those of the runtime apart."""
    return [tool for tool in reading.tools if tool.name not in _APART]


def fits(reading: Reading, message: str, background: str = "") -> list[Fit]:
    """Return the functions that fit a message, the best first.

    Where functions were called since, only those count that see to words which these left open.
    """
    said = set(stems(message)) | set(stems(background))
    tools = [tool for tool in choosable(reading) if _may_act(tool, said)]
    rarity = Counter(word for tool in tools for word in _words_of(tool))
    texts = [Facts(text) for text in (message, background) if text]
    called = {name for name, _ in reading.calls}
    still_open = set(left_open(reading).split())
    found: list[Fit] = []
    for tool in tools:
        if tool.name in called:
            continue
        fit = _measure(tool, said, rarity, fill(tool, texts, reading.own_results))
        if called and not (fit.named - GENERIC_STEMS) & still_open:
            continue  # what it is for has been seen to
        if fit.score >= _FITS:
            found.append(fit)
    return sorted(found, key=lambda fit: (-fit.score, not fit.ready))


def instructed(reading: Reading) -> list[Fit]:
    """Return harmless functions that the instruction names and whose arguments are all there."""
    called = {name for name, _ in reading.calls}
    facts = Facts(reading.message)
    found: list[Fit] = []
    for tool in choosable(reading):
        if tool.name in called or tool.name not in reading.instruction or not _may_act(tool, set()):
            continue
        filled = fill(tool, [facts], reading.own_results)
        if tool.params and filled.args and not filled.missing:
            found.append(Fit(tool, 0.0, set(), set(), filled))
    return found


def pick(found: list[Fit]) -> list[Fit]:
    """Return the fits to call now: the best, and others that explain words it leaves open.

    Where the best lacks an argument, a ready one that shares its subject goes first: its result
    may hold what is lacking.
    """
    if not found:
        return []
    picked: list[Fit] = []
    explained: set[str] = set()
    for fit in found:
        if not fit.ready or len(picked) == _MANY:
            continue
        if not picked or fit.named - explained - GENERIC_STEMS:
            picked.append(fit)
            explained |= fit.words
    return picked


def calls_of(fit: Fit) -> list[dict[str, Any]]:
    """Return the arguments of the calls that a fit stands for; several for several places."""
    calls = [fit.filled.args]
    for name, values in fit.filled.several.items():
        calls += [{**fit.filled.args, name: value} for value in values]
    return calls


def best_target(reading: Reading, message: str) -> tuple[Target | None, float]:
    """Return the agent, not yet asked in this turn, that fits a message best, and how well."""
    said = set(stems(message))
    free = [target for target in reading.targets if target.name not in reading.visited]
    rarity = Counter(word for t in free for word in set(stems(t.name)) | set(stems(t.about)))
    best: tuple[Target | None, float] = (None, 0.0)
    for target in free:
        named, about = set(stems(target.name)), set(stems(target.about))
        score = _weigh(said & named, rarity) * _BY_NAME + _weigh(said & about - named, rarity)
        if score >= _AGENT_FITS and score > best[1]:
            best = (target, score)
    return best


def left_open(reading: Reading) -> str:
    """Return the words of the message that no function called so far speaks for."""
    explained: set[str] = set()
    for name, args in reading.calls:
        tool = reading.tool(name)
        explained |= _words_of(tool) if tool is not None else set(stems(name))
        explained |= set(stems(" ".join(str(value) for value in args.values())))
    return " ".join(word for word in stems(reading.message) if word not in explained)


def _words_of(tool: ToolView) -> set[str]:
    named = [*stems(tool.name), *stems(tool.about)]
    return {*named, *(word for param in tool.params for word in stems(param.name))}


def _may_act(tool: ToolView, said: set[str]) -> bool:
    """Whether the user asked for what a function does, if it changes something."""
    verb = next(iter(stems(tool.name)), "")
    return verb not in ACTING_STEMS or verb in said


def _measure(tool: ToolView, said: set[str], rarity: Counter[str], filled: Filled) -> Fit:
    name, about = set(stems(tool.name)), set(stems(tool.about))
    params = {word for param in tool.params for word in stems(param.name)}
    score = _BY_NAME * _weigh(said & name, rarity)
    score += _BY_ABOUT * _weigh(said & about - name, rarity)
    score += _BY_PARAM * _weigh(said & params - name - about, rarity)
    if any(topic_of(param) == "expression" and param.name in filled.args for param in tool.params):
        score += _FITS  # a sum in the message speaks for itself
    if score:
        score += _BY_EVIDENCE * min(filled.evidence, 3)
        score -= 0.5 * len((name & ACTING_STEMS) - said)
    return Fit(tool, score, said & (name | about | params), said & name, filled)


def _weigh(shared: set[str], rarity: Counter[str]) -> float:
    """Sum up shared words; general ones, and those that many options share, weigh less."""
    return sum(
        (0.25 if word in GENERIC_STEMS else 1.0) / (1 + 0.5 * max(0, rarity[word] - 1))
        for word in shared
    )
