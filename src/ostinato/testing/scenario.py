"""Scenarios: what a user says and answers, and what the models reply, as data.

A scenario is read from YAML or JSON, or made in Python. The models' replies are found by their
position in the conversation, so that a process that resumes a run gets the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from .. import types
from ..agent_files.document import read_document
from ..errors import InputValidationError
from .scripted_model import Turn, call

StepKind = Literal["say", "approve", "reject", "answer"]
_FIELDS = ("name", "steps", "model", "state", "repeatable")


@dataclass(frozen=True, slots=True)
class Step:
    """One message of the user.

    Attributes:
      kind: `say` a text, `approve` or `reject` a call that asks, or `answer` a call that waits.
      text: what is said; else the name of the tool.
      response: the answer.
    """

    kind: StepKind
    text: str
    response: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation as data.

    Attributes:
      steps: the user's messages, in order.
      model: the replies of each agent's model, by the agent's name; "" for the root agent. An agent
        that is not named uses its own model once, and what that said is replayed.
      state: the session's state at the beginning.
      repeatable: names of tools whose repetition is harmless, such as those that only read.
      name: what reports call it.
    """

    steps: Sequence[Step]
    model: Mapping[str, Sequence[Turn]] = field(default_factory=dict[str, Sequence[Turn]])
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeatable: frozenset[str] = frozenset()
    name: str = "scenario"

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
        """Return the scenario of a file, or of the data of one.

        Args:
          source: a YAML or JSON file, its data, or a scenario.

        Raises:
          InputValidationError: it does not describe a scenario; the error names the field.
          OstinatoError: the file cannot be read.
        """
        if isinstance(source, Scenario):
            return source
        if isinstance(source, Mapping):
            return _parse(source, "scenario")
        path = Path(source)
        if path.suffix == ".json":
            try:
                return _parse(json.loads(path.read_text("utf-8")), path.stem)
            except (OSError, ValueError, RecursionError) as error:
                raise InputValidationError(
                    f"The scenario {path.name} cannot be read: {error}."
                ) from error
        return _parse(read_document(path).data, path.stem)


def _parse(data: Any, name: str) -> Scenario:
    if not isinstance(data, Mapping):
        raise InputValidationError(f"{name}: a scenario is an object with `steps`.")
    fields = cast("Mapping[str, Any]", data)
    unknown = [key for key in fields if key not in _FIELDS]
    if unknown:
        known = ", ".join(_FIELDS)
        raise InputValidationError(f"{name}: {unknown[0]!r} is no field; there are {known}.")
    steps = [
        _parse_step(one, f"{name}: steps[{at}]")
        for at, one in enumerate(_list(fields, "steps", name))
    ]
    if not steps:
        raise InputValidationError(f"{name}: `steps` is empty; give at least one message.")
    model: Any = fields.get("model", {})
    if not isinstance(model, (list, dict)):
        raise InputValidationError(f"{name}: `model` is a list of replies, or one for each agent.")
    if "model" in fields and not model:
        raise InputValidationError(
            f"{name}: `model` has no replies. Leave it out to let the agents ask their own models."
        )
    scripts = {"": cast(Any, model)} if isinstance(model, list) else cast(dict[str, Any], model)
    for agent, turns in scripts.items():
        if not isinstance(turns, list):
            raise InputValidationError(f"{name}: model {agent} is no list of replies.")
        if not turns:
            raise InputValidationError(
                f"{name}: model {agent} has no replies. Leave it out to let the agent ask its own "
                "model."
            )
    return Scenario(
        steps,
        {
            agent: [
                _parse_turn(one, f"{name}: model {agent}[{at}]") for at, one in enumerate(turns)
            ]
            for agent, turns in scripts.items()
        },
        fields.get("state") or {},
        frozenset(map(str, _list(fields, "repeatable", name))),
        str(fields.get("name") or name),
    )


def _list(fields: Mapping[str, Any], key: str, name: str) -> Sequence[Any]:
    found: Any = fields.get(key) or []
    if not isinstance(found, list):
        raise InputValidationError(f"{name}: `{key}` has to be a list.")
    return cast("list[Any]", found)


def _parse_step(step: Any, where: str) -> Step:
    if isinstance(step, str):
        return Step("say", step)
    if isinstance(step, dict) and len(cast("dict[str, Any]", step)) == 1:
        ((kind, value),) = cast("dict[str, Any]", step).items()
        if kind in ("say", "approve", "reject") and isinstance(value, str):
            return Step(kind, value)
        if kind == "answer" and isinstance(value, dict):
            answer = cast("dict[str, Any]", value)
            if isinstance(answer.get("tool"), str) and isinstance(answer.get("response"), dict):
                return Step("answer", answer["tool"], answer["response"])
    raise InputValidationError(
        f"{where} is no step: give a text, `approve: TOOL`, `reject: TOOL`, or "
        "`answer: {tool: TOOL, response: {...}}`."
    )


def _parse_turn(turn: Any, where: str) -> Turn:
    if isinstance(turn, list):
        pieces: list[Any] = [_parse_turn(one, where) for one in cast("list[Any]", turn)]
        return pieces
    if isinstance(turn, (str, types.FunctionCall)):
        return turn
    if isinstance(turn, dict):
        fields = cast("dict[str, Any]", turn)
        args: Any = fields.get("args") or {}
        if isinstance(fields.get("call"), str) and fields.keys() <= {"call", "args"}:
            if isinstance(args, dict):
                return call(fields["call"], **cast("dict[str, Any]", args))
    raise InputValidationError(
        f"{where} is no reply: give a text, `{{call: TOOL, args: {{...}}}}`, or a list of these."
    )
