"""One contract for all credential services, and what sets each apart."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_schemes import APIKey
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service import (
    BaseCredentialService,
    InMemoryCredentialService,
    SessionStateCredentialService,
)
from ostinato.errors import InputValidationError


@dataclass
class FakeSession:
    app_name: str = "app"
    user_id: str = "ann"


def fake_context(session: FakeSession | None = None, state: dict[str, Any] | None = None) -> Any:
    """Return what the services use of a context."""
    return SimpleNamespace(session=session or FakeSession(), state={} if state is None else state)


def config(key: str | None = "api_key") -> AuthConfig:
    credential = key and AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=key)
    return AuthConfig(
        auth_scheme=APIKey.model_validate({"in": "header", "name": "X"}),
        exchanged_auth_credential=credential or None,
        credential_key="ck",
    )


@pytest.fixture(params=[InMemoryCredentialService, SessionStateCredentialService])
def service(request: pytest.FixtureRequest) -> BaseCredentialService:
    return request.param()


async def test_contract_loads_what_was_saved(service: BaseCredentialService) -> None:
    context = fake_context()
    assert await service.load_credential(config(None), context) is None
    await service.save_credential(config("one"), context)
    await service.save_credential(config("two"), context)
    loaded = await service.load_credential(config(None), context)
    assert loaded == config("two").exchanged_auth_credential


async def test_contract_saving_none_removes(service: BaseCredentialService) -> None:
    context = fake_context()
    await service.save_credential(config(), context)
    await service.save_credential(config(None), context)
    assert await service.load_credential(config(), context) is None


@pytest.mark.parametrize("other", [FakeSession(user_id="bob"), FakeSession(app_name="app2")])
async def test_contract_owners_are_apart(
    service: BaseCredentialService, other: FakeSession
) -> None:
    await service.save_credential(config(), fake_context())
    assert await service.load_credential(config(), fake_context(other)) is None


async def test_memory_shares_among_a_users_sessions_and_hands_out_copies() -> None:
    service = InMemoryCredentialService()
    await service.save_credential(config("k"), fake_context())
    loaded = await service.load_credential(config(), fake_context())
    assert loaded is not None
    loaded.api_key = "changed"
    again = await service.load_credential(config(), fake_context())
    assert again is not None
    assert again.api_key == "k"


async def test_session_state_is_read_back_after_it_became_json() -> None:
    service, context = SessionStateCredentialService(), fake_context()
    await service.save_credential(config("k"), context)
    stored = context.state["ck"].model_dump(mode="json", by_alias=True)
    loaded = await service.load_credential(config(), fake_context(state={"ck": stored}))
    assert loaded == config("k").exchanged_auth_credential
    with pytest.raises(InputValidationError, match="'ck'"):
        await service.load_credential(config(), fake_context(state={"ck": "a bare string"}))
