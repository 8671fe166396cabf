"""PluginManager: calls the plugins' hooks in order. It is the `Hooks` port of an invocation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args

from .. import types
from .._log import get_logger
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from ..context._ports import AgentLike

logger = get_logger(__name__)

PluginCallbackName = Literal[
    "on_user_message_callback",
    "before_run_callback",
    "on_event_callback",
    "after_run_callback",
    "before_agent_callback",
    "after_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "on_model_error_callback",
    "before_tool_callback",
    "after_tool_callback",
    "on_tool_error_callback",
    "on_agent_error_callback",
    "on_run_error_callback",
]

HOOKS: tuple[PluginCallbackName, ...] = get_args(PluginCallbackName)

_read_hooks = attrgetter(*HOOKS)
_DEFINED_HOOKS = dict(zip(HOOKS, _read_hooks(BasePlugin), strict=True))  # unpatched


class PluginManager:
    """The plugins of an app (Spec 1 §14, FEATURES rows 157 to 160).

    A hook is put to the plugins in the order of their registration, until one answers anything but
    None. Plugins that do not override a hook are not asked.

    Args:
      plugins: the plugins, in order.
      close_timeout: seconds each plugin gets to close.

    Raises:
      ValueError: two plugins have one name.
    """

    def __init__(
        self, plugins: Iterable[BasePlugin] | None = None, close_timeout: float = 5.0
    ) -> None:
        self.plugins: list[BasePlugin] = []
        self._askable: dict[str, tuple[BasePlugin, ...]] = dict.fromkeys(HOOKS, ())
        self._hooks: list[tuple[Any, ...]] = []  # of each plugin, as `_askable` knows them
        self._close_timeout = close_timeout
        self._skip_closing = False
        for plugin in plugins or ():
            self.register_plugin(plugin)

    def register_plugin(self, plugin: BasePlugin) -> None:
        """Add a plugin behind the others.

        Raises:
          ValueError: there is a plugin of this name.
        """
        if self.get_plugin(plugin.name) is not None:
            raise ValueError(f"Plugin with name '{plugin.name}' already registered.")
        self.plugins.append(plugin)
        self._read_overrides()

    def notice_patches(self) -> None:
        """Look again for hooks that were patched on a plugin or a class, or are so no longer."""
        if list(map(_read_hooks, self.plugins)) != self._hooks:
            self._read_overrides()

    def _read_overrides(self) -> None:
        self._hooks = list(map(_read_hooks, self.plugins))
        for hook in HOOKS:
            self._askable[hook] = tuple(p for p in self.plugins if _overrides(p, hook))

    def get_plugin(self, plugin_name: str) -> BasePlugin | None:
        """Return the plugin of this name, or None."""
        return next((plugin for plugin in self.plugins if plugin.name == plugin_name), None)

    def set_skip_closing_plugins(self, value: bool) -> None:
        """Let `close` do nothing, for a manager whose plugins another one closes."""
        self._skip_closing = value

    def overrides(self, hook_name: str) -> bool:
        """Return whether any plugin overrides a hook, such as `before_model_callback`."""
        return bool(self._askable[hook_name])

    async def run_on_user_message_callback(
        self, *, user_message: types.Content, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Return the message that replaces the user's, or None."""
        if not self._askable["on_user_message_callback"]:
            return None
        return await self._ask(
            "on_user_message_callback",
            user_message=user_message,
            invocation_context=invocation_context,
        )

    async def run_before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Return the content that stands for the whole run, or None."""
        if not self._askable["before_run_callback"]:
            return None
        return await self._ask("before_run_callback", invocation_context=invocation_context)

    async def run_after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Tell the plugins that a run has ended."""
        if self._askable["after_run_callback"]:
            await self._ask("after_run_callback", invocation_context=invocation_context)

    async def run_on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Return the event that replaces `event`, or None."""
        if not self._askable["on_event_callback"]:
            return None
        return await self._ask(
            "on_event_callback", invocation_context=invocation_context, event=event
        )

    async def run_before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        """Return the content that stands for the agent's run, or None."""
        if not self._askable["before_agent_callback"]:
            return None
        return await self._ask(
            "before_agent_callback", agent=agent, callback_context=callback_context
        )

    async def run_after_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        """Return content to add to the agent's answers, or None."""
        if not self._askable["after_agent_callback"]:
            return None
        return await self._ask(
            "after_agent_callback", agent=agent, callback_context=callback_context
        )

    async def run_before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Return the response that stands for a model call, or None."""
        if not self._askable["before_model_callback"]:
            return None
        return await self._ask(
            "before_model_callback", callback_context=callback_context, llm_request=llm_request
        )

    async def run_after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Return the response that replaces the model's, or None."""
        if not self._askable["after_model_callback"]:
            return None
        return await self._ask(
            "after_model_callback", callback_context=callback_context, llm_response=llm_response
        )

    async def run_on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Return the response to continue with after a failed model call, or None."""
        if not self._askable["on_model_error_callback"]:
            return None
        return await self._ask(
            "on_model_error_callback",
            callback_context=callback_context,
            llm_request=llm_request,
            error=error,
        )

    async def run_before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Return the result that stands for a tool's run, or None."""
        if not self._askable["before_tool_callback"]:
            return None
        return await self._ask(
            "before_tool_callback", tool=tool, tool_args=tool_args, tool_context=tool_context
        )

    async def run_after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Return the result that replaces a tool's, or None."""
        if not self._askable["after_tool_callback"]:
            return None
        return await self._ask(
            "after_tool_callback",
            tool=tool,
            tool_args=tool_args,
            tool_context=tool_context,
            result=result,
        )

    async def run_on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """Return the result to continue with after a failed tool, or None."""
        if not self._askable["on_tool_error_callback"]:
            return None
        return await self._ask(
            "on_tool_error_callback",
            tool=tool,
            tool_args=tool_args,
            tool_context=tool_context,
            error=error,
        )

    async def run_on_agent_error_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext, error: Exception
    ) -> None:
        """Tell every plugin that an agent has failed."""
        if self._askable["on_agent_error_callback"]:
            await self._tell(
                "on_agent_error_callback",
                agent=agent,
                callback_context=callback_context,
                error=error,
            )

    async def run_on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Tell every plugin that a run has failed."""
        if self._askable["on_run_error_callback"]:
            await self._tell(
                "on_run_error_callback", invocation_context=invocation_context, error=error
            )

    async def _ask(self, hook: str, **kwargs: Any) -> Any:
        """Put a hook to the plugins and return the first answer that is not None.

        Raises:
          RuntimeError: a plugin raised; its exception is the cause.
        """
        for plugin in self._askable[hook]:
            answer = await _call(plugin, hook, kwargs)
            if answer is not None:
                return answer
        return None

    async def _tell(self, hook: str, **kwargs: Any) -> None:
        """Call a hook of every plugin, whatever it answers; one that raises is logged.

        The error being told of is on its way to the caller, and must not be lost to another.
        """
        for plugin in self._askable[hook]:
            try:
                await _call(plugin, hook, kwargs)
            except RuntimeError as error:
                logger.error("%s", error, exc_info=error)

    async def close(self) -> None:
        """Close the plugins, one after the other.

        Raises:
          RuntimeError: some could not be closed, or not in time; every one was tried.
        """
        if self._skip_closing:
            return
        failed: list[tuple[str, Exception]] = []
        for plugin in self.plugins:
            try:
                async with asyncio.timeout(self._close_timeout):
                    outcome: Any = plugin.close()
                    if inspect.isawaitable(outcome):
                        await outcome
            except Exception as error:  # boundary: the others have to be closed anyway
                failed.append((plugin.name, error))
        if failed:
            names = ", ".join(f"'{name}': {type(error).__name__}" for name, error in failed)
            raise RuntimeError(f"Failed to close plugins: {names}") from failed[0][1]


async def _call(plugin: BasePlugin, hook: str, kwargs: dict[str, Any]) -> Any:
    try:
        answer = getattr(plugin, hook)(**kwargs)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # boundary: name the plugin and hook to its author
        if error is kwargs.get("error"):
            return None  # it raised what it was told of, so it has no answer to it
        raise RuntimeError(
            f"Error in plugin '{plugin.name}' during '{hook}' callback: {error}"
        ) from error


def _overrides(plugin: BasePlugin, hook: PluginCallbackName) -> bool:
    """Return whether a plugin has its own form of a hook, in its class or set on the object."""
    own = hook in vars(plugin)
    return own or getattr(type(plugin), hook, None) is not _DEFINED_HOOKS[hook]
