"""Arguments of the `adk_request_credential` call, by which a tool asks for a credential.

`AuthConfig` travels in events to the client and comes back with the user's answer; stores keep
credentials under its key.
"""

import hashlib
import json
from typing import Any, Optional

from pydantic import BaseModel, SerializeAsAny, model_validator

from ostinato.auth.auth_credential import AuthCredential, BaseModelWithConfig
from ostinato.auth.auth_schemes import AuthScheme

# Fields that change while one and the same credential lives; its key must not change with them.
_PASSING_OAUTH2_FIELDS = frozenset(
    (
        "auth_uri",
        "state",
        "auth_response_uri",
        "auth_code",
        "access_token",
        "refresh_token",
        "expires_at",
        "expires_in",
    )
)


class AuthConfig(BaseModelWithConfig):
    """A request for a credential, and later its answer.

    `auth_scheme` says how the service authenticates; `raw_auth_credential` is what the developer
    knows (a client id and secret, say); `exchanged_auth_credential` is what the client and the
    user fill in. `credential_key` names the credential in stores; without one it is taken from an
    extra field `credential_key` of the raw credential or the scheme, else derived from both.
    """

    # As the object's own class, so that the fields of a user's scheme reach the client too.
    auth_scheme: SerializeAsAny[AuthScheme]
    raw_auth_credential: Optional[AuthCredential] = None
    exchanged_auth_credential: Optional[AuthCredential] = None
    credential_key: Optional[str] = None

    @model_validator(mode="after")
    def _name_the_credential(self) -> "AuthConfig":
        if not self.credential_key:
            named = _key_in_extras(self.raw_auth_credential) or _key_in_extras(self.auth_scheme)
            self.credential_key = named or self.get_credential_key()
        return self

    def get_credential_key(self) -> str:
        """Return the key derived from scheme and raw credential alone.

        It is the same in every process, whatever the order of fields, and does not depend on
        unknown fields nor on tokens that come and go.
        """
        kind = self.auth_scheme.type_
        kind_name = kind if isinstance(kind, str) else kind.name
        scheme_part = f"{kind_name}_{_digest(self.auth_scheme)}"
        raw = self.raw_auth_credential
        raw_part = f"{raw.auth_type.value}_{_digest(raw)}" if raw else ""
        return f"adk_{scheme_part}_{raw_part}"


class AuthToolArguments(BaseModelWithConfig):
    """The arguments of an `adk_request_credential` call.

    `function_call_id` is the id of the tool call that waits for the credential.
    """

    function_call_id: str
    auth_config: AuthConfig


def _key_in_extras(record: BaseModel | None) -> str | None:
    extras = (record.model_extra if record else None) or {}
    candidates = (extras.get("credential_key"), extras.get("credentialKey"))
    return next((key for key in candidates if isinstance(key, str) and key), None)


def _digest(record: BaseModel) -> str:
    """16 hex digits of the record's canonical JSON."""
    unknown: dict[str, Any] = dict.fromkeys(record.model_extra or (), True)
    passing: dict[str, Any] = {}
    if isinstance(record, AuthCredential) and record.oauth2:
        passing = {"oauth2": set(_PASSING_OAUTH2_FIELDS)}
    known = record.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={**unknown, **passing}
    )
    text = json.dumps(known, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
