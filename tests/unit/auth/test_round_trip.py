"""A tool asks, the user consents in a browser and answers, the tool runs; and then again."""

import copy
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import _clock, types
from ostinato.agents.llm_agent import LlmAgent
from ostinato.apps import App
from ostinato.auth.asked import forget_requests
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
)
from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_schemes import APIKey, HTTPBase
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_manager import CredentialManager
from ostinato.auth.credential_service import InMemoryCredentialService
from ostinato.auth.exchanger.base_credential_exchanger import CredentialExchangeError
from ostinato.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from ostinato.context.context import Context
from ostinato.context.readonly import ReadonlyContext
from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.runners import Runner
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.authenticated_function_tool import AuthenticatedFunctionTool
from ostinato.tools.base_tool import BaseTool
from ostinato.tools.base_toolset import BaseToolset
from ostinato.tools.function_tool import FunctionTool
from tests.support.optionals import present
from tests.unit.auth.identity_provider import CLIENT_SECRET, IdentityProvider
from tests.unit.auth.kit import code_flow, config_of, oauth2_of, pkce_config

ASK = "adk_request_credential"


class Mailbox:
    """A tool that keeps the credential it was called with."""

    def __init__(self, config: AuthConfig, *, direct: bool = False) -> None:
        self.config = config
        self.seen: list[AuthCredential] = []
        self.tool: Any = (
            self.read_mail
            if direct
            else AuthenticatedFunctionTool(func=self.mail, auth_config=config)
        )

    def mail(self, folder: str, credential: AuthCredential) -> dict[str, Any]:
        """Read mail."""
        self.seen.append(credential)
        return {"mails": 3, "folder": folder}

    async def read_mail(self, folder: str, tool_context: Context) -> dict[str, Any]:
        """Read mail, asking for the credential by hand as older tools do."""
        credential = tool_context.get_auth_response(self.config)
        if credential is None:
            tool_context.request_credential(self.config)
            return {"status": "pending"}
        return self.mail(folder, credential)

    @property
    def name(self) -> str:
        return "read_mail" if callable(self.tool) else "mail"

    @property
    def tokens(self) -> list[str | None]:
        return [oauth2_of(credential).access_token for credential in self.seen]


def talk_to(
    box: Mailbox,
    *,
    runs: int = 1,
    sessions: BaseSessionService | None = None,
    fails_first: bool = False,
    **services: Any,
) -> Conversation:
    turns: list[Any] = [call(box.name, folder="in")] if fails_first else []
    for _ in range(runs):
        turns += [call(box.name, folder="in"), "Done."]
    agent = LlmAgent(name="root", model=ScriptedModel(turns), tools=[box.tool])
    runner = Runner(
        agent=agent,
        app_name="app",
        session_service=sessions or InMemorySessionService(),
        **services,
    )
    return Conversation(runner)


def request_in(events: list[Event]) -> types.FunctionCall:
    [asked] = [c for event in events for c in event.get_function_calls() if c.name == ASK]
    return asked


def answer_to(asked: types.FunctionCall, **oauth2: Any) -> list[types.Part]:
    """The request's configuration with the credential filled in, as clients answer."""
    config = copy.deepcopy((asked.args or {})["authConfig"])
    config["exchangedAuthCredential"]["oauth2"].update(oauth2)
    return reply(asked, config)


def reply(asked: types.FunctionCall, response: dict[str, Any]) -> list[types.Part]:
    answer = types.FunctionResponse(id=asked.id, name=ASK, response=response)
    return [types.Part(function_response=answer)]


def consent(idp: IdentityProvider, asked: types.FunctionCall) -> list[types.Part]:
    exchanged = (asked.args or {})["authConfig"]["exchangedAuthCredential"]
    return answer_to(asked, authResponseUri=idp.consent(exchanged["oauth2"]["authUri"]))


def responses_in(events: list[Event]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses()]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.spec(148)
async def test_user_consents_and_the_tool_runs(
    idp: IdentityProvider, direct: bool, restarted: bool
) -> None:
    box = Mailbox(pkce_config(idp), direct=direct)
    talk = talk_to(box)
    asked = request_in(await talk.say("Mail?"))
    assert box.seen == []
    if restarted:
        forget_requests()
    events = await talk.say(consent(idp, asked))
    assert responses_in(events) == [{"mails": 3, "folder": "in"}]
    assert box.tokens == [idp.issued[-2]]
    assert idp.grants == ["authorization_code"]
    assert oauth2_of(box.seen[0]).client_secret == CLIENT_SECRET


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("sends", [False, True])
async def test_a_client_may_be_told_the_secret_and_exchange_the_code_itself(
    idp: IdentityProvider, direct: bool, sends: bool
) -> None:
    box = Mailbox(pkce_config(idp), direct=direct)
    model = ScriptedModel([call(box.name, folder="in"), "Done."])
    root = LlmAgent(name="root", model=model, tools=[box.tool])
    if sends:
        with pytest.warns(UserWarning, match="client secrets"):
            app = App(name="app", root_agent=root, send_client_secrets=True)
    else:
        app = App(name="app", root_agent=root)
    talk = Conversation(Runner(app=app, session_service=InMemorySessionService()))
    asked = request_in(await talk.say("Mail?"))
    told = AuthConfig.model_validate((asked.args or {})["authConfig"])
    stored = (await talk.session()).model_dump_json()
    for credential in (told.raw_auth_credential, told.exchanged_auth_credential):
        assert oauth2_of(credential).client_secret == (CLIENT_SECRET if sends else None)
    assert (CLIENT_SECRET in stored) is sends
    if not sends:
        assert oauth2_of(told.exchanged_auth_credential).code_verifier is None
        return
    given = oauth2_of(told.exchanged_auth_credential)
    given.auth_response_uri = idp.consent(given.auth_uri or "")
    credential = (
        await OAuth2CredentialExchanger().exchange(
            present(told.exchanged_auth_credential), told.auth_scheme
        )
    ).credential
    await talk.say(answer_to(asked, accessToken=oauth2_of(credential).access_token))
    assert box.tokens == [oauth2_of(credential).access_token]
    assert idp.grants == ["authorization_code"]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_user_is_asked_again_where_the_answer_is_refused(
    idp: IdentityProvider, direct: bool, restarted: bool
) -> None:
    box = Mailbox(pkce_config(idp), direct=direct)
    talk = talk_to(box)
    asked = request_in(await talk.say("Mail?"))
    if restarted:
        forget_requests()
    idp.denies = True
    again = request_in(await talk.say(consent(idp, asked)))
    assert again.id != asked.id
    idp.denies = False
    events = await talk.say(consent(idp, again))
    assert responses_in(events) == [{"mails": 3, "folder": "in"}]


async def test_failing_provider_ends_the_run(idp: IdentityProvider) -> None:
    box = Mailbox(pkce_config(idp))
    talk = talk_to(box)
    answer = consent(idp, request_in(await talk.say("Mail?")))
    idp.fault = "server error"
    with pytest.raises(CredentialExchangeError, match="HTTP 500"):
        await talk.say(answer)
    assert box.seen == []


async def test_second_run_uses_the_kept_token_and_refreshes_it(idp: IdentityProvider) -> None:
    box = Mailbox(pkce_config(idp))
    talk = talk_to(box, runs=4, credential_service=InMemoryCredentialService())
    await talk.say(consent(idp, request_in(await talk.say("Mail?"))))
    await talk.say("Again?")
    assert box.tokens[0] == box.tokens[1]
    assert idp.grants == ["authorization_code"]


async def test_expired_token_is_refreshed_or_asked_for_again(idp: IdentityProvider) -> None:
    box = Mailbox(pkce_config(idp))
    talk = talk_to(box, runs=3, credential_service=InMemoryCredentialService())
    await talk.say(consent(idp, request_in(await talk.say("Mail?"))))
    with _clock.replace_sources(time=lambda: time.time() + 4_000):
        await talk.say("Again?")
        assert idp.grants == ["authorization_code", "refresh_token"]
        assert box.tokens[0] != box.tokens[1]
    idp.revoke()
    with _clock.replace_sources(time=lambda: time.time() + 8_000):
        asked = request_in(await talk.say("And again?"))
        await talk.say(consent(idp, asked))
    assert sorted(idp.grants[2:]) == ["authorization_code", "refresh_token", "refresh_token"]
    assert len(set(box.tokens)) == 3


async def test_answer_cannot_send_the_secret_elsewhere(idp: IdentityProvider) -> None:
    box = Mailbox(config_of(code_flow(idp)))
    talk = talk_to(box)
    asked = request_in(await talk.say("Mail?"))
    [part] = consent(idp, asked)
    assert part.function_response is not None
    response: Any = part.function_response.response
    flow = response["authScheme"]["flows"]["authorizationCode"]
    flow["tokenUrl"] = "http://127.0.0.1:9/evil"
    response["credentialKey"] = "another"
    response["exchangedAuthCredential"]["oauth2"]["state"] = "another"
    await talk.say([part])
    assert box.tokens == [idp.issued[-2]]


async def test_answer_of_another_request_is_refused(idp: IdentityProvider) -> None:
    box = Mailbox(pkce_config(idp))
    talk = talk_to(box)
    asked = request_in(await talk.say("Mail?"))
    foreign = request_in(await talk_to(Mailbox(pkce_config(idp))).say("Mail?"))
    stolen = (foreign.args or {})["authConfig"]["exchangedAuthCredential"]["oauth2"]
    answer = answer_to(asked, authResponseUri=idp.consent(stolen["authUri"]), state=stolen["state"])
    request_in(await talk.say(answer))
    assert box.seen == []
    assert idp.forms == []


@pytest.mark.parametrize(
    "exchanged", [{"authType": "no such type", "apiKey": "canary-k"}, "canary", ["canary"], None]
)
async def test_answer_that_is_no_credential(idp: IdentityProvider, exchanged: Any) -> None:
    talk = talk_to(Mailbox(pkce_config(idp)))
    asked = request_in(await talk.say("Mail?"))
    config = {**(asked.args or {})["authConfig"], "exchangedAuthCredential": exchanged}
    with pytest.raises(InputValidationError, match="credential") as caught:
        await talk.say(reply(asked, config))
    assert "canary" not in str(caught.value)


# Toolsets


class MailTools(BaseToolset):
    """A toolset that can list its tools with a credential only."""

    def __init__(self, config: AuthConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens: list[str | None] = []

    def get_auth_config(self) -> AuthConfig | None:
        return self.config

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        assert readonly_context is not None
        found = readonly_context.get_credential(self.config.credential_key or "")
        self.tokens.append(oauth2_of(found).access_token)

        def mail() -> int:
            return 3

        return [FunctionTool(mail)]


@pytest.mark.spec(95)
async def test_toolset_gets_its_credential_before_it_lists_tools(idp: IdentityProvider) -> None:
    tools = MailTools(pkce_config(idp))
    agent = LlmAgent(name="root", model=ScriptedModel([call("mail"), "3.", "Hi."]), tools=[tools])
    runner = Runner(
        agent=agent,
        app_name="app",
        session_service=InMemorySessionService(),
        credential_service=InMemoryCredentialService(),
    )
    talk = Conversation(runner)
    events = await talk.say("Mail?")
    asked = request_in(events)
    assert (len(events), tools.tokens) == (1, [])
    events = await talk.say(consent(idp, asked))
    assert responses_in(events) == [{"result": 3}]
    await talk.say("Again?")
    assert len(set(tools.tokens)) == 1
    assert idp.grants == ["authorization_code"]


async def test_a_refusal_of_a_toolsets_credential_ends_the_run(idp: IdentityProvider) -> None:
    tools = MailTools(pkce_config(idp))
    agent = LlmAgent(name="root", model=ScriptedModel([]), tools=[tools])
    talk = Conversation(
        Runner(agent=agent, app_name="app", session_service=InMemorySessionService())
    )
    asked = request_in(await talk.say("Mail?"))
    (event,) = await talk.say(reply(asked, {"action": "decline"}))
    assert event.error_code == "CREDENTIAL_REFUSED"
    assert "MailTools" in (event.error_message or "")
    assert tools.tokens == []


# Secrets


@pytest.fixture(params=["memory", "sqlite"])
async def sessions(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    if request.param == "memory":
        yield InMemorySessionService()
        return
    service = SqliteSessionService(tmp_path / "sessions.db")
    yield service
    await service.close()


def files_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode("latin-1") for path in folder.iterdir()}


async def assert_no_canary(
    talk: Conversation, seen: list[Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = await talk.session()
    places = {
        "events": "".join(f"{event!r}{event}{event.model_dump_json()}" for event in seen),
        "stored session": f"{session!r}{session.model_dump_json()}{session.state}",
        "logs": caplog.text + "".join(str(record.__dict__) for record in caplog.records),
        **files_in(folder),
    }
    assert len(places["stored session"]) > 200
    assert [name for name, text in places.items() if "canary" in text] == []


@pytest.mark.parametrize("direct", [False, True])
async def test_no_secret_of_oauth2_gets_out(
    idp: IdentityProvider,
    sessions: BaseSessionService,
    direct: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    box = Mailbox(pkce_config(idp), direct=direct)
    service = InMemoryCredentialService()
    talk = talk_to(box, sessions=sessions, fails_first=True, credential_service=service)
    seen: list[Any] = await talk.say("Mail?")
    answer = consent(idp, request_in(seen))
    idp.fault = "odd error"
    with pytest.raises(CredentialExchangeError) as caught:
        await talk.say(answer)
    seen += talk.events
    idp.fault = None
    seen += await talk.say("Mail?")
    seen += await talk.say(consent(idp, request_in(talk.events)))
    assert box.tokens[0] in idp.issued
    verifier = idp.forms[-1]["code_verifier"]
    await assert_no_canary(talk, seen, tmp_path, caplog)
    assert "canary" not in f"{caught.value!r}{caught.value}"
    shown = "".join(repr(thing) for thing in (box.config, box.seen, CredentialManager(box.config)))
    assert "canary" not in shown
    stored = (await talk.session()).model_dump_json()
    assert verifier not in stored + shown


async def test_request_that_a_tool_writes_itself_is_bare_too(idp: IdentityProvider) -> None:
    config = pkce_config(idp)
    found: list[AuthCredential] = []

    def mail(tool_context: Context) -> str:
        credential = tool_context.get_auth_response(config)
        if credential is None:
            request = AuthHandler(config).generate_auth_request()
            tool_context.actions.requested_auth_configs[tool_context.function_call_id or ""] = (
                request
            )
            return "pending"
        found.append(credential)
        return "done"

    agent = LlmAgent(name="root", model=ScriptedModel([call("mail"), "Done."]), tools=[mail])
    talk = Conversation(agent)
    events = await talk.say("Mail?")
    assert "canary" not in "".join(event.model_dump_json() for event in events)
    await talk.say(consent(idp, request_in(events)))
    assert [oauth2_of(credential).access_token for credential in found] == [idp.issued[-2]]


def _http(scheme: str, **fields: Any) -> AuthCredential:
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(
            scheme=scheme,
            credentials=HttpCredentials(**fields),
            additional_headers={"X-Key": "canary-header"},
        ),
    )


@pytest.mark.parametrize(
    ("scheme", "given"),
    [
        (
            APIKey.model_validate({"in": "header", "name": "X"}),
            AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="canary-key"),
        ),
        (HTTPBase(scheme="bearer"), _http("bearer", token="canary-token")),
        (HTTPBase(scheme="basic"), _http("basic", username="u", password="canary-password")),
    ],
)
@pytest.mark.parametrize("of_the_developer", [True, False])
async def test_no_key_gets_out(
    sessions: BaseSessionService,
    scheme: Any,
    given: AuthCredential,
    of_the_developer: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    raw = given if of_the_developer else None
    box = Mailbox(AuthConfig(auth_scheme=scheme, raw_auth_credential=raw), direct=True)
    talk = talk_to(box, sessions=sessions)
    seen: list[Any] = await talk.say("Mail?")
    asked = request_in(seen)
    config = {
        **(asked.args or {})["authConfig"],
        "exchangedAuthCredential": given.model_dump(mode="json", by_alias=True, exclude_none=True),
        "note": "canary-note",
    }
    seen += await talk.say(reply(asked, config))
    assert box.seen == [given]
    await assert_no_canary(talk, seen, tmp_path, caplog)
    assert "canary" not in f"{box.config!r}{box.seen!r}"
