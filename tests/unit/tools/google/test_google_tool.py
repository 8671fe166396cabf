"""GoogleTool: what its function is given and what the model is told."""

from typing import Any

import pytest
from google.oauth2.credentials import Credentials
from pydantic import BaseModel

from ostinato._optional import need
from ostinato.errors import MissingExtraError
from ostinato.tools.google.credentials import BaseGoogleCredentialsConfig
from ostinato.tools.google_tool import GoogleTool
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context


class Settings(BaseModel):
    limit: int = 3


def list_files(folder: str, credentials: Credentials, settings: Settings) -> dict[str, Any]:
    """List files."""
    return {"folder": folder, "token": credentials.token, "limit": settings.limit}


def make_tool(func: Any = list_files, **config: Any) -> GoogleTool:
    config = config or {"credentials": Credentials(token="t-1")}
    return GoogleTool(
        func,
        credentials_config=BaseGoogleCredentialsConfig(**config),
        tool_settings=Settings(),
    )


async def test_the_function_gets_login_and_settings() -> None:
    args = {"folder": "f", "credentials": "forged", "settings": "forged"}
    found = await make_tool().run_async(args=args, tool_context=make_context())
    assert found == {"folder": "f", "token": "t-1", "limit": 3}


def test_the_model_is_told_of_neither() -> None:
    declaration = make_tool()._get_declaration()
    assert declaration is not None
    assert list(present(declaration.parameters_json_schema)["properties"]) == ["folder"]


def test_an_edited_call_needs_neither() -> None:
    assert make_tool().find_argument_fault({"folder": "f"}) == ""


async def test_a_missing_argument_is_reported() -> None:
    found = await make_tool().run_async(args={}, tool_context=make_context())
    assert found["error"].splitlines()[1] == "folder"


async def test_an_async_function_without_either_is_called() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    tool = GoogleTool(add)
    assert await tool.run_async(args={"a": 1, "b": 2}, tool_context=make_context()) == 3


async def test_without_a_config_the_login_is_none() -> None:
    def look(credentials: Any, settings: Any) -> list[Any]:
        return [credentials, settings]

    assert await GoogleTool(look).run_async(args={}, tool_context=make_context()) == [None, None]


async def test_a_failure_is_reported_to_the_model() -> None:
    def fail(credentials: Any) -> None:
        raise RuntimeError("quota")

    found = await make_tool(fail).run_async(args={}, tool_context=make_context())
    assert found == {"status": "ERROR", "error_details": "quota"}
    missing = make_tool(external_access_token_key="k")
    found = await missing.run_async(args={"folder": "f"}, tool_context=make_context())
    assert found["status"] == "ERROR" and "'k'" in found["error_details"]


async def test_a_missing_package_is_the_developers() -> None:
    def fail(credentials: Any) -> None:
        need("no_such_package", extra="vertex")

    with pytest.raises(MissingExtraError, match="vertex"):
        await make_tool(fail).run_async(args={}, tool_context=make_context())


async def test_the_user_is_asked_for_consent() -> None:
    tool, context = make_tool(client_id="id", client_secret="s", scopes=["a"]), make_context()
    found = await tool.run_async(args={"folder": "f"}, tool_context=context)
    assert "User authorization is required" in found and "list_files" in found
    assert "call-1" in context.actions.requested_auth_configs
