"""TaskTool: offers an agent of mode `task` to the agent above it. The flow runs the task itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from .. import types
from ..context._ports import AgentLike
from ..events.tool_origin import ToolOrigin
from ..models.invalid_args import INVALID_ARGS_KEY
from ..sessions.log.resume import waits_for_answer
from .agent_tool import text_of
from .base_tool import BaseTool
from .called_agent import WAITING, run_called_agent
from .model_mistake import ModelMistake, missing_arguments, read_reasons, wrong_arguments
from .single_turn_tool import find_last_answer, is_answer

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

_ALONE = (
    "This hands a task to another agent, which may talk with the user before it is done. "
    "Call it by itself, not beside other tools."
)

_ASKS = "The agent needs an answer. Ask the user, then call it again with all that it has to know."


class TaskTool(BaseTool):
    """An agent of mode `task` as the model above it sees it (Spec 4 §1, FEATURES row 70).

    The arguments are the fields of the agent's `input_schema`; without one, `request`.

    Args:
      agent: the agent.
    """

    keeps_result = True
    sends_events = True
    repeatable = True  # what its agent does is on record under the id of the call

    def __init__(self, agent: AgentLike) -> None:
        described = [part for part in (agent.description, _ALONE) if part]
        super().__init__(name=agent.name, description="\n".join(described))
        self.agent = agent
        self._declaration: types.FunctionDeclaration | None = None

    @property
    def tool_origin(self) -> ToolOrigin:
        """The agent that does the task."""
        return ToolOrigin("agent", self.agent.name)

    def _get_declaration(self) -> types.FunctionDeclaration:
        if self._declaration is None:
            schema = input_schema_of(self.agent)
            self._declaration = types.FunctionDeclaration(
                name=self.name,
                description=self.description,
                parameters_json_schema=_REQUEST if schema is None else schema.model_json_schema(),
            )
        return self._declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the task as far as it goes without the user: in live runs; else the flow runs it.

        The live model talks with the user: it is told what the agent asks, and calls again with
        what the user said.

        Returns:
          The output of the task; or a dict with `question`; or `WAITING`.

        Raises:
          AgentConfigError: no runner takes the agent's events.
        """
        mistake = wrong_input(self.agent, args)
        if mistake is not None:
            return mistake
        text = json.dumps(args, ensure_ascii=False)
        told = types.Content(role="user", parts=[types.Part(text=text)])
        inner = await run_called_agent(self.agent, told, tool_context)
        scope = inner.isolation_scope or ""
        end = inner.log.scopes.get(scope)
        if end is not None:
            return end.event().output
        said = find_last_answer(inner.log, scope)
        if not is_answer(said) and waits_for_answer(inner.log, inner.invocation_id, inner.branch):
            return WAITING
        return {"question": text_of(said), "status": _ASKS}


_REQUEST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "request": {"type": "string", "description": "What to do, with all that is needed for it."}
    },
    "required": ["request"],
}


def input_schema_of(agent: Any) -> type[BaseModel] | None:
    """Return the model that the arguments of a task have to fit, or None for plain requests."""
    schema = getattr(agent, "input_schema", None)
    return schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None


def wrong_input(agent: AgentLike, args: dict[str, Any]) -> ModelMistake | None:
    """Return what to answer the model where a task cannot begin with these arguments."""
    if INVALID_ARGS_KEY in args:
        return ModelMistake(error=f"The arguments of `{agent.name}()` are no JSON. Call it again.")
    schema = input_schema_of(agent)
    if schema is None:
        return None if "request" in args else missing_arguments(agent.name, ("request",))
    try:
        schema.model_validate(args)
    except ValidationError as error:
        return wrong_arguments(agent.name, read_reasons(error))
    return None
