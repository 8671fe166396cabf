"""A person at a terminal: messages, commands, approvals, credentials, and ways to leave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import MakeAgent, Ostinato
from tests.unit.cli.terminal import at_a_pty, typed

pytestmark = pytest.mark.long

CLERK = """
from ostinato.agents import Agent
from ostinato.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_schemes import APIKey, APIKeyIn, HTTPBearer, HTTPBase, OAuth2
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool

SCHEMES = {
    "key": APIKey(name="X-Key", in_=APIKeyIn.header),
    "token": HTTPBearer(bearerFormat="jwt"),
    "basic": HTTPBase(scheme="basic"),
    "login": OAuth2(flows={"authorizationCode": {
        "authorizationUrl": "https://id.test/auth", "tokenUrl": "https://id.test/token"}}),
}
RAW = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2={
    "client_id": "c", "client_secret": "s", "redirect_uri": "https://app.test"})

def pay(amount: int, to: str) -> str:
    return f"paid {amount} to {to}"

def ask_size(tool_context) -> dict:
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Which size?", payload={"size": 0})
        return {"status": "asked"}
    return {"size": tool_context.tool_confirmation.payload}

def fetch(kind: str, tool_context) -> dict:
    config = AuthConfig(auth_scheme=SCHEMES[kind], credential_key="k",
        raw_auth_credential=RAW if kind == "login" else None)
    given = tool_context.get_auth_response(config)
    if given is None:
        tool_context.request_credential(config)
        return {"status": "asked"}
    secret = given.api_key or given.http and (
        given.http.credentials.token or given.http.credentials.password)
    return {"length": len(secret or given.oauth2.access_token)}

def answer(request):
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return f"Result: {last.function_response.response}"
    if last.text.startswith("fetch"):
        return call("fetch", kind=last.text.split()[1])
    if last.text == "size":
        return call("ask_size")
    if last.text == "both":
        return [call("pay", amount=1, to="Ann"), call("pay", amount=2, to="Bob")]
    if last.text == "pay":
        return call("pay", amount=50, to="Ann")
    return f"You said: {last.text}"

root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=[
    FunctionTool(pay, require_confirmation=True), fetch, ask_size])
"""


@pytest.fixture(autouse=True)
def clerk(make_agent: MakeAgent) -> None:
    make_agent(CLERK)


def test_messages_commands_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "one\r/state\r/events\r/help\r/nonsense\r/etc/hosts is a file\r\r/quit\r"
    code, screen = typed(monkeypatch, keys, "run", "desk", "--state", '{"a": 1}')
    assert code == 0
    assert "desk · session " in screen.splitlines()[0]
    assert ", new · /help" in screen.splitlines()[0]
    assert "  You said: one" in screen
    assert "  a  1" in screen
    assert "    1  user   one" in screen
    assert "    2  clerk  You said: one" in screen
    assert "  /events  the session's events" in screen
    assert "Unknown command /nonsense" in screen
    assert "  You said: /etc/hosts is a file" in screen
    assert "is stored in .ostinato/sessions.db. Continue with:" in screen
    assert "one" in Path(".ostinato/history").read_text(encoding="utf-8")


def test_nothing_said_leaves_no_session(
    monkeypatch: pytest.MonkeyPatch, ostinato: Ostinato
) -> None:
    code, screen = typed(monkeypatch, "/state\r/events\r\x04", "run", "desk")
    assert code == 0
    assert "The state is empty." in screen
    assert "There are no events yet." in screen
    assert "is stored" not in screen
    assert ostinato("sessions", "list").out in ("", "No sessions found.\n")


def test_ctrl_c_twice_ends_and_once_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    code, screen = typed(monkeypatch, "\x03one\r\x03\x03", "run", "desk")
    assert code == 0
    assert screen.count("Press Ctrl-C again to exit") == 2
    assert "  You said: one" in screen


def test_a_pasted_text_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, "\x1b[200~a\nb\x1b[201~\r\x04", "run", "desk")
    assert "  You said: a\n  b" in screen


def test_yes_runs_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    code, screen = typed(monkeypatch, "y\r", "run", "desk", "pay")
    assert code == 0
    before, _, after = screen.partition("◆ pay asks for your approval")
    assert "└ waits for approval" in before
    assert '    amount  50\n    to      "Ann"' in after
    assert '  ● pay(amount=50, to="Ann")\n    └ paid 50 to Ann' in after
    assert "waits for" not in after


def test_no_rejects_it_and_other_answers_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, "maybe\r\rn\r", "run", "desk", "pay")
    assert "Answer y, n or edit" in screen
    assert "This tool call is rejected." in screen


def test_edited_arguments_are_what_runs(
    monkeypatch: pytest.MonkeyPatch, ostinato: Ostinato
) -> None:
    # Backspace from the end to the name; the first Enter does not take what is no JSON yet.
    keys = "edit\r" + "\x7f" * 6 + 'Bob"\r}\r'
    _, screen = typed(monkeypatch, keys, "run", "desk", "pay", "--session", "s")
    assert "└ waits for approval" in screen
    exported = json.loads(ostinato("sessions", "export", "s").out)
    answers = [
        part["functionResponse"]["response"]
        for event in exported["events"]
        if event["author"] == "user"
        for part in event["content"]["parts"]
        if "functionResponse" in part
    ]
    assert answers == [{"confirmed": True, "args": {"amount": 50, "to": "Bob"}}]
    assert "paid 50 to Bob" in screen


def test_leaving_the_editor_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, "e\r\x7f\x7f\x03y\r", "run", "desk", "pay")
    assert "paid 50 to Ann" in screen


def test_what_is_passed_over_stays_and_is_asked_at_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, screen = typed(monkeypatch, "pay\r\x04hello\r/quit\r", "run", "desk", "--session", "s")
    assert code == 0
    assert "pay is left waiting" in screen
    assert screen.count("asks for your approval") == 1
    assert "  You said: hello" in screen
    assert "pay waits for your approval:" in screen
    _, screen = typed(monkeypatch, "y\r/quit\r", "run", "desk", "--session", "s")
    assert screen.count("asks for your approval") == 1
    assert "paid 50 to Ann" in screen


def test_two_calls_are_asked_one_by_one_and_answered_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, screen = typed(monkeypatch, "y\rn\r", "run", "desk", "both")
    assert "pay: paid 1 to Ann" in screen
    assert "pay: error: This tool call is rejected." in screen


def test_a_payload_is_what_edit_fills_in(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "edit\r" + "\x7f" * 3 + "42}\r"
    _, screen = typed(monkeypatch, keys, "run", "desk", "size")
    assert "Which size?" in screen
    assert 'to fill in  {"size": 0}' in screen
    assert '"size": {"size": 42}' in screen.replace("size: {", '"size": {')


@pytest.mark.parametrize(
    ("kind", "keys", "length"),
    [
        ("key", "secret\r", 6),
        ("token", "t0ken\r", 5),
        ("basic", "me\rword\r", 4),
        ("login", "t0k3nX\r", 6),
    ],
)
def test_credentials_are_asked_for_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, ostinato: Ostinato, kind: str, keys: str, length: int
) -> None:
    code, screen = typed(monkeypatch, keys, "run", "desk", f"fetch {kind}", "--session", "s")
    assert code == 0
    assert "└ waits for a credential" in screen
    assert "◆ fetch needs a credential" in screen
    assert f"length: {length}" in screen
    assert ("https://id.test/auth" in screen) == (kind == "login")
    shown = ostinato("sessions", "show", "s")
    assert "gave a credential" in shown.out
    secret = keys.split("\r")[-2]
    exported = ostinato("sessions", "export", "s")
    assert secret not in screen + shown.out + exported.out


def test_no_credential_given_leaves_it_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, "\r", "run", "desk", "fetch key", "--session", "s")
    assert "fetch is left waiting" in screen
    assert "--session s --resume" in screen
    _, screen = typed(monkeypatch, "abc\r", "run", "desk", "--session", "s", "--resume")
    assert "length: 3" in screen


def test_an_error_in_a_turn_does_not_end_the_talk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, screen = typed(monkeypatch, "fetch none\rhello\rexit\r", "run", "desk")
    assert code == 0
    assert "error: KeyError: 'none'" in capsys.readouterr().err
    assert "  You said: hello" in screen


def test_lines_are_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    _, screen = typed(monkeypatch, f"{'word ' * 40}\r\x04", "run", "desk")
    lines = [line for line in screen.splitlines() if "word" in line]
    assert len(lines) >= 3
    assert all(len(line) <= 80 and not line.rstrip().endswith("wor") for line in lines)


def test_at_a_real_terminal() -> None:
    with at_a_pty("run", "desk", "pay") as terminal:
        terminal.wait_for("Run it? y / n / edit:")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert "\x1b[" in terminal.seen
    assert "paid 50 to Ann" in terminal.seen


def test_no_color_is_plain_at_a_real_terminal() -> None:
    with at_a_pty("run", "desk", "hello", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    assert "You said: hello" in terminal.seen
    assert "\x1b" not in terminal.seen
