"""What looks like a secret is left out everywhere by the same list."""

from __future__ import annotations

import pytest

from ostinato._secrets import redact_text
from ostinato.plugins._redaction import redact_value as redacted_in_logs
from ostinato.server.problems import public_text
from ostinato.telemetry.model_call import redact_value as redacted_in_traces

CANARY = "Zq8f3A91c7D2xK40"

HOLDS = [
    f"{{'password': '{CANARY} x', 'a': 1}}",
    f"{{'api_key': '{CANARY}'}}",
    f'{{\\"token\\": \\"{CANARY}\\"}}',
    f"AWS_SECRET_ACCESS_KEY={CANARY}",
    "AKIAZQ8F3A91C7D2XK40",
    "ASIAZQ8F3A91C7D2XK40",
    f"Authorization: Basic {CANARY}==",
    f"Proxy-Authorization: basic {CANARY}",
    f"bearer {CANARY}",
    f"hf_{CANARY}abc",
    f"glpat-{CANARY}",
    f"github_pat_{CANARY}",
    f"ghp_{CANARY}",
    f"GOCSPX-{CANARY}",
    f"xoxb-{CANARY}",
    f"sk-{CANARY}",
    f"AIza{CANARY}{CANARY}",
    f"ya29.{CANARY}",
    f"https://b.s3.amazonaws.com/f?X-Amz-Signature={CANARY}",
    f"https://storage.googleapis.com/f?x=1&X-Goog-Signature={CANARY}",
    f"https://a.blob.core.windows.net/f?sv=1&sig={CANARY}",
    f"https://a.cloudfront.net/f?Signature={CANARY}",
    f"postgresql://ann:p@{CANARY}@db/x",
    f"-----BEGIN EC PRIVATE KEY-----\n{CANARY}\n-----END EC PRIVATE KEY-----",
    f"eyJhbGciOiJI.{CANARY}.sig",
    f"-eyJhbGciOiJI.{CANARY}.sig",
    f"{{'key': '{CANARY}'}}",
    f"{{'Key': b'{CANARY}', 'a': 1}}",
    f'{{"key": "{CANARY}"}}',
    f'{{\\"key\\": \\"{CANARY}\\"}}',
    f"{{'password': b'{CANARY} x'}}",
    f"https://maps.example/api?a=1&key={CANARY}",
    f"https://b.s3.amazonaws.com/f?X-Amz-Credential={CANARY}%2F20260101%2Fus-east-1",
    f"https%3A%2F%2Fb.example%2Ff%3FX-Amz-Credential%3D{CANARY}%2F20260101",
    f"{{'X-Amz-Credential': '{CANARY}/20260101/us-east-1'}}",
    f"AWS4-HMAC-SHA256 Credential={CANARY}/20260101/s3, SignedHeaders=host, Signature={CANARY}",
]


@pytest.mark.parametrize("text", HOLDS, ids=range(len(HOLDS)))
def test_one_list_serves_all(text: str) -> None:
    shown = f"It failed: {text} (and more)"
    for left in (
        redact_text(shown),
        public_text(shown),
        str(redacted_in_logs({"note": shown})),
        str(redacted_in_traces({"note": shown})),
    ):
        assert CANARY.lower() not in left.lower(), left
        assert left.replace("***", "[redacted]").count("[redacted]") >= 1


EXPLANATIONS = [
    "Field required",
    "Extra inputs are not permitted",
    "String should match pattern '^[a-z]+$'",
    "String should have at most 256 characters",
    "Input should be a valid string",
    "Input should be 'a' or 'b'",
    "List should have at most 3 items after validation, not 4",
    "Dictionary should have at least 1 item after validation, not 0",
    "Value error, the key is too long",
    "Assertion failed, it is empty",
    "URL scheme should be 'https'",
    "UUID input should be a string, bytes or UUID object",
    "Unable to extract tag using discriminator 'type'",
    "Missing required argument",
    "Unexpected keyword argument",
    "Invalid JSON: expected value at line 1 column 1",
    "JSON input should be string, bytes or bytearray",
    "A request may have at most 3 messages and parts of messages; this one has 4 or more.",
]


@pytest.mark.parametrize("explanation", EXPLANATIONS)
def test_the_explanation_of_an_invalid_field_stays(explanation: str) -> None:
    for name in ("query.pageToken", "body.api_key", "password", "secret", "body.auth.credentials"):
        text = f"{name}: {explanation}"
        assert redact_text(text) == text
        assert public_text(text) == text
        assert redact_text(f"{name}={CANARY} {explanation}") == f"{name}=[redacted] {explanation}"


@pytest.mark.parametrize("value", ["Summer is", "Input", "String42 should", "field required"])
def test_a_value_that_only_begins_like_an_explanation_is_left_out(value: str) -> None:
    assert value.split()[0] not in redact_text(f"password: {value} it")


@pytest.mark.parametrize(
    "text",
    [
        "Tell me the token price.",
        "basic authentication is not offered",
        "total_tokens=12345, max_tokens=4096",
        "see https://example.com/a:b and ssh://git@example.com/x",
        "the keyboard_layout_selected event",
        '{"key": "customer_name", "value": 7}',
        "{'key': 'name'}",
        "State key 'customer_name_2' is not declared.",
    ],
)
def test_plain_texts_stay(text: str) -> None:
    assert redact_text(text) == text
