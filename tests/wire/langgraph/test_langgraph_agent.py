"""LangGraphAgent over the real langgraph: what a graph is sent, and what becomes of its answers.
What google-adk 2.3.0 sends was recorded with langgraph 0.4.7, the last one that it works with."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.support.optionals import parts_of, present

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import interrupt

from ostinato import types
from ostinato.agents import LlmAgent, LoopAgent, SequentialAgent
from ostinato.agents.langgraph_agent import LangGraphAgent
from ostinato.context.run_config import RunConfig, StreamingMode
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import AgentTool
from tests.unit.durable.crash import DyingStore, Killed
from tests.unit.flows.kit import SESSION, Store, Talk

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


@pytest.fixture
def store() -> Store:
    return Store(None)


class Graph:
    """A graph of one node, which keeps what it was sent."""

    def __init__(self, answer: Any = None, saver: Any = None) -> None:
        self.sent: list[list[tuple[str, str]]] = []
        self.threads: list[str] = []
        self.answer = answer or (lambda messages: AIMessage(f"reply {len(messages)}"))

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            self.sent.append([(type(m).__name__, m.text) for m in state["messages"]])
            self.threads.append(config["configurable"]["thread_id"])
            return {"messages": [self.answer(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        graph.add_edge("node", END)
        self.compiled = graph.compile(checkpointer=saver)

    def agent(self, name: str = "graph", **fields: Any) -> LangGraphAgent:
        return LangGraphAgent(name=name, graph=self.compiled, **fields)


SYSTEM, ONE, TWO = (
    ("SystemMessage", "Be nice {x}"),
    ("HumanMessage", "one"),
    ("HumanMessage", "two"),
)


@pytest.mark.spec(77)
@pytest.mark.parametrize("saver", [None, InMemorySaver])
async def test_a_graph_knows_the_whole_conversation_and_the_instruction_comes_first(
    store: Store, saver: Any
) -> None:
    graph = Graph(saver=saver and saver())
    talk = Talk(graph.agent(instruction="Be nice {x}"), store)
    first, second = await talk.say("one"), await talk.say("two")
    assert graph.sent == [[SYSTEM, ONE], [SYSTEM, ONE, ("AIMessage", "reply 2"), TWO]]
    assert graph.threads == [SESSION, SESSION]
    for events, text in ((first, "reply 2"), (second, "reply 4")):
        (event,) = events
        assert (event.author, present(event.content).role, event.partial) == (
            "graph",
            "model",
            None,
        )
        assert final_text(events) == text and event.is_final_response()
    await talk.check_sound()


@pytest.mark.spec(77)
async def test_with_a_checkpointer_only_what_is_new_is_sent(store: Store) -> None:
    graph, sent = Graph(saver=InMemorySaver()), []
    plain = graph.compiled.ainvoke

    async def ainvoke(given: Any, config: Any) -> Any:
        sent.append([m.content for m in given["messages"]])
        return await plain(given, config)

    graph.compiled.ainvoke = ainvoke
    talk = Talk(graph.agent(instruction="Be nice"), store)
    for text in ("one", "two", "three"):
        await talk.say(text)
    assert sent == [["Be nice", "one"], ["two"], ["three"]]


@pytest.mark.spec(77)
@pytest.mark.parametrize("saver", [None, InMemorySaver])
async def test_what_other_agents_say_is_not_sent(store: Store, saver: Any) -> None:
    graph = Graph(saver=saver and saver())
    other = LlmAgent(name="other", model=ScriptedModel(["hm", "hm"]))
    talk = Talk(SequentialAgent(name="line", sub_agents=[other, graph.agent()]), store)
    await talk.say("one")
    await talk.say("two")
    assert graph.sent == [[ONE], [ONE, ("AIMessage", "reply 1"), TWO]]


async def test_pictures_and_several_texts_reach_the_graph(store: Store) -> None:
    seen: list[Any] = []
    graph = Graph(lambda messages: seen.append(messages[-1].content) or AIMessage("ok"))
    talk = Talk(graph.agent(), store)
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x"))
    texts = [types.Part(text="a"), types.Part(text="b")]
    await talk.say(types.Content(role="user", parts=texts))
    await talk.say(types.Content(role="user", parts=[picture, texts[0]]))
    assert seen == [
        "a\nb",
        [
            {"type": "image", "base64": "eA==", "mime_type": "image/png"},
            {"type": "text", "text": "a"},
        ],
    ]


async def test_an_answer_in_blocks_is_joined_and_tokens_are_counted(store: Store) -> None:
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    graph = Graph(lambda _: AIMessage(content=blocks, usage_metadata=usage))
    (event,) = await Talk(graph.agent(), store).say()
    assert final_text([event]) == "ab"
    assert present(event.usage_metadata).total_token_count == 5


@pytest.mark.parametrize("message", [AIMessage(""), HumanMessage("what?")])
async def test_no_answer_is_an_error_event_and_no_echo(store: Store, message: Any) -> None:
    (event,) = await Talk(Graph(lambda _: message).agent(), store).say()
    assert event.error_code == "EMPTY_RESPONSE" and event.content is None


async def test_what_a_graph_raises_names_agent_and_thread(store: Store) -> None:
    def fail(_: Any) -> Any:
        raise ValueError("boom")

    talk = Talk(Graph(fail).agent(), store)
    error = await talk.fails()
    assert str(error) == "boom"
    assert any("the graph of agent 'graph' (thread 'one'" in note for note in error.__notes__)
    assert (await talk.stored())[-1].error_message == "boom"


async def test_tokens_are_streamed(store: Store) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("It is sunny.")]))

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    talk = Talk(LangGraphAgent(name="graph", graph=graph.compile()), store)
    events = await talk.say("Go", run_config=SSE)
    pieces = [parts_of(e)[0].text or "" for e in events if e.partial]
    assert len(pieces) > 1 and "".join(pieces) == "It is sunny."
    assert [final_text([e]) for e in events if not e.partial] == ["It is sunny."]
    assert len(await talk.stored()) == 2


async def test_an_interrupt_is_a_question_and_the_next_message_its_answer(store: Store) -> None:
    graph = Graph(lambda _: AIMessage("You said " + interrupt("Which city?")), InMemorySaver())
    talk = Talk(graph.agent(), store)
    assert final_text(await talk.say("Weather")) == "Which city?"
    assert final_text(await talk.say("Rome")) == "You said Rome"
    assert final_text(await talk.say("Weather")) == "Which city?"


class SyncSaver(InMemorySaver):
    """A checkpointer without async methods, as the one for SQLite is."""

    async def aget_tuple(self, config: Any) -> Any:
        raise NotImplementedError("no async methods")


async def test_a_checkpointer_without_async_methods_works(store: Store) -> None:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"reply {len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    agent = LangGraphAgent(name="graph", graph=graph.compile(checkpointer=SyncSaver()))
    talk = Talk(agent, store)
    assert final_text(await talk.say("one")) == "reply 1"
    assert final_text(await talk.say("two")) == "reply 3"


async def test_a_loop_asks_the_graph_again(store: Store) -> None:
    graph = Graph(saver=InMemorySaver())
    talk = Talk(LoopAgent(name="loop", max_iterations=2, sub_agents=[graph.agent()]), store)
    assert [final_text([e]) for e in await talk.say("one")] == ["reply 1", "reply 3"]
    assert graph.sent[1] == [ONE, ("AIMessage", "reply 1"), ONE]


async def test_a_graph_is_a_tool_like_any_agent(store: Store) -> None:
    graph = Graph()
    model = ScriptedModel([call("graph", request="one"), "Done."])
    root = LlmAgent(name="root", model=model, tools=[AgentTool(graph.agent())])
    events = await Talk(root, store).say()
    assert events[1].get_function_responses()[0].response == {"result": "reply 1"}
    assert graph.sent == [[ONE]]


def test_run_sync_runs_a_graph() -> None:
    assert Graph().agent().run_sync("one").output == "reply 1"


async def test_what_was_rewound_is_not_sent(store: Store) -> None:
    graph = Graph()
    talk = Talk(graph.agent(), store)
    await talk.say("one")
    (second,) = await talk.say("wrong")
    await talk.runner.rewind_async(
        user_id="ann", session_id=SESSION, rewind_before_invocation_id=second.invocation_id
    )
    await talk.say("two")
    assert graph.sent[-1] == [ONE, ("AIMessage", "reply 1"), TWO]


@pytest.mark.parametrize("wrong", [StateGraph(MessagesState), "graph", None])
def test_a_graph_that_is_not_compiled_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="graph takes a compiled graph"):
        LangGraphAgent(name="graph", graph=wrong)


@pytest.mark.parametrize(("commit", "after"), [(1, True), (2, False), (2, True)])
async def test_after_a_death_the_graph_runs_once_and_its_answer_is_there(
    tmp_path: Path, commit: int, after: bool
) -> None:
    """The process dies once the message is stored, before the answer is, and after it."""
    saver = InMemorySaver()  # stands for one that outlives the process
    graph = Graph(saver=saver)
    dying = DyingStore(tmp_path / "s.db", at=commit, after=after)
    kept = Store(tmp_path / "s.db")
    doomed = Store(None)
    doomed.service = dying
    with pytest.raises(Killed):
        await Talk(graph.agent(), doomed).say("one")
        raise Killed  # the last commit was the answer's, and nothing came after it
    again = Graph(saver=saver)
    talk = Talk(again.agent(), kept)
    stored = await talk.stored()
    invocation_id = stored[0].invocation_id
    await talk.say(None, invocation_id=invocation_id)
    assert [final_text([e]) for e in await talk.stored() if e.author == "graph"] == ["reply 1"]
    assert len(graph.sent) + len(again.sent) == 1
    dying.dead = False
    await dying.close()
    await kept.close()
