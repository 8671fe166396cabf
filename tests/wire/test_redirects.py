"""A key of a provider goes to the host that it is for, wherever a redirect leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato.errors import ModelConnectionError, ProviderError
from ostinato.models.base_llm import BaseLlm
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.anthropic import script as anthropic
from tests.wire.chat import script as chat
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.gemini import script as gemini
from tests.wire.gemini.conftest import ask
from tests.wire.responses import script as responses

_SCRIPTS: list[Any] = [gemini, anthropic, chat, responses]


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda one: one.__name__.split(".")[-2])
@pytest.mark.parametrize("same_host", [True, False])
async def test_a_redirect_to_another_host_is_not_sent_the_key(script: Any, same_host: bool) -> None:
    make: Callable[[str], BaseLlm] = script.llm
    refusal = Answer({"error": {"message": "no"}}, status=400)
    async with FakeServer([refusal]) as other:
        place = other.url if same_host else other.url.replace("127.0.0.1", "localhost")
        redirect = Answer(status=307, headers={"location": f"{place}/elsewhere"})
        async with FakeServer([redirect]) as server:
            with pytest.raises(ProviderError):
                await ask(make(server.url))
        [first], [second] = server.requests, other.requests
    assert script.KEY in str(first.headers)
    assert second.path == "/elsewhere"
    # Another port is another service of the host.
    assert script.KEY not in str(second.headers)


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda one: one.__name__.split(".")[-2])
async def test_an_error_names_the_server_that_could_not_be_reached(script: Any) -> None:
    async with FakeServer([]) as gone:
        dead = gone.url
    secret = dead.replace("://", "://me:hunter2@") + "/v1?key=hunter2"
    redirects = [Answer(status=307, headers={"location": secret})] * 5
    async with FakeServer(redirects) as server:
        llm = script.llm(server.url)
        llm.retry_policy = RetryPolicy(attempts=1)
        with pytest.raises(ModelConnectionError) as caught:
            await ask(llm)
    text = str(caught.value)
    assert f"redirects to {dead}, which cannot be reached" in text and "hunter2" not in text
