"""Reflect and retry, for tools and for models: counts, scopes, advice, and the end of it."""

import asyncio
import threading
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins import ReflectAndRetryModelPlugin, ReflectAndRetryToolPlugin
from ostinato.plugins._failure_counts import FailureCounts
from ostinato.plugins.reflect_retry_tool_plugin import TrackingScope
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool
from tests.unit.tools.contexts import make_context


def fragile(x: int) -> int:
    """Give x."""
    return x


TOOL = FunctionTool(fragile)
HANDLED = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"


def in_run(invocation_id: str) -> Any:
    context = make_context()
    context.get_invocation_context().invocation_id = invocation_id
    return context


async def fail(plugin: Any, run: str = "e-1", tool: Any = TOOL, error: Any = None) -> Any:
    return await plugin.on_tool_error_callback(
        tool=tool, tool_args={"x": 1}, tool_context=in_run(run), error=error or ValueError("small")
    )


async def succeed(plugin: Any, run: str = "e-1", result: Any = None) -> Any:
    return await plugin.after_tool_callback(
        tool=TOOL, tool_args={"x": 1}, tool_context=in_run(run), result=result or {"x": 1}
    )


async def test_failures_in_a_row_are_counted() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=2)
    first, second = await fail(plugin), await fail(plugin)
    assert (first["retry_count"], second["retry_count"]) == (1, 2)
    assert first["response_type"] == HANDLED
    assert (first["error_type"], first["error_details"]) == ("ValueError", "small")
    for word in ("fragile", "ValueError: small", '{"x": 1}', "attempt 1", "2 retries"):
        assert word in first["reflection_guidance"]
    error = ValueError("small")
    with pytest.raises(ValueError, match="small") as raised:
        await fail(plugin, error=error)
    assert raised.value is error
    assert "2 times" in error.__notes__[0]


async def test_a_success_starts_over() -> None:
    plugin = ReflectAndRetryToolPlugin()
    answer = await fail(plugin)
    assert await succeed(plugin, result=answer) is None, "its own answer is no success"
    assert (await fail(plugin))["retry_count"] == 2
    assert await succeed(plugin) is None
    assert (await fail(plugin))["retry_count"] == 1


async def test_tools_and_runs_count_by_themselves() -> None:
    plugin = ReflectAndRetryToolPlugin()
    await fail(plugin)
    other = FunctionTool(fragile).copy_as("other")
    assert (await fail(plugin, tool=other))["retry_count"] == 1
    assert (await fail(plugin, run="e-2"))["retry_count"] == 1
    assert (await fail(plugin))["retry_count"] == 2


async def test_all_runs_may_count_together() -> None:
    plugin = ReflectAndRetryToolPlugin(tracking_scope=TrackingScope.GLOBAL)
    await fail(plugin)
    assert (await fail(plugin, run="e-2"))["retry_count"] == 2

    class PerUser(ReflectAndRetryToolPlugin):
        def _get_scope_key(self, tool_context: Any) -> str:
            return tool_context.user_id

    plugin = PerUser()
    await fail(plugin)
    assert (await fail(plugin, run="e-2"))["retry_count"] == 2


async def test_the_model_may_be_told_to_stop() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1, throw_exception_if_retry_exceeded=False)
    await fail(plugin)
    for _ in range(2):
        answer = await fail(plugin)
        assert answer["retry_count"] == 1
        assert "Do not call `fragile` again" in answer["reflection_guidance"]


@pytest.mark.parametrize("plugin", [ReflectAndRetryToolPlugin, ReflectAndRetryModelPlugin])
def test_retries_are_not_negative(plugin: Any) -> None:
    with pytest.raises(ValueError, match="non-negative"):
        plugin(max_retries=-1)


class Reads(ReflectAndRetryToolPlugin):
    async def extract_error_from_result(self, *, result: Any, **rest: Any) -> Any:
        return result if "error" in result else None


async def test_errors_in_results() -> None:
    plugin = Reads(max_retries=1)
    answer = await succeed(plugin, result={"error": "bad"})
    assert (answer["error_type"], answer["error_details"]) == ("ToolError", "{'error': 'bad'}")
    with pytest.raises(RuntimeError, match=r"fragile.*bad"):
        await succeed(plugin, result={"error": "bad"})
    assert await succeed(plugin) is None
    assert (await succeed(plugin, result={"error": "bad"}))["retry_count"] == 1


def test_counts_hold_with_threads() -> None:
    counts, seen = FailureCounts(), []

    def work() -> None:
        seen.extend(counts.add("scope", "tool") for _ in range(500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 2001))


def failing(times: int) -> Any:
    left = [times]

    def fragile(x: int) -> int:
        """Give x."""
        if left[0]:
            left[0] -= 1
            raise ValueError("too small")
        return x

    return fragile


@pytest.mark.spec(134, 158)
async def test_a_run_goes_on_until_the_tool_works() -> None:
    model = ScriptedModel(
        [call("fragile", x=1), call("fragile", x=2), call("fragile", x=3), "Done."]
    )
    agent = Agent(name="root", model=model, tools=[failing(2)])
    talk = Conversation(agent, plugins=[ReflectAndRetryToolPlugin()])
    await talk.say("Go")
    assert talk.text == "Done."
    answers = [answer.response or {} for answer in model.requests[3].function_responses]
    assert [answer.get("retry_count") for answer in answers] == [1, 2, None]
    assert answers[2] == {"result": 3}


async def test_a_run_ends_with_the_tools_own_error() -> None:
    model = ScriptedModel([call("fragile", x=1), call("fragile", x=2), "Never."])
    agent = Agent(name="root", model=model, tools=[failing(9)])
    plugin = ReflectAndRetryToolPlugin(max_retries=1)
    talk = Conversation(agent, plugins=[plugin])
    with pytest.raises(ValueError, match="too small"):
        await talk.say("Go")
    assert len(model.requests) == 2


async def test_counts_end_with_their_run() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1)
    for turn in range(3):
        model = ScriptedModel([call("fragile", x=1), "Done."])
        agent = Agent(name="root", model=model, tools=[failing(1)])
        await Conversation(agent, plugins=[plugin], session_id=str(turn)).say("Go")
    assert (await fail(plugin))["retry_count"] == 1


async def test_runs_beside_each_other_do_not_mix() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=2)

    async def one(session: str) -> str:
        model = ScriptedModel([call("fragile", x=1), call("fragile", x=2), "Done."])
        agent = Agent(name="root", model=model, tools=[failing(2)])
        model.add("Done.")
        talk = Conversation(agent, plugins=[plugin], session_id=session)
        await talk.say("Go")
        return talk.text

    assert await asyncio.gather(*(one(str(n)) for n in range(5))) == ["Done."] * 5


def broken(code: str = "MALFORMED_FUNCTION_CALL") -> LlmResponse:
    return LlmResponse(error_code=code, error_message="Malformed")


@pytest.mark.spec(117)
async def test_a_broken_answer_goes_back_to_the_model() -> None:
    model = ScriptedModel([broken(), broken(), "Done.", broken(), "Again."])
    talk = Conversation(
        Agent(name="root", model=model), plugins=[ReflectAndRetryModelPlugin(max_retries=2)]
    )
    await talk.say("Go")
    assert talk.text == "Done."
    calls = [c for event in talk.events for c in event.get_function_calls()]
    assert [(c.name, (c.args or {})["retry_count"]) for c in calls] == [
        ("adk_handle_model_error", 1),
        ("adk_handle_model_error", 2),
    ]
    assert calls[0].args == {
        "response_type": HANDLED,
        "error_type": "MALFORMED_FUNCTION_CALL",
        "error_details": "Malformed",
        "finish_reason": None,
        "retry_count": 1,
    }
    answers = model.requests[2].function_responses
    assert "retry 2 of 2" in (answers[1].response or {})["reflection_guidance"]
    assert model.requests[0].tool_names == []
    await talk.say("Go")
    assert talk.text == "Again."


async def test_a_models_retries_end() -> None:
    model = ScriptedModel([broken(), broken(), "Never."])
    talk = Conversation(
        Agent(name="root", model=model), plugins=[ReflectAndRetryModelPlugin(max_retries=1)]
    )
    with pytest.raises(RuntimeError, match="retry limit of 1 has been exceeded"):
        await talk.say("Go")
    plugin = ReflectAndRetryModelPlugin(max_retries=0, throw_exception_if_retry_exceeded=False)
    talk = Conversation(Agent(name="root", model=ScriptedModel([broken()])), plugins=[plugin])
    (event,) = await talk.say("Go")
    assert event.error_code == "MALFORMED_FUNCTION_CALL"


@pytest.mark.parametrize("code", ["SAFETY", "X"])
async def test_other_errors_pass(code: str) -> None:
    talk = Conversation(
        Agent(name="root", model=ScriptedModel([broken(code)])),
        plugins=[ReflectAndRetryModelPlugin()],
    )
    (event,) = await talk.say("Go")
    assert event.error_code == code


async def test_the_errors_can_be_chosen() -> None:
    model = ScriptedModel([broken("MAX_TOKENS"), "Short."])
    plugin = ReflectAndRetryModelPlugin(on_model_errors=[types.FinishReason.MAX_TOKENS])
    talk = Conversation(Agent(name="root", model=model), plugins=[plugin])
    await talk.say("Go")
    assert talk.text == "Short."


async def test_the_model_cannot_call_the_tool_itself() -> None:
    model = ScriptedModel([call("adk_handle_model_error", retry_count=0), "Done."])
    talk = Conversation(Agent(name="root", model=model), plugins=[ReflectAndRetryModelPlugin()])
    await talk.say("Go")
    (made,) = talk.events[0].get_function_calls()
    assert (made.args or {})["error_type"] == "RESERVED_TOOL_CALL"
    assert talk.text == "Done."
