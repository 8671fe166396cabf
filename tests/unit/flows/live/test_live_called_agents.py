"""Agents that a live agent calls run as ever: with their own models, which are asked and not spoken
with, in a scope of their own."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.agents import (
    Agent,
    BaseAgent,
    LiveRequestQueue,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from ostinato.agents.guarded_run import TRIPPED
from ostinato.context.guardrail import GuardrailResult
from ostinato.errors import AgentConfigError
from ostinato.testing import ScriptedModel
from ostinato.testing import call as asked_for
from ostinato.tools.agent_tool import AgentTool
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import (
    DONE,
    HEARD,
    LiveModel,
    call,
    calls,
    converse,
    lines,
    said,
    text,
)
from tests.unit.workflow.kit import gives

CALL = calls(call("helper", "c1", request="Help"))


class Report(BaseModel):
    summary: str


def helper(*replies: Any, **fields: Any) -> Agent:
    return Agent(name="helper", model=ScriptedModel(list(replies)), **fields)


async def talked(store: Store, script: list[Any], **fields: Any) -> tuple[Talk, LiveModel, Any]:
    model = LiveModel(script)
    talk = Talk(Agent(name="root", model=model, **fields), store)
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    return talk, model, await converse(talk, queue)


async def test_an_agent_tool_is_called_in_a_live_run(store: Store) -> None:
    script = [HEARD, CALL, HEARD, text("Said."), DONE]
    talk, model, events = await talked(store, script, tools=[AgentTool(helper("Helped."))])
    assert model.connections[0].texts == ["Hi", "helper={'result': 'Helped.'}"]
    assert lines(events)[-2:] == ["root Said.", "root turn_complete"]
    await talk.check_sound()


@pytest.mark.spec(71)
async def test_an_agent_that_runs_once_is_called_in_a_live_run(store: Store) -> None:
    script = [HEARD, CALL, HEARD, text("Said."), DONE]
    talk, model, events = await talked(
        store, script, sub_agents=[helper("Helped.", mode="single_turn")]
    )
    assert lines(events) == [
        "root helper(c1)", "helper Helped.", "root helper={'result': 'Helped.'}", "root Said.",
        "root turn_complete",
    ]  # fmt: skip
    assert model.connections[0].texts == ["Hi", "helper={'result': 'Helped.'}"]
    assert [e.isolation_scope for e in events if e.author == "helper"] == ["c1"]
    await talk.check_sound()


@pytest.mark.spec(70)
async def test_a_task_is_done_in_a_live_run_and_its_output_told(store: Store) -> None:
    work = helper(
        asked_for("finish_task", summary=7), asked_for("finish_task", summary="Wet."),
        mode="task", output_schema=Report, output_key="report",
    )  # fmt: skip
    script = [HEARD, CALL, HEARD, text("Said."), DONE]
    talk, model, _ = await talked(store, script, sub_agents=[work])
    assert model.connections[0].texts == ["Hi", "helper={'summary': 'Wet.'}"]
    assert (await talk.state())["report"] == {"summary": "Wet."}
    await talk.check_sound()


@pytest.mark.spec(70)
async def test_what_a_task_asks_in_a_live_run_is_told_to_the_model(store: Store) -> None:
    work = helper("Which?", asked_for("finish_task", result="This."), mode="task")
    again = calls(call("helper", "c2", request="Help with that one"))
    script = [HEARD, CALL, HEARD, again, HEARD, text("Said."), DONE]
    talk, model, _ = await talked(store, script, sub_agents=[work])
    first, second = model.connections[0].texts[1:]
    assert first.startswith("helper={'question': 'Which?', 'status': 'The agent needs an answer.")
    assert second == "helper={'result': 'This.'}"
    assert isinstance(work.model, ScriptedModel)
    assert work.model.requests[1].texts == ['{"request": "Help with that one"}']
    await talk.check_sound()


@pytest.mark.spec(70)
async def test_wrong_arguments_of_a_task_are_told_to_the_live_model(store: Store) -> None:
    work = helper(asked_for("finish_task", result="x"), mode="task", input_schema=Report)
    script = [HEARD, CALL, HEARD, text("Said."), DONE]
    talk, model, _ = await talked(store, script, sub_agents=[work])
    assert "'error'" in model.connections[0].texts[1] and "summary" in model.connections[0].texts[1]
    await talk.check_sound()


async def test_guardrails_of_a_called_agent_hold_in_a_live_run(store: Store) -> None:
    def trips(ctx: Any, content: Any) -> GuardrailResult:
        return GuardrailResult(tripwire=True, message="No.")

    guarded = AgentTool(helper("Secret.", output_guardrails=[trips]))
    script = [HEARD, CALL, HEARD, text("Said."), DONE]
    talk, model, _ = await talked(store, script, tools=[guarded])
    assert "Secret" not in str(model.connections[0].texts)
    assert "Secret" not in str(await talk.stored())
    assert TRIPPED in str(model.connections[0].texts) or "No." in str(model.connections[0].texts)


async def test_a_graph_has_no_live_runs(memory: Store) -> None:
    talk = Talk(Workflow(name="flow", edges=[(START, gives("a"))]), memory)  # type: ignore[arg-type]
    with pytest.raises(
        AgentConfigError, match=r"Workflow 'flow' does not support live runs.*run_async"
    ):
        await converse(talk, LiveRequestQueue())


@pytest.mark.parametrize("in_sequence", [False, True])
@pytest.mark.parametrize("kind", [LoopAgent, ParallelAgent])
async def test_shells_without_live_runs_say_so_before_anybody_talks(
    memory: Store, kind: type[BaseAgent], in_sequence: bool
) -> None:
    model = LiveModel([HEARD])
    first, inner = (Agent(name=name, model=model) for name in ("first", "inner"))
    shell = kind(name="shell", sub_agents=[inner])
    root = SequentialAgent(name="line", sub_agents=[first, shell]) if in_sequence else shell
    with pytest.raises(
        NotImplementedError, match=f"'shell': {kind.__name__} does not support live runs"
    ):
        await converse(Talk(root, memory), LiveRequestQueue())
    assert model.connections == []
