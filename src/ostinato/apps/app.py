"""App: an agent tree with its plugins and settings. A pure record; the runner reads it."""

import re
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, field_validator, model_validator

from ..agents.base_agent import BaseAgent
from ..context.app_config import EventsCompactionConfig as EventsCompactionConfig
from ..context.app_config import ResumabilityConfig as ResumabilityConfig
from ..context.budget import Budget
from ..context.deps import MakeDeps
from ..context.guardrail import as_guardrails
from ..context.node import BaseNode
from ..errors import AgentConfigError
from ..models.context_cache_config import ContextCacheConfig
from ..plugins.base_plugin import BasePlugin

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*\Z")


class App(BaseModel):
    """An application (FEATURES row 216).

    Attributes:
      name: letter first, then letters, digits, `_` and `-`; not `user`.
      root_agent: the agent that conversations start with, or a workflow or another node.
      plugins: hooks around every run, in order.
      events_compaction_config: when history is summarised.
      context_cache_config: provider-side caching.
      resumability_config: whether runs may pause and be resumed.
      tool_errors: what a raising tool does: `raise` to the caller, or `feedback` to the model.
      budget: what each invocation may use.
      make_deps: makes the deps of a run that was passed none, from its ReadonlyContext.
      input_guardrails: check each message to the app.
      output_guardrails: check all that its agents say.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    name: str
    root_agent: SkipValidation[Any] = None
    plugins: list[BasePlugin] = Field(default_factory=list[BasePlugin])
    events_compaction_config: EventsCompactionConfig | None = None
    context_cache_config: ContextCacheConfig | None = None
    resumability_config: ResumabilityConfig | None = None
    tool_errors: Literal["raise", "feedback"] = "raise"
    budget: Budget | None = None
    make_deps: SkipValidation[MakeDeps | None] = None
    input_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    output_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])

    @field_validator("input_guardrails", "output_guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> list[Any]:
        return list(as_guardrails(value))

    @model_validator(mode="after")
    def _check(self) -> Self:
        validate_app_name(self.name)
        if self.root_agent is None:
            raise ValueError(f"App {self.name!r} needs a root_agent.")
        if not isinstance(self.root_agent, BaseNode):
            raise ValueError(
                f"root_agent of app {self.name!r} must be an agent or a workflow; got "
                f"{type(self.root_agent).__name__}."
            )
        return self


def validate_app_name(name: str) -> None:
    """Raise ValueError unless `name` may be an app's name."""
    if not _NAME.match(name):
        raise ValueError(
            f"Invalid app name {name!r}: must start with a letter and can only consist of letters, "
            "digits, underscores, and hyphens."
        )
    if name == "user":
        raise ValueError("App name cannot be 'user'; reserved for end-user input.")


def check_tree(root: BaseAgent) -> None:
    """Raise AgentConfigError where two agents of a tree have one name, or one is in it twice."""
    seen: dict[str, BaseAgent] = {}
    stack = [root]
    while stack:
        agent = stack.pop()
        if seen.get(agent.name) is agent:
            raise AgentConfigError(
                f"Agent {agent.name!r} is twice in the tree below {root.name!r}. Give each agent "
                "one parent, and put none below itself; `clone()` makes a copy."
            )
        if seen.setdefault(agent.name, agent) is not agent:
            raise AgentConfigError(
                f"Two agents of the tree below {root.name!r} are named {agent.name!r}; "
                "transfers and stored events could not tell them apart. Rename one."
            )
        stack.extend(agent.sub_agents)
