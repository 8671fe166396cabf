"""Function nodes with `auth_config`: the user is asked for a credential before the function runs;
it lives in the run, and neither a client nor a store gets to see it."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.auth import AuthConfig
from ostinato.auth.asked import forget_requests
from ostinato.errors import CallAlreadyAnsweredError, GraphError, InputValidationError
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow, node
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.workflow.kit import gives, lines, shows

pytestmark = pytest.mark.spec(148, 217)

KEY = AuthConfig.model_validate(
    {
        "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "rawAuthCredential": {"authType": "apiKey", "apiKey": "raw secret"},
        "credentialKey": "graph_key",
    }
)
CONSENT = AuthConfig.model_validate(
    {
        "authScheme": {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "https://login.example/auth",
                    "tokenUrl": "https://login.example/token",
                    "scopes": {"read": "Read"},
                }
            },
        },
        "rawAuthCredential": {
            "authType": "oauth2",
            "oauth2": {"clientId": "client", "clientSecret": "client secret"},
        },
        "credentialKey": "graph_consent",
    }
)


def fetcher(seen: list[str], name: str = "fetch", config: AuthConfig = KEY, **options: Any) -> Any:
    """A node that notes the credential it was given."""

    def fetch(ctx: Any, node_input: Any) -> str:
        given = ctx.get_auth_response(config)
        seen.append(given.api_key or given.oauth2.access_token)
        return f"{name} with {node_input}"

    return FunctionNode(func=fetch, name=name, auth_config=config, rerun_on_resume=True, **options)


def requests(events: list[Any]) -> list[Any]:
    return [
        call
        for event in events
        for call in event.get_function_calls()
        if call.name == "adk_request_credential"
    ]


def given(call: Any, key: str = "the key") -> dict[str, Any]:
    credential = {"authType": "apiKey", "apiKey": key}
    return {**call.args["authConfig"], "exchangedAuthCredential": credential}


async def test_a_node_runs_once_its_credential_is_there(store: Store) -> None:
    seen: list[str] = []
    flow = Workflow(name="flow", edges=[(START, gives("a"), fetcher(seen), shows())])
    (asked,) = requests(await Talk(flow, store).say())
    assert asked.id == asked.args["functionCallId"] == "wf_auth:flow@1/fetch@1"
    assert asked.args["message"] == "Please provide your API key for X-Key."
    assert seen == []
    said = lines(await Talk(flow, store).answer(asked, given(asked)))
    assert said == [
        'flow@1/fetch@1 = "fetch with a"',
        "flow@1/show@1 = \"show got 'fetch with a'\"",
    ]
    assert seen == ["the key"]
    log = str(await Talk(flow, store).stored())
    assert "the key" not in log and "raw secret" not in log


async def test_a_node_fails_whose_credential_is_refused(store: Store) -> None:
    seen: list[str] = []
    flow = Workflow(name="flow", edges=[(START, gives("a"), fetcher(seen), shows())])
    (asked,) = requests(await Talk(flow, store).say())
    error = await Talk(flow, store).fails(answer_to(asked, {"action": "decline"}))
    assert "refused to give the credential" in str(error)
    assert seen == []
    with pytest.raises(CallAlreadyAnsweredError):
        await Talk(flow, store).answer(asked, given(asked))


async def test_one_run_asks_for_a_credential_once_and_the_next_again(store: Store) -> None:
    seen: list[str] = []
    flow = Workflow(name="flow", edges=[(START, fetcher(seen, "one"), fetcher(seen, "two"))])
    (asked,) = requests(await Talk(flow, store).say())
    await Talk(flow, store).answer(asked, given(asked))
    assert seen == ["the key", "the key"]
    (asked,) = requests(await Talk(flow, store).say("Again"))
    await Talk(flow, store).answer(asked, given(asked, "new key"))
    assert seen[2:] == ["new key", "new key"]


async def test_nodes_side_by_side_ask_each_for_its_own(store: Store) -> None:
    seen: list[str] = []
    other = KEY.model_copy(update={"credential_key": "other"})
    wings = (fetcher(seen, "one"), fetcher(seen, "two", other), gives("three"))
    flow = Workflow(name="flow", edges=[(START, wings, JoinNode(name="join"))])
    one, two = requests(await Talk(flow, store).say())
    await Talk(flow, store).answer(two, given(two, "second"))
    assert seen == ["second"]
    await Talk(flow, store).answer(one, given(one, "first"))
    assert seen == ["second", "first"]


@pytest.mark.parametrize("answer", [{}, {"result": "x"}, {"exchangedAuthCredential": None}])
async def test_an_answer_without_a_credential_is_asked_for_again(
    store: Store, answer: dict[str, Any]
) -> None:
    seen: list[str] = []
    flow = Workflow(name="flow", edges=[(START, fetcher(seen))])
    (asked,) = requests(await Talk(flow, store).say())
    (again,) = requests(await Talk(flow, store).answer(asked, answer))
    await Talk(flow, store).answer(again, given(again))
    assert seen == ["the key"]


async def test_an_answer_that_is_no_credential_is_refused_before_it_is_stored(
    store: Store,
) -> None:
    flow = Workflow(name="flow", edges=[(START, fetcher([]))])
    talk = Talk(flow, store)
    (asked,) = requests(await talk.say())
    before = len(await talk.stored())
    with pytest.raises(InputValidationError, match="exchangedAuthCredential"):
        await talk.answer(asked, {"exchangedAuthCredential": {"authType": 7}})
    assert len(await talk.stored()) == before


async def test_an_answer_that_came_already_is_refused(store: Store) -> None:
    flow = Workflow(name="flow", edges=[(START, fetcher([]))])
    talk = Talk(flow, store)
    (asked,) = requests(await talk.say())
    await talk.answer(asked, given(asked))
    with pytest.raises(CallAlreadyAnsweredError, match="answered"):
        await talk.answer(asked, given(asked))


async def test_after_a_restart_a_credential_that_was_lost_is_asked_for_again(
    store: Store,
) -> None:
    seen: list[str] = []
    broken = [RuntimeError("broken")]

    def fetch(ctx: Any, node_input: Any) -> str:
        if broken:
            raise broken.pop()
        seen.append(ctx.get_auth_response(KEY).api_key)
        return "fetched"

    def flow() -> Workflow:
        one = FunctionNode(func=fetch, auth_config=KEY, rerun_on_resume=True)
        return Workflow(name="flow", edges=[(START, one)])

    (asked,) = requests(await Talk(flow(), store).say())
    talk = Talk(flow(), store)
    assert "broken" in str(await talk.fails(answer_to(asked, given(asked))))
    forget_requests()
    invocation = (await talk.stored())[0].invocation_id
    events = await Talk(flow(), store).say(None, invocation_id=invocation)
    if requests(events):  # a store that keeps state in memory has it still
        (again,) = requests(events)
        await Talk(flow(), store).answer(again, given(again))
    assert seen == ["the key"]


async def test_consent_is_asked_for_without_the_client_s_secret(store: Store) -> None:
    seen: list[str] = []
    flow = Workflow(name="flow", edges=[(START, fetcher(seen, config=CONSENT))])
    (asked,) = requests(await Talk(flow, store).say())
    assert asked.args["message"] == "Please complete the authentication flow."
    shown = asked.args["authConfig"]["exchangedAuthCredential"]["oauth2"]
    assert shown["authUri"].startswith("https://login.example/auth?")
    assert "client secret" not in str(asked.args)
    token = {"authType": "oauth2", "oauth2": {"accessToken": "given token"}}
    answer = {**asked.args["authConfig"], "exchangedAuthCredential": token}
    await Talk(flow, store).answer(asked, answer)
    assert seen == ["given token"]
    assert "given token" not in str(await Talk(flow, store).stored())


async def test_a_node_that_another_runs_asks_too(store: Store) -> None:
    seen: list[str] = []
    child = fetcher(seen)

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> str:
        return await ctx.run_node(child, "x")

    flow = Workflow(name="flow", edges=[(START, parent, shows())])
    (asked,) = requests(await Talk(flow, store).say())
    assert asked.id == "wf_auth:flow@1/parent@1/fetch@1"
    said = lines(await Talk(flow, store).answer(asked, given(asked)))
    assert said[-1] == "flow@1/show@1 = \"show got 'fetch with x'\""


def test_a_node_with_a_credential_has_to_run_again() -> None:
    def plan(node_input: Any) -> None: ...

    with pytest.raises(GraphError, match=r"'plan'.*rerun_on_resume=True"):
        node(plan, auth_config=KEY)
    with pytest.raises(ValueError, match="authScheme"):
        node(plan, auth_config={"a": 1}, rerun_on_resume=True)
