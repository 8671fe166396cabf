"""What all adapters share: errors that name provider, model and remedy, and never a key."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    ProviderError,
)
from ostinato.models import RetryPolicy
from ostinato.runners import InMemoryRunner
from tests.support.optionals import parts_of

from .kit import KEY, Scripted, SdkError, told

ONCE = RetryPolicy(attempts=1)
PAGE = "<!DOCTYPE html><html><body>Please log in to the proxy</body></html>"


async def failure(error: Exception, **fields: Any) -> ProviderError:
    llm = Scripted.of(error, retry_policy=ONCE, **{"api_key": KEY, **fields})
    with pytest.raises(ProviderError) as caught:
        await told(llm)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "remedy"),
    [
        (400, ModelRequestError, "refused the request"),
        (401, ModelAuthError, "Check the api_key that was passed."),
        (403, ModelAuthError, "Check the api_key that was passed."),
        (404, ModelRequestError, "Check model and base_url."),
        (408, ModelTimeoutError, "did not answer in time"),
        (413, ModelRequestError, "Shorten or compact the session."),
        (422, ModelRequestError, "refused the request"),
        (429, ModelRateLimitError, "allows no more for now"),
        (500, ModelServerError, "failed"),
        (503, ModelServerError, "failed"),
        (504, ModelTimeoutError, "did not answer in time"),
        (529, ModelServerError, "failed"),
    ],
)
async def test_each_status_says_who_failed_and_what_to_do(
    status: int, kind: type[ProviderError], remedy: str
) -> None:
    error = await failure(SdkError(status, "model is loading", retry_after=3.0))
    assert type(error) is kind
    text = str(error)
    assert text.startswith(f"OpenAI (model 'gpt-5', HTTP {status}) ")
    assert remedy in text and "model is loading" in text
    assert (error.provider, error.model, error.status) == ("openai", "gpt-5", status)
    assert error.retry_after == 3.0
    assert error.retryable is (kind in (ModelRateLimitError, ModelServerError, ModelTimeoutError))


async def test_what_never_came_is_told_apart() -> None:
    timeout = await failure(SdkError("timeout"), timeout=5)
    assert isinstance(timeout, ModelTimeoutError) and "nothing for 5 seconds" in str(timeout)
    gone = await failure(SdkError("unreachable", "refused"), base_url="http://me:pw@host:1/v1/x")
    assert isinstance(gone, ModelConnectionError)
    assert "OpenAI at http://host:1 cannot be reached for model 'gpt-5': refused." in str(gone)
    assert "pw" not in str(gone)
    cut = await failure(SdkError("cut", "the stream ended early"))
    assert isinstance(cut, ModelAnswerError) and cut.retryable
    empty = await failure(SdkError("cut", " "))
    assert str(empty) == "OpenAI (model 'gpt-5') gave no usable answer: it is empty."


@pytest.mark.parametrize("status", ["cut", 502])
async def test_a_page_of_a_proxy_is_named_and_not_quoted(status: int | str) -> None:
    error = await failure(_Page(status))
    assert "an HTML page came back, not JSON: does a proxy answer?" in str(error)
    assert "log in" not in str(error)
    assert error.retryable is (status == 502)


class _Page(SdkError):
    def __init__(self, status: int | str) -> None:
        super().__init__(status, PAGE)

    def __str__(self) -> str:
        return PAGE


async def test_an_answer_over_the_limit_below_the_sdk_is_not_asked_for_again() -> None:
    wrapped = SdkError("unreachable")
    wrapped.__cause__ = ModelAnswerError("the answer is larger than 100 MB", retryable=False)
    error = await failure(wrapped)
    assert isinstance(error, ModelAnswerError) and not error.retryable
    assert "OpenAI (model 'gpt-5')" in str(error) and "larger than 100 MB" in str(error)


@pytest.mark.parametrize(
    "quoted",
    [KEY, "sk-other-9876543210", "AIzaSyA1234567890abc", "Bearer abc.def", "gsk_0123456789abc"],
)
async def test_no_key_is_quoted(quoted: str) -> None:
    error = await failure(SdkError(401, f"Incorrect API key provided: {quoted}"))
    assert "***" in str(error) and quoted not in str(error)
    assert KEY not in "".join(traceback.format_exception(error))


async def test_a_key_without_a_known_look_is_left_out_too() -> None:
    error = await failure(SdkError(401, "bad hunter2hunter2"), api_key="hunter2hunter2")
    assert "hunter2" not in str(error)


async def test_a_long_detail_is_cut() -> None:
    assert len(str(await failure(SdkError(400, "x" * 100_000)))) < 1000


def test_the_key_is_not_shown_and_not_dumped() -> None:
    llm = Scripted.of(api_key=KEY)
    assert KEY not in repr(llm) + str(llm) + llm.model_dump_json() + repr(llm.model_dump())


async def test_without_a_key_the_error_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    class Asks(Scripted):
        async def _generate(self, llm_request: Any, stream: bool) -> Any:
            self._login()
            yield

    with pytest.raises(
        ModelUnavailableError, match="set OPENAI_API_KEY, or pass api_key"
    ) as caught:
        await told(Asks.of())
    assert caught.value.reason == "no key"


async def test_the_key_is_in_no_stored_event_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    llm = Scripted.of(SdkError(401, f"wrong key {KEY}"), api_key=KEY, retry_policy=ONCE)
    runner = InMemoryRunner(LlmAgent(name="clerk", model=llm))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    with pytest.raises(ModelAuthError):
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message="Hi"):
            pass
    stored = await runner.session_service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    assert stored is not None and stored.events[-1].error_code == "ModelAuthError"
    assert KEY not in stored.model_dump_json() + caplog.text


async def test_closing_a_runner_closes_the_models_of_its_tree_and_they_work_again() -> None:
    from ostinato.tools.agent_tool import AgentTool

    root, child, aside = (Scripted.of("Hi", "Hi", model=name) for name in ("a", "b", "c"))
    tool = AgentTool(LlmAgent(name="aside", model=aside))
    agent = LlmAgent(
        name="root", model=root, tools=[tool],
        sub_agents=[LlmAgent(name="child", model=child), LlmAgent(name="heir")],
    )  # fmt: skip
    runner = InMemoryRunner(agent)
    await runner.close()
    assert [llm.closed for llm in (root, child, aside)] == [1, 1, 1]
    (event,) = await runner.run_debug("Hi", quiet=True)
    assert parts_of(event)[0].text == "Hi"
    await runner.close()


async def test_closing_builds_no_model_that_was_not_used() -> None:
    agent = LlmAgent(name="clerk", model="no-such-model")
    await InMemoryRunner(agent).close()
    with pytest.raises(ModelUnavailableError):  # so would the runner have, had it built one
        _ = agent.canonical_model
