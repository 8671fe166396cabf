"""NoHooks: the plugin hooks of an invocation that has no plugins. Every hook answers None."""

from __future__ import annotations

from typing import Any


class NoHooks:
    """Implements the `Hooks` port without any plugin."""

    plugins: tuple[Any, ...] = ()

    def overrides(self, hook_name: str) -> bool:
        """Tell whether any plugin overrides a hook: there is none."""
        return False

    async def _none(self, **_: Any) -> None:
        return None

    run_on_user_message_callback = _none
    run_before_run_callback = _none
    run_after_run_callback = _none
    run_on_event_callback = _none
    run_before_agent_callback = _none
    run_after_agent_callback = _none
    run_before_model_callback = _none
    run_after_model_callback = _none
    run_on_model_error_callback = _none
    run_before_tool_callback = _none
    run_after_tool_callback = _none
    run_on_tool_error_callback = _none
    run_on_agent_error_callback = _none
    run_on_run_error_callback = _none

    async def close(self) -> None:
        """Nothing to close."""
