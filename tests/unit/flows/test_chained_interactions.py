"""A chained request: the model knows what it would know if all were sent, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App, EventsCompactionConfig
from ostinato.apps.llm_event_summarizer import LlmEventSummarizer
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel

pytestmark = pytest.mark.spec(214)
WHO: dict[str, Any] = {"user_id": "ann", "session_id": "one"}


class Provider:
    """Keeps interactions, as Gemini's and OpenAI's services do."""

    def __init__(self) -> None:
        self.kept: dict[str, list[str]] = {}
        self.asked: list[tuple[str, str | None, list[str], list[str]]] = []

    @property
    def previous(self) -> list[str | None]:
        return [previous for _, previous, _, _ in self.asked]

    def check(self) -> None:
        """What the model knew is what the agent's request says, each time."""
        for _, _, whole, known in self.asked:
            assert known == whole


class Chaining(BaseLlm):
    """A model that chains; it repeats the last words with its own name before them."""

    model: str = "chaining"
    use_interactions_api: bool = True
    says: str | None = None
    provider: Any = None

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        previous = llm_request.previous_interaction_id
        contents = llm_request.contents
        start = 0
        if previous is not None:
            start = len(contents)
            while start and contents[start - 1].role != "model":
                start -= 1
        known = [*self.provider.kept.get(previous, []), *lines(contents[start:])]
        id = f"i{len(self.provider.asked) + 1}"
        self.provider.asked.append((self.model, previous, lines(contents), known))
        text = self.says or f"Heard {known[-1]}"
        self.provider.kept[id] = [*known, f"model: {text}"]
        content = types.Content(role="model", parts=[types.Part(text=text)])
        yield LlmResponse(content=content, interaction_id=id)


def lines(contents: list[types.Content]) -> list[str]:
    return [f"{c.role}: {''.join(p.text or '' for p in c.parts or ())}" for c in contents]


class Talk:
    def __init__(self, root: Any, provider: Provider, **app: Any) -> None:
        self.provider = provider
        self.runner = InMemoryRunner(app=App(name="talk", root_agent=root, **app))
        self.runner.auto_create_session = True

    async def say(self, *texts: str) -> None:
        for text in texts:
            async for _ in self.runner.run_async(**WHO, new_message=text):
                pass


def talk(**fields: Any) -> Talk:
    provider = Provider()
    fields.setdefault("model", Chaining(provider=provider))
    return Talk(LlmAgent(name="clerk", **fields), provider)


async def test_turns_are_chained() -> None:
    one = talk()
    await one.say("a", "b", "c")
    assert one.provider.previous == [None, "i1", "i2"]
    one.provider.check()


async def test_after_a_rewind_what_was_taken_back_is_not_known() -> None:
    one = talk()
    await one.say("a", "b")
    session = await one.runner.session_service.get_session(app_name="talk", **WHO)
    assert session is not None
    taken_back = [e.invocation_id for e in session.events if e.author == "user"][-1]
    await one.runner.rewind_async(**WHO, rewind_before_invocation_id=taken_back)
    await one.say("c")
    assert one.provider.previous == [None, "i1", "i1"]
    one.provider.check()


async def test_without_contents_nothing_is_chained() -> None:
    one = talk(include_contents="none")
    await one.say("a", "b")
    assert one.provider.previous == [None, None]
    one.provider.check()


async def test_a_turn_that_a_callback_answered_is_sent() -> None:
    def answer(callback_context: Any, llm_request: Any) -> LlmResponse | None:
        if llm_request.contents[-1].parts[0].text != "b":
            return None
        return LlmResponse(content=types.ModelContent("From the callback."))

    one = talk(before_model_callback=answer)
    await one.say("a", "b", "c", "d")
    assert one.provider.previous == [None, None, "i2"]
    assert "model: From the callback." in one.provider.asked[1][3]
    one.provider.check()


async def test_contents_that_a_callback_edits_are_sent_whole() -> None:
    def edit(callback_context: Any, llm_request: Any) -> None:
        if llm_request.contents[-1].parts[0].text == "c":
            llm_request.contents[0] = types.UserContent("edited")

    one = talk(before_model_callback=edit)
    await one.say("a", "b", "c", "d", "e")
    assert one.provider.previous == [None, "i1", None, None, "i4"]
    one.provider.check()


async def test_an_answer_that_a_callback_edits_is_sent_as_the_session_has_it() -> None:
    def edit(callback_context: Any, llm_response: LlmResponse) -> LlmResponse:
        assert llm_response.content is not None and llm_response.content.parts
        llm_response.content.parts[0].text = "Edited."
        return llm_response

    one = talk(after_model_callback=edit)
    await one.say("a", "b")
    assert one.provider.previous == [None, None]
    one.provider.check()


async def test_another_model_is_sent_the_whole() -> None:
    one = talk()
    await one.say("a")
    agent: Any = one.runner.agent
    agent.model = Chaining(model="other", provider=one.provider)
    await one.say("b", "c")
    assert one.provider.previous == [None, None, "i2"]
    one.provider.check()


async def test_after_a_compaction_the_summary_is_sent_and_the_chain_is_new() -> None:
    provider = Provider()
    agent = LlmAgent(name="clerk", model=Chaining(provider=provider))
    config = EventsCompactionConfig(
        summarizer=LlmEventSummarizer(llm=ScriptedModel(["Summary."] * 9)),
        compaction_interval=2,
        overlap_size=0,
    )
    one = Talk(agent, provider, events_compaction_config=config)
    await one.say("a", "b", "c", "d")
    assert provider.previous[2] is None
    assert "Summary." in str(provider.asked[2][3])
    provider.check()


async def test_a_fork_is_sent_whole() -> None:
    one = talk()
    await one.say("a")
    service = one.runner.session_service
    session = await service.get_session(app_name="talk", **WHO)
    assert session is not None
    fork = await service.create_session(app_name="talk", user_id="ann", session_id="two")
    for event in session.events:
        await service.append_event(fork, event.model_copy(deep=True))
    async for _ in one.runner.run_async(user_id="ann", session_id="two", new_message="b"):
        pass
    assert one.provider.previous == [None, None]
    one.provider.check()


async def test_an_id_that_a_callback_names_stays() -> None:
    def choose(callback_context: Any, llm_request: Any) -> None:
        llm_request.previous_interaction_id = "chosen"

    one = talk(before_model_callback=choose)
    await one.say("a")
    assert one.provider.previous == ["chosen"]


async def test_old_sessions_without_a_note_are_sent_whole() -> None:
    def forget(callback_context: Any, llm_response: LlmResponse) -> LlmResponse:
        llm_response.custom_metadata = None
        return llm_response

    one = talk(after_model_callback=forget)
    await one.say("a", "b")
    assert one.provider.previous == [None, None]
    one.provider.check()


@pytest.mark.parametrize("kind", [ParallelAgent, SequentialAgent])
async def test_each_agent_continues_its_own_interactions_only(kind: Any) -> None:
    """Both agents say the same, so that only the name and the branch tell them apart."""
    provider = Provider()
    agents = [
        LlmAgent(name=name, model=Chaining(provider=provider, says="Yes."))
        for name in ("left", "right")
    ]
    one = Talk(kind(name="both", sub_agents=agents), provider)
    await one.say("a")
    before = await owners(one)
    await one.say("b")
    after = await owners(one)
    assert set(before.values()) == {"left", "right"}
    for index, (_, previous, _, _) in enumerate(provider.asked, 1):
        if previous is not None:
            assert after[previous] == after[f"i{index}"]
    if kind is ParallelAgent:
        assert sorted(str(p) for p in provider.previous) == ["None", "None", "i1", "i2"]
    provider.check()


async def owners(one: Talk) -> dict[str, str]:
    """The agent of each interaction."""
    session = await one.runner.session_service.get_session(app_name="talk", **WHO)
    assert session is not None
    return {e.interaction_id: e.author for e in session.events if e.interaction_id}


class Stumbling(Chaining):
    """Chains, and makes a call first that cannot be read."""

    empty_retries: ClassVar[int] = 1

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        is_first = not self.provider.asked
        async for response in super().generate_content_async(llm_request, stream):
            if is_first:
                response.content = None
                response.error_code = "MALFORMED_FUNCTION_CALL"
            yield response


async def test_an_answer_to_a_hint_is_not_continued() -> None:
    """The provider keeps the hint, which the session does not have."""
    provider = Provider()
    one = talk(model=Stumbling(provider=provider))
    one.provider = provider
    await one.say("a")
    assert "could not be parsed" in provider.asked[1][2][-1]
    assert await owners(one) == {}
    await one.say("b", "c")
    assert provider.previous == [None, None, None, "i3"]
    provider.check()
