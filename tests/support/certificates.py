"""One public certificate instead of all. Every HTTP client of every SDK reads the file with them
when it is made, 20 ms each of the hundreds that tests make, and no test speaks to a server that
shows a public certificate. What installs something for a test does so with `outside()`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

_VARIABLE = "SSL_CERT_FILE"
_END = "-----END CERTIFICATE-----\n"
_outside = dict(os.environ)


def outside() -> dict[str, str]:
    """Return the environment for a program that has to reach servers outside."""
    return _outside


@pytest.fixture(scope="session", autouse=True)
def public_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have clients, and the processes that tests start, read a file with one certificate."""
    file = tmp_path_factory.mktemp("certificates") / "first.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(_END)
    file.write_text(first + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_VARIABLE, str(file))
        yield
