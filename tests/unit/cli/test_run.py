"""`ostinato run`: what a turn shows, where the session lies, and what it does with its options."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.unit.cli.conftest import MakeAgent, Ostinato

ROOM = """
from ostinato.agents import Agent
from ostinato.testing import ScriptedModel, call, chunks, thought

def find_room(city: str, tool_context) -> dict:
    \"\"\"Find a room in a city.\"\"\"
    tool_context.state["city"] = city
    tool_context.state["temp:seen"] = 1
    return {"rooms": ["blue", "red"], "city": city}

rooms = Agent(name="rooms", description="Finds rooms.", tools=[find_room], model=ScriptedModel([
    [thought("They want a room."), call("find_room", city="Rome")],
    chunks("The blue ", "room is ", "free."),
]))
root_agent = Agent(name="desk", sub_agents=[rooms], model=ScriptedModel([
    call("transfer_to_agent", agent_name="rooms"),
]))
"""

ONE = """
from ostinato.agents import Agent
from ostinato.testing import ScriptedModel
root_agent = Agent(name="one", model=ScriptedModel(["First.", "Second.", "Third."]))
"""

NAMED = """
from ostinato.agents import Agent, SequentialAgent
from ostinato.tools import AgentTool

def get_weather(city: str) -> dict:
    \"\"\"Return the weather of a city.\"\"\"
    return {"report": f"It is sunny in {city}."}

inner = Agent(name="inner", model="offline")
asks_inner = AgentTool(inner)
inner.model = "gpt-4o"
low = Agent(name="low", description="Reads numbers.")
root_agent = Agent(name="named", tools=[get_weather, asks_inner], sub_agents=[low])
"""


def _session(out: str) -> str:
    found = re.search(r"Session (\S+) is stored", out)
    assert found is not None, out
    return found[1]


def test_shows_transfer_call_result_state_text_and_sums(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ROOM)
    done = ostinato("run", "desk", "A room in Rome, please")
    assert done.code == 0, done.err
    body, _, closing = done.out.partition("3 model calls")
    assert body.splitlines() == [
        "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} A room in Rome, please",
        "",
        "desk → rooms",
        "  They want a room.",
        "",
        '  ● find_room(city="Rome")',
        '    └ {"rooms": ["blue", "red"], "city": "Rome"}',
        '    state city = "Rome"',
        "",
        "  The blue room is free.",
        "",
    ]
    assert closing.splitlines()[0].startswith(" · 1 tool call")
    session = _session(closing)
    assert re.fullmatch("[0-9a-f]{8}", session)
    assert closing.splitlines()[-1] == f"  ostinato run desk --session {session}"
    assert "\x1b" not in done.out


def test_goes_on_with_a_session_in_the_file(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(ROOM)
    session = _session(ostinato("run", "desk", "A room in Rome, please").out)
    done = ostinato("run", "desk", "Thanks", "--session", session)
    assert done.code == 0
    assert "desk → rooms" not in done.out, "the conversation stays with the agent it went to"
    assert "rooms\n  They want a room." in done.out
    assert _session(done.out) == session
    assert Path(".ostinato/.gitignore").read_text(encoding="utf-8").endswith("*\n")


def test_the_command_to_go_on_repeats_what_it_needs(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ONE, "my desk")
    done = ostinato(
        "run", "my desk", "--db", "kept/all.db", "--user", "ann", "--session", "s 1", "Hi"
    )
    assert done.code == 0
    assert (
        "  ostinato run 'my desk' --session 's 1' --db kept/all.db --user ann"
        in done.out.splitlines()
    )
    assert Path("kept/all.db").is_file()


def test_piped_lines_are_messages(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(ONE)
    done = ostinato("run", "desk", stdin="a\n\nb\n")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("  ")][:2] == [
        "  First.",
        "  Second.",
    ]


def test_exit_ends_the_piped_lines_as_in_google_adk(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ONE)
    done = ostinato("run", "desk", stdin="a\nexit\nb\n")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("  ")][:1] == ["  First."]
    assert "exit" not in done.out and "Second." not in done.out


def test_an_empty_input_is_wrong_usage_and_leaves_no_session(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ONE)
    done = ostinato("run", "desk")
    assert done.code == 2
    assert "give a QUESTION" in done.err
    assert "There are no sessions" in ostinato("sessions", "list").err


def test_jsonl_writes_events_and_nothing_else(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent("print('noise')\n" + NAMED)
    done = ostinato("run", "desk", "Weather in Rome", "--jsonl")
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[0]["content"]["parts"][0]["functionCall"]["args"] == {"city": "Rome"}
    assert {e["invocationId"] for e in events} == {events[0]["invocationId"]}
    assert any(e.get("partial") for e in events)
    assert "noise" in done.err
    assert "offline stand-in" in done.err
    assert _session(done.err)


def test_no_stream_shows_whole_responses(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(ROOM)
    done = ostinato("run", "desk", "A room in Rome, please", "--jsonl", "--no-stream")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert not any(e.get("partial") for e in events)


def test_state_is_set_for_new_and_for_known_sessions(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ONE)
    ostinato("run", "desk", "Hi", "--session", "s", "--state", '{"a": 1, "user:b": [2]}')
    ostinato("run", "desk", "Hi", "--session", "s", "--state", '{"a": 3}')
    exported = json.loads(ostinato("sessions", "export", "s").out)
    assert exported["state"] == {"a": 3, "user:b": [2]}


def test_the_offline_model_stands_in_for_every_model_and_says_so_first(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(NAMED)
    done = ostinato("run", "desk", "Weather in Rome?")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == (
        "gemini-2.5-flash and gpt-4o are not available (no key): using the offline stand-in, a "
        "small rule-based program, not a language model."
    )
    assert "  It is sunny in Rome." in done.out


def test_model_replaces_the_names_of_all_agents(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(NAMED)
    done = ostinato("run", "desk", "Weather in Rome", "--model", "offline")
    assert "stand-in" not in done.out
    assert "--model offline" in done.out


@pytest.mark.parametrize("agent", [NAMED, ONE], ids=["names", "objects"])
def test_an_unknown_name_in_the_option_is_an_error_and_no_stand_in_answers(
    make_agent: MakeAgent, ostinato: Ostinato, agent: str
) -> None:
    make_agent(agent)
    done = ostinato("run", "desk", "Hello", "--model", "opnai:gpt-5")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --model: Model opnai:gpt-5 not found. ")
    assert "Did you mean 'openai:gpt-5'?" in done.err


def test_an_unknown_name_in_the_agent_is_an_error_and_no_stand_in_answers(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(NAMED.replace("gpt-4o", "gtp-4o"))
    done = ostinato("run", "desk", "Hello")
    assert (done.code, done.out) == (2, "")
    assert "Model gtp-4o not found. Did you mean 'gpt-4o'?" in done.err
    assert done.err.startswith("error: Agent '")


def test_a_failing_tool_ends_with_one_paragraph(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(
        "from ostinato.agents import Agent\n"
        "from ostinato.testing import ScriptedModel, call\n"
        "def burn() -> str:\n"
        "    raise RuntimeError('on fire \\x1b[31m')\n"
        "root_agent = Agent(name='x', tools=[burn], model=ScriptedModel([call('burn'), 'Oh.']))\n"
    )
    done = ostinato("run", "desk", "Go", "--session", "s")
    assert done.code == 1
    assert done.err.startswith("error: RuntimeError: on fire \N{REPLACEMENT CHARACTER}[31m. ")
    assert "tool 'burn' of agent 'x'" in done.err
    assert "desk/agent.py, line 4" in done.err
    assert "Traceback" not in done.err
    assert "Session s is stored" in done.out
    done = ostinato("run", "desk", "Again", "--session", "s", "--verbose")
    assert done.code == 1
    assert "Traceback" in done.err
    done = ostinato("run", "desk", "Again", "--session", "s")
    assert done.code == 1, "the script starts afresh with each load, so the tool burns again"


def test_a_session_that_failed_takes_the_next_turn(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(
        "from ostinato.agents import Agent\n"
        "from ostinato.testing import FunctionModel\n"
        "def answer(request):\n"
        "    if 'crash' in str(request.contents[-1]): raise ValueError('no line to the model')\n"
        "    return 'Fine.'\n"
        "root_agent = Agent(name='x', model=FunctionModel(answer))\n"
    )
    done = ostinato("run", "desk", stdin="crash\nhello\n")
    assert done.code == 1
    assert "ValueError: no line to the model." in done.err
    assert "Fine." not in done.out, "the lines after a failure are not asked"
    done = ostinato("run", "desk", "hello", "--session", _session(done.out))
    assert done.code == 0
    assert "  Fine." in done.out


def test_odd_usage_is_refused(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(ONE)
    for argv, words in (
        (("--state", "{x", "Hi"), "not JSON"),
        (("--state", "[1]", "Hi"), "needs a JSON object"),
        (("--session", "a/b", "Hi"), "session id"),
        (("--user", " ", "Hi"), "user id"),
        (("Hi", "--approve", "x"), "omit QUESTION"),
        (("Hi", "--resume", "x"), "omit QUESTION"),
        (("--approve", "x", "--approve", "y", "--args", "{}"), "--args needs exactly one"),
        ((" ",), "empty"),
        (("a", "b"), "unrecognized arguments: b"),
    ):
        done = ostinato("run", "desk", *argv)
        assert done.code == 2, argv
        assert words in done.err, argv


def test_resume_asks_for_one_session_of_many(
    make_agent: MakeAgent, ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_agent(ONE)
    for session in ("one", "two"):
        assert ostinato("run", "desk", "Hi", "--session", session).code == 0
    found: list[list[str]] = []
    lists = SqliteSessionService.list_sessions

    async def watched(self: SqliteSessionService, **query: Any) -> Any:
        page = await lists(self, **query)
        found.append([one.id for one in page.sessions])
        return page

    monkeypatch.setattr(SqliteSessionService, "list_sessions", watched)
    ostinato("run", "desk", "--resume")
    assert found == [["two"]]


def test_resume_goes_on_where_a_run_was_cut_off(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(
        "import os\n"
        "from ostinato.agents import Agent\n"
        "from ostinato.apps import App, ResumabilityConfig\n"
        "from ostinato.testing import FunctionModel\n"
        "def answer(request):\n"
        "    if not os.path.exists('repaired'): raise ConnectionError('cut')\n"
        "    return 'Here I am again.'\n"
        "app = App(name='desk', root_agent=Agent(name='x', model=FunctionModel(answer)),\n"
        "          resumability_config=ResumabilityConfig(is_resumable=True))\n"
    )
    assert ostinato("run", "desk", "Go").code == 1
    Path("repaired").touch()
    done = ostinato("run", "desk", "--resume")
    assert done.code == 0, done.err
    assert "  Here I am again." in done.out
    done = ostinato("run", "desk", "--resume")
    assert done.code == 1
    assert "nothing to resume" in done.err
    assert "is not an invocation" in ostinato("run", "desk", "--resume", "e-none").err
    assert "`ostinato sessions import`" in ostinato("run", "desk", "--resume", "old.json").err


def test_nothing_to_go_on_with(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(ONE)
    options = (("--resume",), ("--approve", "x"), ("--answer", "x", "1"))
    for option in options:
        done = ostinato("run", "desk", *option)
        assert done.code == 2
        assert "There are no sessions: the file .ostinato/sessions.db does not exist" in done.err
    assert not Path(".ostinato").exists()
    ostinato("run", "desk", "Hi", "--user", "other")
    for option in options:
        done = ostinato("run", "desk", *option)
        assert done.code == 1
        assert "There is no session of 'desk'" in done.err
    assert "no session 'gone'" in ostinato("run", "desk", "--resume", "--session", "gone").err


def test_timing_tells_on_standard_error_where_the_time_went(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(NAMED)
    done = ostinato("run", "desk", "Weather in Rome?", "--timing")
    steps = re.findall(r"^(\w.*?)  +[\d,]+ ms", done.err, re.MULTILINE)
    assert steps == ["import", "load", "first request", "first token", "total"]
    assert "import" not in ostinato("run", "desk", "Weather in Rome?").err


def test_a_failed_run_says_how_long_it_took(
    make_agent: MakeAgent, ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_agent(
        "import os\n"
        "from ostinato.agents import Agent\n"
        "from ostinato.testing import FunctionModel\n"
        "def fail(request):\n    os.environ['NOW'] = '5.8'\n    raise LookupError('no shelf')\n"
        "root_agent = Agent(name='desk', model=FunctionModel(fail))\n"
    )
    monkeypatch.setenv("NOW", "0")
    clock = SimpleNamespace(perf_counter=lambda: float(os.environ["NOW"]))
    monkeypatch.setattr("ostinato.cli.shown.time", clock)
    done = ostinato("run", "desk", "Hi")
    assert done.code == 1 and "no shelf" in done.err
    assert "5.8 s" in done.out.splitlines()
