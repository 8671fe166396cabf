"""Redaction: what is left out of logs, and what is not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from ostinato.plugins._redaction import HIDDEN, is_secret_name, redact_value, redacted_text
from tests.support.tries import tries

CANARY = "canary-8f3a91c7d2"


@pytest.mark.parametrize(
    "name",
    [
        "password", "db_password", "apiKey", "api_key", "API-KEY", "x-api-key", "clientSecret",
        "client_secret", "access_token", "accessToken", "token", "refreshToken", "Authorization",
        "temp:auth_token", "cookie", "Set-Cookie", "privateKey", "passwd", "credentials",
        "rawAuthCredential", "secret_value", "code_verifier",
    ],
)  # fmt: skip
def test_fields_that_hold_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert redact_value({name: CANARY}) == {name: HIDDEN}
    assert redact_value({"a": [{name: {"value": CANARY}}]}) == {"a": [{name: HIDDEN}]}


@pytest.mark.parametrize(
    "name",
    [
        "author", "prompt_token_count", "tokens_used", "text", "name", "keyboard", "authors",
        "passenger", "secretary", "monkey", "compass", "key", "total_token_count",
    ],
)  # fmt: skip
def test_fields_that_do_not(name: str) -> None:
    assert redact_value({name: "plain"}) == {name: "plain"}


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {CANARY}",
        f"https://ada:{CANARY}@example.com/",
        f"password={CANARY}",
        f'{{"api_key": "{CANARY}"}}',
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}",
        f"sk-{CANARY}-{CANARY}",
        f"ghp_{CANARY.replace('-', '')}",
        f"eyJhbGciOiJI.{CANARY}.sig",
    ],
)
def test_texts_that_hold_secrets(text: str) -> None:
    assert "8f3a91c7d2" not in redacted_text(text)
    assert HIDDEN in redacted_text(text)


@pytest.mark.parametrize(
    "text",
    ["Tell me the token price", "the secret of life", "https://example.com/a:b", "bearer of news"],
)
def test_texts_that_do_not(text: str) -> None:
    assert redacted_text(text) == text


def test_values_of_every_kind() -> None:
    class Record(BaseModel):
        api_key: str = CANARY
        size: int = 1
        nothing: None = None

    found = redact_value({"r": Record(), "s": {1}, "b": b"\xff", "n": float("nan"), "o": object()})
    assert found == {
        "r": {"api_key": HIDDEN, "size": 1}, "s": [1], "b": "_w==", "n": "nan", "o": "<object>",
    }  # fmt: skip
    assert redact_value({"token": "", "password": None}) == {"token": "", "password": None}


def test_deep_values_end() -> None:
    deep: Any = CANARY
    for _ in range(100):
        deep = [deep]
    assert "..." in str(redact_value(deep))


@settings(max_examples=tries(100))
@given(st.recursive(st.none() | st.text() | st.integers(), lambda x: st.dictionaries(st.text(), x)))
def test_any_json_can_be_redacted(value: Any) -> None:
    once = redact_value(value)
    assert redact_value(once) == once
