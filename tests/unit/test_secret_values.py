"""Known secrets are taken out of texts in every encoding in which a server may repeat them."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from ostinato._secret_values import redact_values, secrets_of_headers

SECRET = 'p"ß s/w+rd\\<&>'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(SECRET).replace("/", "\\/"),
        html.escape(SECRET),
        repr(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_every_spelling_is_taken_out(spelled: str) -> None:
    told = redact_values(f"refused <{spelled}>.", [SECRET])
    assert "[redacted]" in told and spelled.strip("=\"'") not in told


def test_secrets_of_headers_are_those_within_them() -> None:
    login = base64.b64encode(b"ann:pass word").decode()
    found = secrets_of_headers(
        {
            "Authorization": f"Basic {login}",
            "X-Key": "k-1",
            "Cookie": "a=one; session=two",
            "X-Tenant": "acme",
        }
    )
    assert {login, "pass word", "ann:pass word", "k-1", "one", "two"} <= {*found}
    assert "acme" not in found
