"""Reading: what the offline model takes out of a request, once, before it decides."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, cast

from ... import types
from ..llm_request import LlmRequest
from ..request_text import declared_functions, instruction_text
from .schema import Param, params_of, plain_schema

TRANSFER = "transfer_to_agent"
_PREFACE = "For context:"
_CODE_OUTPUT = re.compile(r"```tool_output\n(.*?)\n*```", re.DOTALL)
_SAID = re.compile(r"\[(?P<who>[^\]]+)\] said: (?P<text>.*)", re.DOTALL)
_CALLED = re.compile(r"\[(?P<who>[^\]]+)\] called tool `(?P<tool>[^`]+)`")
_RETURNED = re.compile(
    r"\[(?P<who>[^\]]+)\] `(?P<tool>[^`]+)` tool returned result: (?P<value>.*)", re.DOTALL
)
_TARGET = re.compile(r"^Agent name: (?P<name>.+)\n+Agent description: ?(?P<about>.*)$", re.M)
_PARENT = re.compile(r"parent agent[^\S\n]+(?:is[^\S\n]+)?[`\"']?(?P<name>\w+)")
_NAME = re.compile(r"internal name is [\"'`]?(?P<name>\w+)")
_ABOUT = re.compile(r"description about you is [\"'`](?P<about>.*?)[\"'`]\.?\s*$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class ToolView:
    """A declared function: what it is called, what it is for, what it takes."""

    name: str
    about: str
    params: tuple[Param, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """An agent that the question may be handed to."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gave; `author` is another agent's name, or empty for one's own call."""

    tool: str
    value: Any
    author: str = ""


@dataclass(slots=True)
class Reading:
    """One turn, from the user's last message on.

    Attributes:
      message: the user's words.
      background: earlier words that the message completes, as the answer to a question does.
      calls: names and arguments of own calls since the message.
      results: what calls gave, own ones and other agents'.
      heard: what other agents said since the message, as pairs of name and text.
      said: own words since the message.
      code_output: what run code printed last.
    """

    message: str = ""
    background: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(
        default_factory=list[tuple[str, dict[str, Any]]]
    )
    results: list[Result] = field(default_factory=list[Result])
    heard: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    said: list[str] = field(default_factory=list[str])
    visited: set[str] = field(default_factory=set[str])
    code_output: str | None = None
    tools: list[ToolView] = field(default_factory=list[ToolView])
    targets: list[Target] = field(default_factory=list[Target])
    parent: str = ""
    name: str = ""
    about: str = ""
    instruction: str = ""
    schema: dict[str, Any] | None = None

    @property
    def own_results(self) -> list[Result]:
        """Results of own calls."""
        return [result for result in self.results if not result.author]

    def tool(self, name: str) -> ToolView | None:
        """Return the declared function of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


def read(llm_request: LlmRequest) -> Reading:
    """Take a request apart; nothing of it is changed."""
    contents = llm_request.contents
    start = _last_message(contents)
    reading = Reading(instruction=instruction_text(llm_request.config))
    if start is not None:
        reading.message = _text(contents[start])
        reading.background = _background(contents, start)
    for content in contents[0 if start is None else start + 1 :]:
        _take_in(reading, content)
    reading.tools = [
        ToolView(d.name or "", _about(d), params_of(d))
        for d in declared_functions(llm_request.config)
    ]
    _read_instruction(reading)
    if llm_request.config.response_schema is not None:
        reading.schema = plain_schema(cast(Any, llm_request.config.response_schema))
    elif llm_request.config.response_json_schema is not None:
        reading.schema = plain_schema(llm_request.config.response_json_schema)
    return reading


def _about(declaration: types.FunctionDeclaration) -> str:
    """Return a description without the sections that docstrings append to it."""
    text = declaration.description or ""
    return re.split(r"\n\s*(?:Args|Arguments|Returns|Raises|Yields)\s*:", text)[0].strip()


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or [] if part.text and not part.thought)


def _is_message(content: types.Content) -> bool:
    """Whether a content is the user's own words, not a narration, a result or printed output."""
    parts = content.parts or []
    if content.role != "user" or any(
        part.function_response or part.code_execution_result for part in parts
    ):
        return False
    text = _text(content)
    return not text.startswith((_PREFACE, "```tool_output"))


def _last_message(contents: list[types.Content]) -> int | None:
    return next((i for i in reversed(range(len(contents))) if _is_message(contents[i])), None)


def _background(contents: list[types.Content], start: int) -> str:
    """Return the earlier messages that a question of the model ties to the one at `start`."""
    texts: list[str] = []
    at = start
    while at > 0 and contents[at - 1].role == "model":
        if not _text(contents[at - 1]).rstrip().endswith("?"):
            break
        earlier = _last_message(contents[: at - 1])
        if earlier is None:
            break
        texts.insert(0, _text(contents[earlier]))
        at = earlier
    return "\n".join(texts)


def _take_in(reading: Reading, content: types.Content) -> None:
    """Add one content that came after the message."""
    for part in content.parts or []:
        if part.function_call is not None:
            call = part.function_call
            reading.calls.append((call.name or "", dict(call.args or {})))
            if call.name == TRANSFER and call.args:
                reading.visited.add(str(call.args.get("agent_name", "")))
        elif part.function_response is not None:
            answer = part.function_response
            if answer.name != TRANSFER:
                reading.results.append(Result(answer.name or "", answer.response))
        elif part.code_execution_result is not None:
            reading.code_output = part.code_execution_result.output or ""
        elif part.text and not part.thought:
            _take_in_text(reading, content.role or "", part.text)


def _take_in_text(reading: Reading, role: str, text: str) -> None:
    if role == "model":
        reading.said.append(text)
    elif output := _CODE_OUTPUT.match(text):
        reading.code_output = output[1]
    elif said := _SAID.match(text):
        reading.heard.append((said["who"], said["text"]))
        reading.visited.add(said["who"])
    elif called := _CALLED.match(text):
        reading.visited.add(called["who"])
    elif (returned := _RETURNED.match(text)) and returned["tool"] != TRANSFER:
        value = _literal(returned["value"])
        reading.results.append(Result(returned["tool"], value, returned["who"]))


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _read_instruction(reading: Reading) -> None:
    text = reading.instruction
    reading.targets = [
        Target(m["name"].strip(), m["about"].strip()) for m in _TARGET.finditer(text)
    ]
    if name := _NAME.search(text):
        reading.name = name["name"]
    if about := _ABOUT.search(text):
        reading.about = about["about"]
    transfer = reading.tool(TRANSFER)
    allowed = transfer.params[0].enum if transfer and transfer.params else ()
    known = {target.name for target in reading.targets}
    reading.targets += [Target(name, "") for name in allowed if name not in known]
    if transfer is None:
        reading.targets = []
    if parent := _PARENT.search(text):
        reading.parent = parent["name"]
