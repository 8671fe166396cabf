"""App: an agent tree with its plugins and settings, which the runner reads."""

import re
import warnings
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, field_validator, model_validator

from .._adk_mode import follows_adk
from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..context.app_config import EventsCompactionConfig as EventsCompactionConfig
from ..context.app_config import ResumabilityConfig as ResumabilityConfig
from ..context.budget import Budget
from ..context.context_policy import ContextPolicy
from ..context.deps import MakeDeps
from ..context.guardrail import as_guardrails
from ..context.node import BaseNode
from ..errors import AgentConfigError
from ..models.context_cache_config import ContextCacheConfig
from ..plugins.base_plugin import BasePlugin
from ..tools import policy as policies
from ..types.deferred_signature import DeferredSignature

logger = get_logger(__name__)

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*\Z")


class App(BaseModel):
    """An application (FEATURES row 216).

    Attributes:
      name: letter first, then letters, digits, `_` and `-`; not `user`.
      root_agent: the agent that conversations start with, or a workflow or another node.
      plugins: hooks around every run, in order.
      events_compaction_config: when to summarise the history.
      context_cache_config: provider-side caching.
      resumability_config: whether runs may pause and resume.
      tool_errors: what happens to a tool's exception: `raise` it to the caller, or `feedback` to
        the model.
      send_client_secrets: whether requests for credentials hold the secret of the OAuth2 client and
        the PKCE verifier, for clients that exchange codes themselves. The session stores them.
      budget: limits of each invocation.
      make_deps: creates the deps of a run that was passed none, from its ReadonlyContext.
      input_guardrails: check each message to the app.
      output_guardrails: check all output of its agents.
      policy: rules about tool calls.
      examples: messages to begin with, which the page of `ostinato web` offers.
      context: limits on tool results in requests.

    Raises:
      ValidationError: a field is missing or invalid.
      TypeError: `root_agent` is neither an agent nor a workflow.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    name: str
    root_agent: SkipValidation[Any] = None
    plugins: list[BasePlugin] = Field(default_factory=list[BasePlugin])
    events_compaction_config: EventsCompactionConfig | None = None
    context_cache_config: ContextCacheConfig | None = None
    resumability_config: ResumabilityConfig | None = None
    tool_errors: Literal["raise", "feedback"] = "raise"
    send_client_secrets: bool = False
    budget: Budget | None = None
    make_deps: SkipValidation[MakeDeps | None] = None
    input_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    output_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    policy: SkipValidation[Any] = None
    examples: list[str] = Field(default_factory=list[str])
    context: ContextPolicy | None = None
    __signature__: ClassVar[Any] = DeferredSignature()

    @field_validator("input_guardrails", "output_guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> list[Any]:
        return list(as_guardrails(value))

    @field_validator("policy", mode="after")
    @classmethod
    def _check_policy(cls, value: Any) -> Any:
        return policies.check_policy(value) if value is not None else None

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        validate_app_name(self.name)
        if self.root_agent is None:
            raise ValueError(f"root_agent must be provided. App {self.name!r} has none.")
        if not isinstance(self.root_agent, BaseNode):
            raise TypeError(
                f"root_agent must be a BaseAgent or BaseNode instance, got "
                f"{type(self.root_agent).__name__} (app {self.name!r})"
            )
        compaction = self.events_compaction_config
        if compaction is not None and compaction.overlap_size < 0:
            raise ValueError(
                f"App {self.name!r}: overlap_size of its EventsCompactionConfig is "
                f"{compaction.overlap_size}; give the number of invocations that the next summary "
                "repeats (0 or more)."
            )
        if self.send_client_secrets:
            warnings.warn(
                f"App {self.name!r} sends OAuth2 client secrets to its clients and stores them in "
                "its sessions. Let the clients send the code back instead, and leave "
                "send_client_secrets out.",
                UserWarning,
                stacklevel=3,
            )
        return self


def validate_app_name(name: str) -> None:
    """Raise ValueError if `name` is not valid for an app."""
    if not _NAME.match(name):
        raise ValueError(
            f"Invalid app name {name!r}: must start with a letter and can only consist of letters, "
            "digits, underscores, and hyphens."
        )
    if name == "user":
        raise ValueError("App name cannot be 'user'; reserved for end-user input.")


def check_tree(root: BaseAgent) -> None:
    """Check that each agent is in the tree once and has a unique name.

    Programs for google-adk may give several agents the same name; they get a warning.

    Raises:
      AgentConfigError: an agent is in the tree twice, or two have the same name.
    """
    seen: dict[str, BaseAgent] = {}
    visited: set[int] = set()
    stack = [root]
    while stack:
        agent = stack.pop()
        if id(agent) in visited:
            raise AgentConfigError(
                f"Agent {agent.name!r} is twice in the tree below {root.name!r}. Give each agent "
                "one parent, and none itself as a descendant; `clone()` makes a copy."
            )
        visited.add(id(agent))
        if seen.setdefault(agent.name, agent) is not agent:
            text = (
                f"Two agents of the tree below {root.name!r} are named {agent.name!r}; "
                "transfers and stored events could not tell them apart. Rename one."
            )
            if not follows_adk():
                raise AgentConfigError(text)
            logger.warning("%s", text)
        stack.extend(agent.sub_agents)
