"""Takes the secrets out of what leaves for a client or a store: requests and the user's answers.

Contexts and the flow call it for requests, the runner for the user's message. It works on the
records' own classes, so importing it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ostinato.auth._record import SECRET_FIELDS, json_name

if TYPE_CHECKING:
    from ostinato.auth.auth_credential import AuthCredential, BaseModelWithConfig
    from ostinato.auth.auth_tool import AuthConfig
    from ostinato.types import Content

_REQUEST = "adk_request_credential"

# What a client needs to exchange a code for a token itself.
_EXCHANGE_FIELDS = frozenset(("client_secret", "code_verifier"))

# The only unknown field of a credential that means something here (see AuthConfig).
_KEY_NAMES = frozenset(("credential_key", "credentialKey"))


def public_config(config: AuthConfig, *, with_client_secret: bool = False) -> AuthConfig:
    """Return a copy of a request for a credential without anything secret.

    Client secrets, keys, tokens, passwords, authorization codes, PKCE verifiers, private keys and
    fields that the records do not know are left out. What a client needs stays: the scheme, client
    id, consent address and its `state`, and the credential's key.

    Args:
        config: the request.
        with_client_secret: leave in what a client needs to exchange a code itself: the secret of
            the OAuth2 client and the PKCE verifier.
    """
    kept = _EXCHANGE_FIELDS if with_client_secret else frozenset[str]()
    return config.model_copy(
        update={
            name: public_credential(credential, kept)
            for name in ("raw_auth_credential", "exchanged_auth_credential")
            if (credential := getattr(config, name)) is not None
        }
    )


def public_credential(
    credential: AuthCredential, kept: frozenset[str] = frozenset()
) -> AuthCredential:
    """Return a credential without secrets but the fields `kept` of its OAuth2 client."""
    parts: dict[str, Any] = {}
    if credential.http is not None:
        given = _bare(credential.http.credentials)
        parts["http"] = _bare(credential.http, {"credentials": given})
    if credential.oauth2 is not None:
        parts["oauth2"] = _bare(credential.oauth2, kept=kept)
    if credential.service_account is not None:
        parts["service_account"] = None  # Nothing in it is for a client.
    return cast("AuthCredential", _bare(credential, parts))


def public_message(message: Content) -> Content:
    """Return the user's message for the store: answers to credential requests have no secrets."""
    parts = message.parts or []
    answers = [part.function_response for part in parts]
    if not any(answer is not None and answer.name == _REQUEST for answer in answers):
        return message
    bare = [
        part.model_copy(
            update={
                "function_response": answer.model_copy(
                    update={"response": _public_answer(answer.response or {})}
                )
            }
        )
        if answer is not None and answer.name == _REQUEST
        else part
        for part, answer in zip(parts, answers, strict=True)
    ]
    return message.model_copy(update={"parts": bare})


def _bare(
    record: BaseModelWithConfig,
    parts: dict[str, Any] | None = None,
    kept: frozenset[str] = frozenset(),
) -> BaseModelWithConfig:
    secret = SECRET_FIELDS - kept
    gone = {name: None for name, value in record if name in secret and value is not None}
    copy = record.model_copy(update={**gone, **(parts or {})})
    unknown = copy.model_extra or {}
    for name in set(unknown) - _KEY_NAMES:
        del unknown[name]
    return copy


# What of an answer is stored. Clients write either spelling of a name.
def _spellings(*names: str) -> frozenset[str]:
    return frozenset((*names, *map(json_name, names)))


_CREDENTIALS = _spellings("raw_auth_credential", "exchanged_auth_credential")
_CONFIG = _spellings("auth_scheme", "credential_key")
_CREDENTIAL = _spellings("auth_type", "resource_ref", "credential_key")
_OAUTH2 = _spellings(
    "client_id",
    "auth_uri",
    "nonce",
    "state",
    "redirect_uri",
    "audience",
    "expires_at",
    "expires_in",
    "code_challenge_method",
    "token_endpoint_auth_method",
)


def _public_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    public: dict[str, Any] = {}
    for name, value in answer.items():
        if name in _CONFIG:
            public[name] = value
        elif name in _CREDENTIALS:
            public[name] = _public_json(value)
    return public


def _public_json(credential: Any) -> Any:
    """Return a credential's JSON with the names on the lists above and no others."""
    if not isinstance(credential, Mapping):
        return None
    given = cast("Mapping[str, Any]", credential)
    public = _only(given, _CREDENTIAL)
    if "oauth2" in given:
        public["oauth2"] = _only(given["oauth2"], _OAUTH2)
    if "http" in given:
        public["http"] = _only(given["http"], ("scheme",))
    return public


def _only(values: Any, names: Iterable[str]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        return {}
    known = cast("Mapping[str, Any]", values)
    return {name: known[name] for name in known if name in names}
