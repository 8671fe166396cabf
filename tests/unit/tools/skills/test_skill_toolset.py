"""SkillToolset: what the model is told of skills, and how it finds, loads and reads them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ostinato._adk_mode import set_follows_adk
from ostinato.agents import Agent, ParallelAgent
from ostinato.apps import App, ContextPolicy
from ostinato.apps.app import EventsCompactionConfig
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.errors import AgentConfigError
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.skills import Frontmatter, Skill, SkillRegistry
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset
from ostinato.tools.skill_toolset import (
    SkillDiscoveryMode,
    SkillLifecycleConfig,
    SkillLifecycleMode,
    SkillToolset,
)
from tests.support.published_skills import PNG
from tests.support.skill_agents import answers, make_skill, talk

ACTIVE = "_adk_activated_skill_clerk"


async def names(toolset: BaseToolset) -> list[str]:
    return [tool.name for tool in await toolset.get_tools()]


async def test_an_agent_uses_a_skill_in_two_turns() -> None:
    toolset = SkillToolset([make_skill("pdf"), make_skill("mail")])
    conversation, model = talk(
        toolset,
        call("load_skill", skill_name="pdf"),
        call("load_skill_resource", skill_name="pdf", file_path="references/guide.md"),
        "First.",
        call("load_skill_resource", skill_name="pdf", file_path="notes.md"),
        "Second.",
    )
    await conversation.say("Make a PDF")
    assert conversation.text == "First."
    assert answers(conversation, "load_skill") == [
        {
            "skill_name": "pdf",
            "instructions": "Instructions of pdf.",
            "frontmatter": {
                "name": "pdf",
                "description": "Does pdf work.",
                "license": None,
                "compatibility": None,
                "allowed_tools": None,
                "metadata": {},
            },
        }
    ]
    (given,) = answers(conversation, "load_skill_resource")
    assert given == {"skill_name": "pdf", "file_path": "references/guide.md", "content": "G"}
    assert (await conversation.session()).state[ACTIVE] == ["pdf"]
    await conversation.say("And the notes?")
    assert conversation.text == "Second."
    assert answers(conversation)[0]["content"] == "N"
    told = [request.instruction for request in model.requests]
    assert len(set(told)) == 1, "a prompt cache holds"
    assert told[0].index("<name>\npdf\n") < told[0].index("<name>\nmail\n")
    assert "list_skills" not in told[0] and "run_skill_script" not in told[0]


async def test_instructions_survive_a_compaction_and_a_new_process(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            call("load_skill", skill_name="pdf"),
            *("One.", "Two.", "The summary.", "Three."),
            call("stamp", text="A"),
            *("Four.", "Another summary."),
        ]
    )

    def open_conversation() -> Conversation:
        skills = [make_skill("pdf", adk_additional_tools=["stamp"]), make_skill("mail")]
        toolset = SkillToolset(skills, additional_tools=[stamp])
        app = App(
            name="app",
            root_agent=Agent(name="clerk", model=model, tools=[toolset]),
            events_compaction_config=EventsCompactionConfig(compaction_interval=2, overlap_size=0),
        )
        store = SqliteSessionService(tmp_path / "sessions.db")
        return Conversation(Runner(app=app, session_service=store))

    first = open_conversation()
    for text in ("a", "b", "c"):
        await first.say(text)
    await first.runner.close()
    before, held, after = (model.requests[at] for at in (1, 2, -1))
    assert "Instructions of pdf." not in before.instruction + held.instruction
    stated = '<skill name="pdf">\nInstructions of pdf.\n</skill>'
    assert not after.function_responses, "the conversation is compacted"
    assert stated in after.instruction
    second = open_conversation()
    await second.say("d")
    assert answers(second) == [{"result": "A!"}] and second.text == "Four."
    assert model.requests[-2].instruction == after.instruction
    await second.runner.close()


async def test_instructions_survive_the_context_policy() -> None:
    text = "Follow this. " * 400
    model = ScriptedModel(
        [
            call("load_skill", skill_name="pdf"),
            *[call("load_skill_resource", skill_name="pdf", file_path="notes.md")] * 6,
            "Done.",
        ]
    )
    skill = make_skill("pdf", text=text)
    skill.resources.files["notes.md"] = "N" * 4_000
    agent = Agent(name="clerk", model=model, tools=[SkillToolset([skill])])
    app = App(
        name="app",
        root_agent=agent,
        context=ContextPolicy(result_tokens=2_000, history_tokens=3_000),
    )
    await Conversation(app).say("Go")
    for request in model.requests[1:]:
        told = str([response.response for response in request.function_responses])
        assert (text in told) is not (text in request.instruction)
    assert text in model.requests[-1].instruction


async def test_two_agents_share_a_toolset_at_once() -> None:
    toolset = SkillToolset(
        [make_skill("pdf", adk_additional_tools=["stamp"])], additional_tools=[stamp]
    )
    turns = [call("load_skill", skill_name="pdf"), call("stamp", text="A"), "Done."]
    agents = [
        Agent(name=name, model=ScriptedModel(list(turns)), tools=[toolset]) for name in ("a", "b")
    ]
    conversation = Conversation(ParallelAgent(name="both", sub_agents=[*agents]))
    await conversation.say("Go")
    assert answers(conversation, "stamp") == [{"result": "A!"}] * 2
    state = (await conversation.session()).state
    assert state["_adk_activated_skill_a"] == state["_adk_activated_skill_b"] == ["pdf"]


async def test_programs_for_google_adk_list_skills_first() -> None:
    set_follows_adk(True)
    try:
        toolset = SkillToolset([make_skill("pdf", allowed="Read")])
    finally:
        set_follows_adk(False)
    assert not toolset.restricts_calls
    assert await names(toolset) == ["list_skills", "load_skill", "load_skill_resource"]


async def test_large_catalogues_are_searched() -> None:
    skills = [make_skill(f"task-{number}", text="x") for number in range(200)]
    skills[150].frontmatter.description = "Translates letters into Portuguese."
    toolset = SkillToolset(skills)
    assert await names(toolset) == ["load_skill", "load_skill_resource", "search_skills"]
    conversation, model = talk(
        toolset,
        [call("search_skills", query="translate a letter"), call("search_skills", query="zzz")],
        call("search_skills"),
        "Done.",
    )
    await conversation.say("Go")
    first, second, third = answers(conversation)
    assert first["result"][0]["name"] == "task-150" and second == {"result": []}
    assert third == {"error": "Argument 'query' is required.", "error_code": "INVALID_ARGUMENTS"}
    assert "task-3" not in model.requests[0].instruction
    assert "search_skills" in model.requests[0].instruction


async def test_modes_of_discovery() -> None:
    skills = [make_skill("pdf")]
    lazy = SkillToolset(skills, discovery_mode=SkillDiscoveryMode.LAZY, tool_name_prefix="my")
    assert (await names(lazy))[0] == "list_skills"
    conversation, model = talk(lazy, call("my_list_skills"), "Done.")
    await conversation.say("Go")
    assert "<name>\npdf\n</name>" in answers(conversation)[0]["result"]
    told = model.requests[0].instruction
    assert "`my_load_skill`" in told and "<available_skills>" not in told
    eager = SkillToolset(
        [make_skill(f"task-{n}") for n in range(200)], discovery_mode=SkillDiscoveryMode.EAGER
    )
    assert await names(eager) == ["load_skill", "load_skill_resource"]


async def test_a_filter_takes_tools_and_what_is_told_of_them() -> None:
    toolset = SkillToolset([make_skill("pdf")], tool_filter=["load_skill"])
    conversation, model = talk(toolset, "Hi.")
    await conversation.say("Go")
    assert model.requests[0].tool_names == ["load_skill"]
    assert "load_skill_resource" not in model.requests[0].instruction
    nothing = SkillToolset([make_skill("pdf")], tool_filter=["none"])
    conversation, model = talk(nothing, "Hi.")
    await conversation.say("Go")
    assert "skill" not in model.requests[0].instruction
    assert await names(SkillToolset()) == []


ERRORS: list[tuple[str, dict[str, Any], str]] = [
    ("load_skill", {}, "INVALID_ARGUMENTS"),
    ("load_skill", {"skill_name": "none"}, "SKILL_NOT_FOUND"),
    ("load_skill_resource", {"skill_name": "pdf"}, "INVALID_ARGUMENTS"),
    *[
        ("load_skill_resource", {"skill_name": "pdf", "file_path": path}, "INVALID_RESOURCE_PATH")
        for path in ("../x", "/x", "a\\..\\x", "SKILL.md")
    ],
]


@pytest.mark.parametrize(("tool", "args", "code"), ERRORS)
async def test_mistakes_of_the_model_have_codes(tool: str, args: Any, code: str) -> None:
    conversation, _ = talk(SkillToolset([make_skill("pdf")]), call(tool, **args), "Done.")
    await conversation.say("Go")
    (answer,) = answers(conversation)
    assert answer["error_code"] == code and answer["error"]


async def test_the_second_missing_file_of_a_turn_is_fatal() -> None:
    miss = call("load_skill_resource", skill_name="pdf", file_path="references/none.md")
    conversation, _ = talk(SkillToolset([make_skill("pdf")]), miss, miss, "One.", miss, "Two.")
    await conversation.say("Go")
    codes = [answer["error_code"] for answer in answers(conversation)]
    assert codes == ["RESOURCE_NOT_FOUND", "RESOURCE_NOT_FOUND_FATAL"]
    assert answers(conversation)[0]["available"] == [
        "references/guide.md", "assets/logo.png", "notes.md",
    ]  # fmt: skip
    await conversation.say("Again")
    assert answers(conversation)[0]["error_code"] == "RESOURCE_NOT_FOUND"


async def test_a_file_that_is_not_text_is_shown_once() -> None:
    conversation, model = talk(
        SkillToolset([make_skill("pdf")]),
        call("load_skill_resource", skill_name="pdf", file_path="assets/logo.png"),
        "I see.",
        "Gone.",
    )
    await conversation.say("Go")
    shown = model.requests[1].contents[-1].parts
    assert shown[1].inline_data.data == PNG and shown[1].inline_data.mime_type == "image/png"
    await conversation.say("Again")
    assert not any(part.inline_data for c in model.requests[2].contents for part in c.parts)


def test_clashing_names_and_unknown_settings_are_refused() -> None:
    with pytest.raises(AgentConfigError, match="Duplicate skill name 'pdf'"):
        SkillToolset([make_skill("pdf"), make_skill("pdf")])
    with pytest.raises(AgentConfigError, match="other_tools is 'never'"):
        SkillToolset([], other_tools="never")  # type: ignore[arg-type]
    with pytest.raises(AgentConfigError, match="script_timeout is 0"):
        SkillToolset([], script_timeout=0)
    with pytest.raises(AgentConfigError, match="max_active_skills is 0"):
        SkillLifecycleConfig(max_active_skills=0)
    with pytest.raises(AgentConfigError, match="in_doubt is 'never'"):
        SkillToolset([], script_in_doubt="never")  # type: ignore[arg-type]


def stamp(text: str) -> str:
    """Stamp a text."""
    return f"{text}!"


class More(BaseToolset):
    closed = 0

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        def sign() -> str:
            """Sign."""
            return "signed"

        return [FunctionTool(sign), FunctionTool(stamp)]

    async def close(self) -> None:
        self.closed += 1


async def test_tools_of_a_skill_appear_with_it_behind_all_others() -> None:
    more = More()
    toolset = SkillToolset(
        [make_skill("pdf", adk_additional_tools=["stamp", "sign"]), make_skill("mail")],
        additional_tools=[stamp, more],
        tool_filter=lambda tool, readonly_context=None: tool.name != "load_skill_resource",
    )
    conversation, model = talk(
        toolset,
        call("load_skill", skill_name="pdf"),
        [call("stamp", text="A"), call("sign")],
        "Done.",
        "Still.",
    )
    await conversation.say("Go")
    assert answers(conversation)[1:] == [{"result": "A!"}, {"result": "signed"}]
    await conversation.say("Again")
    assert [request.tool_names for request in model.requests] == [
        ["load_skill"], *[["load_skill", "stamp", "sign"]] * 3,
    ]  # fmt: skip
    await toolset.close()
    assert more.closed == 1


async def test_two_skills_loaded_at_once_are_both_active() -> None:
    loads = [call("load_skill", skill_name=name) for name in ("pdf", "mail")]
    conversation, _ = talk(SkillToolset([make_skill("pdf"), make_skill("mail")]), loads, "Done.")
    await conversation.say("Go")
    assert sorted((await conversation.session()).state[ACTIVE]) == ["mail", "pdf"]


async def test_bounded_and_ephemeral_skills_end() -> None:
    lifecycle = SkillLifecycleConfig(
        default_mode=SkillLifecycleMode.BOUNDED,
        max_active_skills=1,
        skill_overrides={"once": SkillLifecycleMode.EPHEMERAL},
    )
    skills = [make_skill(name) for name in ("one", "two", "once")]
    toolset = SkillToolset(skills, lifecycle_config=lifecycle)
    conversation, model = talk(
        toolset,
        *[call("load_skill", skill_name=name) for name in ("one", "two", "once")],
        "Done.",
        call("unload_skill", skill_name="once"),
        call("unload_skill", skill_name="two"),
        call("unload_skill"),
        "Done.",
    )
    await conversation.say("Go")
    one, two, once = answers(conversation)
    assert "unloaded_skills" not in one and two["unloaded_skills"] == ["one"]
    assert "this turn" in once["lifecycle_notice"]
    state = (await conversation.session()).state
    assert state[ACTIVE] == ["two", "once"]
    assert state["_adk_skill_meta_clerk"]["once"]["lifecycle"] == "ephemeral"
    await conversation.say("Again")
    assert [answer.get("status") for answer in answers(conversation)] == [
        "not active", "unloaded", None,
    ]  # fmt: skip
    assert "unload_skill" in model.requests[0].instruction
    assert SkillLifecycleConfig(enabled=False).mode_of("x") is SkillLifecycleMode.PERSISTENT


async def test_changed_instructions_are_stated_again_on_request() -> None:
    lifecycle = SkillLifecycleConfig(revalidate_skills=True)
    toolset = SkillToolset([make_skill("pdf")], lifecycle_config=lifecycle)
    conversation, model = talk(toolset, call("load_skill", skill_name="pdf"), "One.", "Two.")
    await conversation.say("Go")
    assert "Instructions of pdf" not in model.requests[1].instruction
    toolset.skills[0].instructions = "Better ones."
    await conversation.say("Again")
    assert '<skill name="pdf">\nBetter ones.\n</skill>' in model.requests[2].instruction


async def test_state_is_filled_into_instructions() -> None:
    skill = make_skill("pdf", text="Write {language}.", adk_inject_state=True)
    model = ScriptedModel([call("load_skill", skill_name="pdf"), "Done."])
    agent = Agent(name="clerk", model=model, tools=[SkillToolset([skill])])
    conversation = Conversation(agent, state={"language": "Dutch"})
    await conversation.say("Go")
    assert answers(conversation)[0]["instructions"] == "Write Dutch."


class Shelf(SkillRegistry):
    def __init__(self, *skills: Skill) -> None:
        self.skills = {skill.name: skill for skill in skills}
        self.fetched: list[str] = []
        self.is_down = False

    async def get_skill(self, *, name: str) -> Any:
        self.fetched.append(name)
        if self.is_down:
            raise ConnectionError("no route")
        return self.skills.get(name)

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        if self.is_down:
            raise ConnectionError("no route")
        return [skill.frontmatter for skill in self.skills.values()]


async def test_a_registry_is_asked_once_per_turn(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf(make_skill("far", adk_additional_tools=["stamp"], scripts={"go.py": "1"}))
    toolset = SkillToolset(
        [make_skill("near")],
        registry=shelf,
        additional_tools=[stamp],
        code_executor=UnsafeLocalCodeExecutor(),
    )
    load = call("load_skill", skill_name="far")
    conversation, model = talk(
        toolset,
        [call("search_skills", query="near"), load],
        call("load_skill", skill_name="none"),
        "One.",
        load,
        call("search_skills", query="far"),
        "Two.",
    )
    await conversation.say("Go")
    found, loaded, missing = answers(conversation)
    assert [one["name"] for one in found["result"]] == ["near", "far"]
    assert loaded["instructions"] == "Instructions of far."
    assert missing["error_code"] == "SKILL_NOT_FOUND"
    assert shelf.fetched == ["far", "none"]
    assert model.requests[1].tool_names[-2:] == ["search_skills", "stamp"]
    assert "run_skill_script" in model.requests[1].tool_names
    shelf.is_down = True
    with caplog.at_level(logging.WARNING):
        await conversation.say("Again")
    assert [answer["error_code"] for answer in answers(conversation)] == ["REGISTRY_ERROR"] * 2
    assert "'far' is active, but left out: Failed to fetch" in caplog.text
    assert "stamp" not in model.requests[-1].tool_names


async def test_a_clone_has_other_skills_and_the_same_settings() -> None:
    toolset = SkillToolset(
        [make_skill("pdf")], tool_name_prefix="my", discovery_mode=SkillDiscoveryMode.LAZY
    )
    other = toolset.clone_with_updated_skills([make_skill("mail", allowed="Read")])
    assert [skill.name for skill in other.skills] == ["mail"]
    assert [skill.name for skill in toolset.skills] == ["pdf"]
    assert other.restricts_calls and not toolset.restricts_calls
    assert [tool.name for tool in await other.get_tools_with_prefix()] == [
        "my_list_skills", "my_load_skill", "my_load_skill_resource",
    ]  # fmt: skip
