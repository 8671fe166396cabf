"""Choice of tools and agents by the words that they share with the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .arguments import fill_arguments
from .request_view import TRANSFER, RequestView, ToolView
from .schema import Param
from .words import ACTING, GENERIC, find_stems

EXIT_LOOP, SET_RESPONSE, FINISH_TASK = "exit_loop", "set_model_response", "finish_task"
_NAME_WEIGHT, _GENERIC_WEIGHT = 3.0, 0.25
_LEAST_SCORE = 1.0


@dataclass(slots=True)
class Match:
    """A tool that fits the message: its score, the shared words of its name, and its calls."""

    tool: ToolView
    score: float
    named: set[str]
    calls: list[dict[str, Any]]
    missing: list[Param]


def list_tools(view: RequestView) -> list[ToolView]:
    """Return the tools that a message may ask for; the runtime's own are left out."""
    own = (TRANSFER, EXIT_LOOP, SET_RESPONSE, FINISH_TASK)
    return [tool for name, tool in view.tools.items() if name not in own]


def match_tools(view: RequestView) -> list[Match]:
    """Return the tools that fit what the message still asks for, the best first."""
    said = set(find_stems(f"{view.message} {view.asked}"))
    is_open = set(open_stems(view))
    found: list[Match] = []
    for tool in list_tools(view):
        named = said & set(find_stems(tool.name))
        if tool.name in view.called or (view.called and not (named - GENERIC) & is_open):
            continue
        score = _score(tool, said)
        if score >= _LEAST_SCORE and _is_allowed(tool, said):
            found.append(_make_match(view, tool, score, named))
    return sorted(found, key=lambda one: (-one.score, bool(one.missing)))


def match_instruction(view: RequestView) -> Match | None:
    """Return a harmless tool that the instruction names and whose arguments are known."""
    for tool in list_tools(view):
        is_named = tool.name in view.instruction and tool.name not in view.called
        if is_named and tool.params and _is_allowed(tool, set()):
            match = _make_match(view, tool, 0.0, set())
            if not match.missing:
                return match
    return None


def match_agent(view: RequestView, stems: set[str]) -> tuple[str, float]:
    """Return the agent that fits best and has not acted in this turn, with its score."""
    free = [agent for agent in view.agents if agent.name not in view.visited]
    scores = [(_score(agent, stems), agent.name) for agent in free]
    score, name = max(scores, key=lambda one: one[0], default=(0.0, ""))
    return (name, score) if score >= _LEAST_SCORE else ("", 0.0)


def choose_calls(matches: list[Match]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls to make now: of the best match, and of matches for other words."""
    calls: list[tuple[str, dict[str, Any]]] = []
    explained: set[str] = set()
    for match in matches:
        if not match.missing and (not calls or match.named - explained - GENERIC):
            calls += [(match.tool.name, args) for args in match.calls]
            explained |= _tool_stems(match.tool)
    return calls


def open_stems(view: RequestView) -> list[str]:
    """Return the stems of the message that no call has explained yet."""
    explained: set[str] = set()
    for call in view.calls:
        tool = view.tools.get(call.name or "")
        explained |= _tool_stems(tool) if tool else set(find_stems(call.name or ""))
        explained |= set(find_stems(" ".join(map(str, (call.args or {}).values()))))
    return [stem for stem in find_stems(view.message) if stem not in explained]


def _make_match(view: RequestView, tool: ToolView, score: float, named: set[str]) -> Match:
    return Match(tool, score, named, *fill_arguments(view, tool))


def _tool_stems(tool: ToolView) -> set[str]:
    params = " ".join(param.name for param in tool.params)
    return set(find_stems(f"{tool.name} {tool.about} {params}"))


def _score(tool: ToolView, stems: set[str]) -> float:
    named = set(find_stems(tool.name))
    about = set(find_stems(tool.about)) - named
    return sum(
        weight * (_GENERIC_WEIGHT if stem in GENERIC else 1.0)
        for words, weight in ((named, _NAME_WEIGHT), (about, 1.0))
        for stem in words & stems
    )


def _is_allowed(tool: ToolView, said: set[str]) -> bool:
    """Return whether a tool changes nothing, or the message has its verb."""
    verb = next(iter(find_stems(tool.name)), "")
    return verb not in ACTING or verb in said
