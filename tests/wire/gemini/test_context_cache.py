"""Context caches: made from the second turn on, used, renewed, and never in the way of a turn
(FEATURES rows 212, 213; Spec 4 §2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ostinato import _clock, types
from ostinato.agents.context_cache_config import ContextCacheConfig
from ostinato.agents.llm_agent import LlmAgent
from ostinato.apps.app import App
from ostinato.events.event import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.models.cache_metadata import CacheMetadata
from ostinato.models.gemini_context_cache_manager import GeminiContextCacheManager
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import InMemoryRunner
from tests.wire.fake_server import Answer, FakeServer, Received
from tests.wire.gemini.script import candidate, llm

pytestmark = pytest.mark.spec(212, 213)


class Service:
    """A Gemini with caches.

    Attributes:
      tokens: of each prompt, as it counts them.
      made: what caches were made of.
    """

    def __init__(self, tokens: int = 5000, *, refuses: bool = False, minutes: float = 30) -> None:
        self.tokens, self.refuses, self.minutes = tokens, refuses, minutes
        self.made: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.deleted: list[str] = []

    def __call__(self, received: Received) -> Answer:
        if received.method == "DELETE":
            self.deleted.append(received.path.rpartition("/")[2])
            return Answer({})
        if received.path.endswith("/cachedContents"):
            self.made.append(received.json)
            if self.refuses:
                return Answer({"error": {"code": 500, "message": "no"}}, status=500)
            until = datetime.fromtimestamp(_clock.now(), UTC)
            until += timedelta(minutes=self.minutes)
            name = f"cachedContents/c{len(self.made)}"
            return Answer({"name": name, "expireTime": until.isoformat()})
        self.asked.append(received.json)
        body = candidate({"text": f"answer {len(self.asked)}"}, finish="STOP")
        body["usageMetadata"] = {"promptTokenCount": self.tokens}
        return Answer(body)


async def talk(service: Service, turns: int, **settings: Any) -> list[Event]:
    """Return the model's events of a conversation."""
    async with FakeServer([service] * 60) as server:
        model: BaseLlm = llm(server.url)
        agent = LlmAgent(name="helper", model=model, instruction="Be brief")
        config = ContextCacheConfig(**settings)
        app = App(name="app", root_agent=agent, context_cache_config=config)
        runner = InMemoryRunner(app=app)
        await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
        events: list[Event] = []
        for turn in range(turns):
            said = types.UserContent(f"turn {turn + 1}")
            run = runner.run_async(user_id="u", session_id="s", new_message=said)
            events += [event async for event in run]
        await runner.close()
        await model.aclose()
    return events


def known(event: Event) -> CacheMetadata:
    assert event.cache_metadata is not None
    return event.cache_metadata


async def test_the_second_turn_makes_a_cache_and_the_third_uses_it() -> None:
    service = Service()
    events = await talk(service, 3, ttl_seconds=900)
    (made,) = service.made
    assert made["ttl"] == "900s"
    assert made["model"].endswith("gemini-2.5-flash")
    assert [content["role"] for content in made["contents"]] == ["user", "model"]
    assert "Be brief" in str(made.get("systemInstruction", made.get("system_instruction")))
    first, second, third = service.asked
    assert "cachedContent" not in first and "systemInstruction" in first
    for asked in (second, third):
        assert asked["cachedContent"] == "cachedContents/c1"
        assert "systemInstruction" not in asked
    assert [content["parts"][0]["text"] for content in second["contents"]] == ["turn 2"]
    texts = [content["parts"][0]["text"] for content in third["contents"]]
    assert texts == ["turn 2", "answer 2", "turn 3"]
    assert known(events[0]).cache_name is None and known(events[0]).fingerprint
    assert [known(event).cache_name for event in events[1:]] == ["cachedContents/c1"] * 2
    assert [known(event).invocations_used for event in events] == [None, 1, 2]
    assert known(events[1]).contents_count == 2


@pytest.mark.parametrize(("tokens", "made"), [(4095, 0), (4096, 1)])
async def test_the_provider_caches_nothing_below_its_floor(tokens: int, made: int) -> None:
    service = Service(tokens)
    await talk(service, 2, min_tokens=0)
    assert len(service.made) == made


@pytest.mark.parametrize(("tokens", "made"), [(7999, 0), (8000, 1)])
async def test_min_tokens_tests_the_previous_prompt(tokens: int, made: int) -> None:
    service = Service(tokens)
    await talk(service, 2, min_tokens=8000)
    assert len(service.made) == made


async def test_the_first_fingerprint_stays_while_no_cache_can_be_made() -> None:
    service = Service(4095)
    events = await talk(service, 3)
    assert not service.made
    first, *later = (known(event) for event in events)
    assert first.contents_count == 1 and later == [first, first]


async def test_a_fingerprint_that_no_longer_fits_is_taken_anew() -> None:
    contents = [types.UserContent(text) for text in ("a", "b", "c")]
    manager = GeminiContextCacheManager(None)
    settings = ContextCacheConfig()

    async def note(*contents: types.Content, before: CacheMetadata | None = None) -> CacheMetadata:
        request = LlmRequest(contents=[*contents], cache_config=settings, cache_metadata=before)
        noted = await manager.handle_context_caching(request)
        assert noted is not None
        return noted

    first = await note(*contents[:2])
    assert await note(*contents, before=first) == first
    other = await note(contents[2], *contents[1:], before=first)
    assert other.contents_count == 3 and other.fingerprint != first.fingerprint


async def test_a_cache_is_made_anew_after_its_intervals() -> None:
    service = Service()
    events = await talk(service, 6, cache_intervals=2)
    names = [known(event).cache_name for event in events]
    assert names == [None] + ["cachedContents/c1"] * 2 + ["cachedContents/c2"] * 2 + [
        "cachedContents/c3"
    ]
    assert service.deleted == ["c1", "c2"]
    assert len(service.made[1]["contents"]) == 6


async def test_a_cache_that_ends_soon_is_not_relied_on() -> None:
    service = Service(minutes=1)
    await talk(service, 3)
    assert len(service.made) == 2 and service.deleted == ["c1"]


async def test_a_cache_that_cannot_be_made_fails_no_turn(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(refuses=True)
    events = await talk(service, 3)
    texts = [(event.content or types.Content()).parts for event in events]
    assert [parts[0].text for parts in texts if parts] == ["answer 1", "answer 2", "answer 3"]
    assert len(service.made) == 2 and all("cachedContent" not in asked for asked in service.asked)
    assert len(service.asked[2]["contents"]) == 5
    assert "sent uncached" in caplog.text
    assert all(known(event).cache_name is None for event in events)


async def test_an_app_without_the_settings_caches_nothing() -> None:
    service = Service()
    async with FakeServer([service] * 4) as server:
        model = llm(server.url)
        runner = InMemoryRunner(agent=LlmAgent(name="helper", model=model), app_name="app")
        await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
        for text in ("a", "b"):
            said = types.UserContent(text)
            run = runner.run_async(user_id="u", session_id="s", new_message=said)
            events = [event async for event in run]
        await runner.close()
        await model.aclose()
    assert not service.made and events[0].cache_metadata is None
