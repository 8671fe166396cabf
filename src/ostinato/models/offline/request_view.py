"""A request as the offline model sees it: the current turn, the tools and the other agents."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from ... import types
from ..llm_request import LlmRequest
from ..request_text import declared_functions, instruction_text
from .schema import Param, list_params, read_schema
from .words import LONGEST

TRANSFER = "transfer_to_agent"
_CODE_OUTPUT = "```tool_output"
# How the flow reports what other agents did.
_NARRATION = "For context:"
_SAID = re.compile(r"\[(?P<who>[^\]]+)\] said: (?P<text>.*)", re.DOTALL)
_CALLED = re.compile(r"\[(?P<who>[^\]]+)\] called tool ")
_RETURNED = re.compile(r"\[([^\]]+)\] `([^`]+)` tool returned result: (.*)", re.DOTALL)
# How the flow lists the agents that a transfer may name.
_AGENT = re.compile(r"^Agent name: (?P<name>.+)\n+Agent description: ?(?P<about>.*)$", re.M)
_PARENT = re.compile(r"parent agent[^\S\n]+(?:is[^\S\n]+)?[`\"']?(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class ToolView:
    """A declared tool, or an agent to transfer to, which has no parameters."""

    name: str
    about: str
    params: tuple[Param, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `author` is another agent's name, or empty for an own call."""

    tool: str
    value: Any
    author: str = ""


@dataclass(slots=True)
class RequestView:
    """One turn, from the user's last message on.

    Attributes:
      message: the user's message.
      asked: earlier messages that this message completes by answering a question.
      calls: own calls since the message.
      results: results of calls since the message, also those of other agents.
      heard: texts of other agents since the message, by name.
      visited: other agents that acted since the message.
      code_output: the output of executed code, or None.
    """

    message: str = ""
    asked: str = ""
    instruction: str = ""
    calls: list[types.FunctionCall] = field(default_factory=list[types.FunctionCall])
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    heard: dict[str, str] = field(default_factory=dict[str, str])
    visited: set[str] = field(default_factory=set[str])
    code_output: str | None = None
    tools: dict[str, ToolView] = field(default_factory=dict[str, ToolView])
    agents: list[ToolView] = field(default_factory=list[ToolView])
    parent: str = ""

    @property
    def called(self) -> set[str]:
        """The names of the tools that were called."""
        return {call.name or "" for call in self.calls}


def read_request(llm_request: LlmRequest) -> RequestView:
    """Return the view of a request; the request is not changed."""
    contents, config = llm_request.contents, llm_request.config
    instruction = instruction_text(config)
    if len(instruction) > 2 * LONGEST:  # the list of agents is at its end
        instruction = f"{instruction[:LONGEST]}\n{instruction[-LONGEST:]}"
    view = RequestView(instruction=instruction)
    start = _find_message(contents)
    if start is not None:
        view.message = _join_texts(contents[start])
        view.asked = _find_asked(contents, start)
    for content in contents[0 if start is None else start + 1 :]:
        for part in content.parts or ():
            _read_part(view, part, content.role == "model")
    for tool in declared_functions(config):
        about = re.split(r"\n\s*(?:Args|Returns|Raises)\s*:", (tool.description or "")[:LONGEST])[0]
        schema: Any = tool.parameters_json_schema or tool.parameters
        params = tuple(list_params(read_schema(schema))) if schema is not None else ()
        view.tools[tool.name or ""] = ToolView(tool.name or "", about.strip(), params)
    if TRANSFER in view.tools:
        found = _AGENT.finditer(instruction)
        view.agents = [ToolView(one["name"].strip(), one["about"].strip()) for one in found]
        parent = _PARENT.search(instruction)
        view.parent = parent["name"] if parent else ""
    return view


def _join_texts(content: types.Content) -> str:
    texts = (part.text for part in content.parts or () if part.text and not part.thought)
    return "\n".join(texts)[:LONGEST]


def _find_message(contents: list[types.Content]) -> int | None:
    """Return the index of the user's last message; results and narrations are not messages."""
    for index in reversed(range(len(contents))):
        parts = contents[index].parts or ()
        if contents[index].role != "user" or any(
            part.function_response or part.code_execution_result for part in parts
        ):
            continue
        if not _join_texts(contents[index]).startswith((_NARRATION, _CODE_OUTPUT)):
            return index
    return None


def _find_asked(contents: list[types.Content], start: int) -> str:
    """Return the earlier messages that led to the question before the message at `start`."""
    before = contents[start - 1] if start else types.Content()
    if before.role != "model" or not _join_texts(before).rstrip().endswith("?"):
        return ""
    earlier = _find_message(contents[:start])
    if earlier is None:
        return ""
    asked = f"{_find_asked(contents, earlier)}\n{_join_texts(contents[earlier])}"
    return asked[-LONGEST:].strip()


def _read_part(view: RequestView, part: types.Part, is_own: bool) -> None:
    """Add a part that follows the message."""
    call, answer, text = part.function_call, part.function_response, (part.text or "")[:LONGEST]
    if call is not None:
        view.calls.append(call)
        if call.name == TRANSFER:
            view.visited.add(str((call.args or {}).get("agent_name")))
    elif answer is not None and answer.name != TRANSFER:
        view.results.append(ToolResult(answer.name or "", answer.response))
    elif part.code_execution_result is not None:
        view.code_output = (part.code_execution_result.output or "")[:LONGEST]
    elif is_own or part.thought:
        return
    elif text.startswith(_CODE_OUTPUT):
        view.code_output = text.removeprefix(_CODE_OUTPUT).rstrip("`\n").strip()
    elif said := _SAID.match(text):
        view.heard[said["who"]] = said["text"].strip()
        view.visited.add(said["who"])
    elif called := _CALLED.match(text):
        view.visited.add(called["who"])
    elif (returned := _RETURNED.match(text)) and returned[2] != TRANSFER:
        view.results.append(ToolResult(returned[2], _parse_literal(returned[3]), returned[1]))


def _parse_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
