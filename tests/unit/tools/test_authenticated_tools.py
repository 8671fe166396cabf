"""Tools that are handed a credential: what the model is told, and when they run."""

from typing import Any

import pytest

from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from ostinato.auth.auth_schemes import APIKey, OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from ostinato.auth.auth_tool import AuthConfig
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from ostinato.tools import AuthenticatedFunctionTool, BaseAuthenticatedTool
from tests.unit.tools.contexts import make_context

KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
READY = AuthConfig(
    auth_scheme=APIKey.model_validate({"in": "header", "name": "X"}), raw_auth_credential=KEY
)
CODE_FLOW = OAuth2(
    flows=OAuthFlows(
        authorizationCode=OAuthFlowAuthorizationCode(
            authorizationUrl="https://login.example/auth", tokenUrl="https://login.example/token"
        )
    )
)
ASKS = AuthConfig(
    auth_scheme=CODE_FLOW,
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="c", client_secret="canary"),
    ),
)


def with_credential(a: int, credential: Any, tool_context: Context) -> dict[str, Any]:
    """Adds."""
    return {"a": a, "credential": credential, "call": tool_context.function_call_id}


async def typed(a: int, credential: AuthCredential | None = None) -> dict[str, Any]:
    return {"a": a, "credential": credential}


def without(a: int) -> int:
    return a


class Plain(BaseAuthenticatedTool):
    async def _run_async_impl(
        self, *, args: dict[str, Any], tool_context: Context, credential: AuthCredential | None
    ) -> Any:
        return {**args, "credential": credential}


def tool_of(func: Any, config: AuthConfig | None, **options: Any) -> Any:
    if func is Plain:
        return Plain(name="plain", description="Plain.", auth_config=config, **options)
    return AuthenticatedFunctionTool(func=func, auth_config=config, **options)


@pytest.mark.spec(129)
@pytest.mark.parametrize("func", [with_credential, typed, Plain])
async def test_tool_gets_the_credential(func: Any) -> None:
    result = await tool_of(func, READY).run_async(args={"a": 1}, tool_context=make_context())
    assert (result["a"], result["credential"]) == (1, KEY)


async def test_function_need_not_take_the_credential() -> None:
    tool = tool_of(without, READY)
    assert await tool.run_async(args={"a": 1}, tool_context=make_context()) == 1


async def test_model_cannot_fill_the_credential_in() -> None:
    tool = tool_of(with_credential, READY)
    parameters = tool._get_declaration().parameters_json_schema
    assert set(parameters["properties"]) == {"a"}
    assert parameters["required"] == ["a"]
    assert tool.copy_as("other")._get_declaration().parameters_json_schema == parameters
    args = {"a": 1, "credential": "mine"}
    result = await tool.run_async(args=args, tool_context=make_context())
    assert result["credential"] == KEY
    assert args == {"a": 1, "credential": "mine"}


@pytest.mark.parametrize("func", [with_credential, typed, without, Plain])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "Pending User Authorization."),
        ("", "Pending User Authorization."),
        ("Sign in, please.", "Sign in, please."),
        ({"sign_in": True}, {"sign_in": True}),
    ],
)
async def test_user_is_asked_first(func: Any, given: Any, told: Any) -> None:
    context = make_context()
    tool = tool_of(func, ASKS, response_for_auth_required=given)
    assert await tool.run_async(args={"a": 1}, tool_context=context) == told
    assert list(context.actions.requested_auth_configs) == ["call-1"]
    assert "canary" not in context.actions.model_dump_json()


@pytest.mark.parametrize("func", [with_credential, typed, Plain])
async def test_without_a_configuration_it_runs_without(
    func: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tool = tool_of(func, None)
    assert "no auth_config" in caplog.text
    result = await tool.run_async(args={"a": 1}, tool_context=make_context())
    assert (result["a"], result["credential"]) == (1, None)


async def test_mistakes_of_model_and_developer() -> None:
    tool = tool_of(with_credential, READY)
    answer = await tool.run_async(args={}, tool_context=make_context())
    assert "a" in answer["error"].splitlines()
    assert "credential" not in answer["error"].splitlines()
    bare = tool_of(typed, AuthConfig(auth_scheme=CODE_FLOW))
    with pytest.raises(AgentConfigError, match="raw_auth_credential"):
        await bare.run_async(args={"a": 1}, tool_context=make_context())


def test_edited_arguments_are_checked_without_the_credential() -> None:
    def pay(amount: int, credential: Any) -> None: ...

    tool = AuthenticatedFunctionTool(func=pay)
    assert tool.find_argument_fault({"amount": 9}) == ""
    assert tool.find_argument_fault({"amount": 9, "credential": "mine"})
    assert tool.find_argument_fault({})
