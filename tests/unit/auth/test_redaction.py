"""What shows of a credential: in its repr, in errors, in requests and in stored answers."""

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
    ServiceAccountCredential,
)
from ostinato.auth.auth_schemes import HTTPBearer
from ostinato.auth.auth_tool import AuthConfig, AuthToolArguments
from ostinato.auth.redaction import public_config, public_message

SECRET_OAUTH2 = {
    "client_secret",
    "auth_response_uri",
    "auth_code",
    "access_token",
    "refresh_token",
    "id_token",
    "code_verifier",
}
NUMBERS = {"expires_at": 1, "expires_in": 2}


def everything() -> AuthCredential:
    """A credential whose every secret field says so, and every other one does not."""
    known = {"token_endpoint_auth_method": "client_secret_basic", **NUMBERS}
    oauth2: dict[str, Any] = {
        name: f"canary-{name}" if name in SECRET_OAUTH2 else f"plain-{name}"
        for name in OAuth2Auth.model_fields
        if name not in known
    }
    key = dict.fromkeys(ServiceAccountCredential.model_fields, "plain")
    key.update(private_key="canary-private", private_key_id="canary-key-id")
    return AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        resource_ref="plain-ref",
        api_key="canary-api",
        http=HttpAuth(
            scheme="basic",
            credentials=HttpCredentials(
                username="plain-user", password="canary-password", token="canary-token"
            ),
            additional_headers={"X-Api-Key": "canary-header"},
        ),
        service_account=ServiceAccount(
            service_account_credential=ServiceAccountCredential(**key), scopes=["plain-scope"]
        ),
        oauth2=OAuth2Auth(**oauth2, **known, vendor_password="canary-unknown"),  # pyright: ignore[reportCallIssue]
        **{"vendor_secret": "canary-unknown"},
    )


def test_repr_and_str_hide_secrets() -> None:
    whole = everything()
    assert whole.oauth2 is not None
    config = AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=whole)
    arguments = AuthToolArguments(function_call_id="f", auth_config=config)
    for thing in (whole, config, arguments, whole.oauth2, [whole], {"a": whole}):
        assert "canary" not in f"{thing!r}{thing}"
        assert "plain-client_id" in repr(thing)
    assert "client_secret=***" in repr(whole.oauth2)
    assert "access_token=None" in repr(OAuth2Auth())


def test_errors_do_not_show_what_was_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        AuthCredential.model_validate({"authType": "apiKey", "apiKey": ["canary"]})
    assert "canary" not in f"{caught.value!r}{caught.value}"


def test_request_keeps_what_a_client_needs_and_no_more() -> None:
    whole = everything()
    config = AuthConfig(
        auth_scheme=HTTPBearer(),
        raw_auth_credential=whole,
        exchanged_auth_credential=whole,
        credential_key="k",
    )
    public = public_config(config)
    text = public.model_dump_json(by_alias=True)
    assert "canary" not in text
    assert public.raw_auth_credential is not None
    assert public.raw_auth_credential.oauth2 is not None
    kept = public.raw_auth_credential.oauth2.model_dump(exclude_none=True)
    assert set(kept) == set(OAuth2Auth.model_fields) - SECRET_OAUTH2
    assert public.credential_key == "k"
    assert public.auth_scheme == config.auth_scheme
    assert config.raw_auth_credential == everything()
    # It reads back in, though the service account is gone.
    assert AuthConfig.model_validate_json(text).credential_key == "k"


@pytest.mark.parametrize("by_alias", [True, False])
def test_stored_answer_holds_no_secret(by_alias: bool) -> None:
    config = AuthConfig(
        auth_scheme=HTTPBearer(), exchanged_auth_credential=everything(), credential_key="k"
    )
    response = config.model_dump(mode="json", by_alias=by_alias)
    message = _message("adk_request_credential", {**response, "more": "canary"})
    stored = public_message(message)
    assert "canary" not in stored.model_dump_json()
    assert "plain-client_id" in stored.model_dump_json()
    assert message == _message("adk_request_credential", {**response, "more": "canary"})


@pytest.mark.parametrize("odd", [None, "canary", ["canary"], {"oauth2": "canary"}])
def test_odd_answer_is_stored_without_what_is_odd(odd: Any) -> None:
    stored = public_message(_message("adk_request_credential", {"exchangedAuthCredential": odd}))
    assert "canary" not in stored.model_dump_json()


def test_other_messages_stay_as_they_are() -> None:
    for message in (_message("other", {"apiKey": "k"}), types.Content(), types.UserContent("Hi")):
        assert public_message(message) is message


def _message(name: str, response: dict[str, Any]) -> types.Content:
    answer = types.FunctionResponse(id="1", name=name, response=response)
    parts = [types.Part(text="Here."), types.Part(function_response=answer)]
    return types.Content(role="user", parts=parts)
