"""Questions of workflows to the person at the terminal: asked, answered in words, and listed."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.unit.cli.conftest import MakeAgent, Ostinato
from tests.unit.cli.terminal import typed

FLOW = """
from pydantic import BaseModel

from ostinato.events.request_input import RequestInput
from ostinato.workflow import START, Workflow


class Trip(BaseModel):
    city: str = "Rome"
    nights: int = 1


QUOTE = {"type": "object", "properties": {"it's": {"default": "a\\nb $(date) \\u202e"}}}
SCHEMAS = {"fail": None, "allow": bool, "number": int, "trip": Trip, "open": None, "quote": QUOTE}
SCHEMAS |= {"bag": dict, "list": list[int]}


def ask(node_input: str) -> RequestInput:
    return RequestInput(
        message=f"What about {node_input}?",
        payload={"draft": 1},
        response_schema=SCHEMAS[node_input.split()[0]],
    )


async def other(node_input: str):
    if "fail" in node_input:
        yield RequestInput(message="And this, in vain?")
        raise ValueError("it fails after it asked")
    if "both" in node_input:
        yield RequestInput(message="And this?")


def use(node_input) -> str:
    return f"got {node_input!r}"


def end(node_input) -> None:
    pass  # without an output: a graph has one at most


root_agent = Workflow(name="flow", edges=[(START, ask, use), (START, other, end)])
"""


@pytest.fixture(autouse=True)
def flow(make_agent: MakeAgent) -> None:
    make_agent(FLOW)


def test_a_question_is_asked_until_the_answer_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    code, screen = typed(monkeypatch, "many\r12\r", "run", "desk", "number please")
    assert code == 0
    _, _, after = screen.partition("◆ ask asks you")
    assert "  │ What about number please?" in after
    assert '    about  {"draft": 1}' in after
    assert "not of type integer" in after
    assert "got 12" in after
    assert "waits for" not in after


def test_an_answer_with_fields_is_edited_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, "\r", "run", "desk", "trip")
    assert "got {'city': 'Rome', 'nights': 1}" in screen


@pytest.mark.long
def test_words_at_the_prompt_answer_the_question_that_was_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = "allow\r\x03perhaps\ryes\r\x04"  # asked, left, answered wrongly, asked again
    _, screen = typed(monkeypatch, keys, "run", "desk")
    assert "ask is left waiting" in screen
    assert "not of type boolean" in screen
    assert screen.count("◆ ask asks you") == 2
    assert "got True" in screen
    assert screen.count('asks "What about allow?"') == 1, "the graph began once"


@pytest.mark.long
def test_a_person_chooses_which_of_two_questions_the_words_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = "open both\r\x03\x03as you like\r3\r1\r\x04"
    _, screen = typed(monkeypatch, keys, "run", "desk")
    assert "which one does this answer?" in screen
    assert "got 'as you like'" in screen
    assert "other waits for your answer" in screen


def test_a_later_command_answers_in_words(ostinato: Ostinato) -> None:
    done = ostinato("run", "desk", "allow", "--session", "s")
    assert "◆ ask waits for your answer:" in done.out
    assert "  │ What about allow?" in done.out
    wrong = ostinato("run", "desk", "perhaps", "--session", "s")
    assert wrong.code == 1
    assert "not of type boolean" in wrong.err
    done = ostinato("run", "desk", "No", "--session", "s")
    assert done.code == 0, done.err
    assert "got False" in done.out


def test_words_without_a_terminal_do_not_choose_between_questions(ostinato: Ostinato) -> None:
    ostinato("run", "desk", "open both", "--session", "s")
    done = ostinato("run", "desk", "yes", "--session", "s")
    assert done.code == 2
    assert "Several questions are open" in done.err
    assert '"And this?"' in done.err


def test_all_that_waits_is_listed_and_answered_once(ostinato: Ostinato) -> None:
    assert "The first `ostinato run` creates it" in ostinato("approvals", "desk").err
    ostinato("run", "desk", "plain", "--session", "zero")
    assert "No calls are waiting." in ostinato("approvals", "desk").out
    ostinato("run", "desk", "number one", "--session", "first")
    ostinato("run", "desk", "allow", "--session", "second", "--user", "ann")
    listed = ostinato("approvals", "desk").out
    assert listed.index("What about allow?") < listed.index("What about number one?")
    assert "session second of ann, since " in listed
    found = re.search(r"--user ann --answer (\S+) VALUE", listed)
    assert found is not None, listed
    wrong = ostinato("approvals", "desk", "--answer", found[1], "12")
    assert wrong.code == 1
    assert "not of type boolean" in wrong.err
    done = ostinato("approvals", "desk", "--answer", found[1], "yes")
    assert done.code == 0, done.err
    assert "got True" in done.out
    again = ostinato("approvals", "desk", "--answer", found[1], "no")
    assert again.code == 3
    assert "was already answered, at " in again.err
    assert "answered true" in again.err
    assert "What about allow?" not in ostinato("approvals", "desk").out
    assert ostinato("approvals", "desk", "--answer", "nonsense", "1").code == 1


def test_the_commands_that_answer_a_form_hold_its_fields(ostinato: Ostinato) -> None:
    asked = ostinato("run", "desk", "trip for Zoë's mother", "--session", "s").out
    for shown in (asked, ostinato("approvals", "desk").out):
        (line,) = (line for line in shown.splitlines() if "--answer" in line)
        words = shlex.split(line)
        value = words[words.index("--answer") + 2]
        assert value == '{"city": "Rome", "nights": 1}'
    done = ostinato(*words[1:-1], value.replace("Rome", "L'Aquila"))
    assert done.code == 0, done.err
    assert """got {'city': "L'Aquila", 'nights': 1}""" in done.out


def test_a_form_without_fields_and_a_list_have_no_template(ostinato: Ostinato) -> None:
    for word in ("bag", "list"):
        shown = ostinato("run", "desk", word, "--session", word).out
        assert re.search(r"--answer \S+ VALUE\n", shown), shown


def test_a_template_is_one_word_of_the_shell_without_hidden_characters(
    ostinato: Ostinato,
) -> None:
    shown = ostinato("run", "desk", "quote").out
    (line,) = (line for line in shown.splitlines() if "--answer" in line)
    assert shlex.split(line)[-1] == r"""{"it's": "a\nb $(date) \u202e"}"""


def test_a_question_whose_node_failed_is_no_longer_open(ostinato: Ostinato) -> None:
    done = ostinato("run", "desk", "fail please", "--session", "s")
    assert done.code == 1
    assert "it fails after it asked" in done.err
    assert "in vain" not in ostinato("approvals", "desk").out


ALIKE = """
from ostinato import Workflow
from ostinato.events.request_input import RequestInput
from ostinato.workflow import START

async def first(node_input: str):
    yield RequestInput(interrupt_id="publish-june", message="Publish it?")

async def second(node_input):
    yield RequestInput(interrupt_id="publish-june-2", message="And pay for it?")

root_agent = Workflow(name="flow", edges=[(START, first, second)])
"""


@pytest.mark.parametrize("command", [("run", "desk", "--session", "s"), ("approvals", "desk")])
def test_an_answered_id_never_names_a_longer_one_that_begins_with_it(
    make_agent: MakeAgent, ostinato: Ostinato, command: tuple[str, ...]
) -> None:
    make_agent(ALIKE)
    ostinato("run", "desk", "go", "--session", "s")
    given = ostinato(*command, "--answer", "publish-june", "yes")
    assert given.code == 0, given.err
    again = ostinato(*command, "--answer", "publish-june", "yes")
    assert again.code == 3, again.out
    assert "Call publish-june was already answered" in again.err


def test_calls_of_two_sessions_with_one_id_are_answered_apart(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(ALIKE)
    for session in ("early", "late"):
        ostinato("run", "desk", "go", "--session", session)
    listed = ostinato("approvals", "desk").out
    commands = [line for line in listed.splitlines() if "--answer" in line]
    assert sorted("--session early" in line for line in commands) == [False, True]
    (command,) = (shlex.split(line) for line in commands if "--session early" in line)
    unclear = ostinato("approvals", "desk", "--answer", "publish-june", "yes")
    assert unclear.code == 2
    assert "Add --session ID, one of: early, late" in unclear.err
    done = ostinato(*command[1:-1], "yes")
    assert done.code == 0, done.err
    assert "publish-june-2" in ostinato("approvals", "desk", "--session", "early").out
    other = ostinato("approvals", "desk", "--session", "late").out
    assert "--answer publish-june VALUE" in other
    assert "publish-june-2" not in other


def test_no_call_is_listed_of_a_session_that_does_not_exist(ostinato: Ostinato) -> None:
    ostinato("run", "desk", "number one", "--session", "first")
    assert "No calls are waiting." in ostinato("approvals", "desk", "--session", "other").out
    done = ostinato("approvals", "desk", "--session", "other", "--answer", "nonsense", "1")
    assert "waits for an answer in the session 'other'" in done.err


DASHED = """
from ostinato import Workflow
from ostinato.events.request_input import RequestInput
from ostinato.workflow import START

async def first(node_input: str):
    yield RequestInput(interrupt_id="-publish", message="Publish it?")

root_agent = Workflow(name="flow", edges=[(START, first)])
"""


@pytest.mark.parametrize("value", ["yes", "-1.5e3", "-no", "--db"])
def test_the_command_shown_works_for_ids_that_begin_with_a_dash(
    make_agent: MakeAgent, ostinato: Ostinato, value: str
) -> None:
    make_agent(DASHED)
    ran = ostinato("run", "desk", "go", "--session=-s", "--user=--ann")
    assert ran.code == 0, ran.err
    for shown in (ran.out, ostinato("approvals", "desk").out):
        (command,) = (shlex.split(line) for line in shown.splitlines() if "--answer" in line)
        assert command[-1] == "VALUE" and "--user=--ann" in command
    assert "--session=-s" in command
    done = ostinato(*command[1:-1], value)
    assert done.code == 0, done.err
    again = ostinato(*command[1:-1], value)
    assert again.code == 3 and "Call -publish was already answered" in again.err
    for words in (("trace",), ("sessions", "show"), ("effects",)):
        shown = ostinato(*words, "--", "-s")
        assert shown.code == 0, shown.err


def test_an_answer_behind_an_equals_sign_needs_its_value(ostinato: Ostinato) -> None:
    assert "expected 2 arguments" in ostinato("approvals", "desk", "--answer=-publish").err
