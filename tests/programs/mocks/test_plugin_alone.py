"""pytest style: a plugin's hooks called directly with mocks, and with a PluginManager."""

from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.genai import types


class Counter(BasePlugin):
    def __init__(self):
        super().__init__(name="counter")
        self.agents = self.requests = 0

    async def before_agent_callback(self, *, agent, callback_context):
        self.agents += 1

    async def before_model_callback(self, *, callback_context, llm_request):
        self.requests += 1


@pytest.mark.asyncio
async def test_hooks():
    plugin = Counter()
    agent = Mock(spec=BaseAgent)
    context = Mock(spec=CallbackContext)
    await plugin.before_agent_callback(agent=agent, callback_context=context)
    await plugin.before_model_callback(callback_context=context, llm_request=LlmRequest())
    assert (plugin.agents, plugin.requests) == (1, 1)


@pytest.mark.asyncio
async def test_manager_stops_at_the_first_answer():
    first, second = Counter(), Counter()
    second.name = "second"
    answer = types.Content(role="model", parts=[types.Part(text="early")])
    first.before_run_callback = AsyncMock(return_value=answer)
    second.before_run_callback = AsyncMock(return_value=None)
    manager = PluginManager(plugins=[first, second])
    result = await manager.run_before_run_callback(invocation_context=Mock(spec=InvocationContext))
    assert result is answer
    second.before_run_callback.assert_not_awaited()


@pytest.mark.asyncio
async def test_manager_wraps_errors():
    plugin = Counter()
    plugin.on_event_callback = AsyncMock(side_effect=ValueError("broken"))
    manager = PluginManager(plugins=[plugin])
    with pytest.raises(RuntimeError) as caught:
        await manager.run_on_event_callback(invocation_context=MagicMock(), event=MagicMock())
    assert isinstance(caught.value.__cause__, ValueError)


def test_names_are_unique():
    with pytest.raises(ValueError):
        PluginManager(plugins=[Counter(), Counter()])
    manager = PluginManager(plugins=[Counter()])
    assert manager.get_plugin("counter").name == "counter"
    assert manager.get_plugin("other") is None
