"""The certificate that google-genai is to trust: it opens live connections over TLS only."""

from __future__ import annotations

import ssl

import pytest

from tests.unit.flows.kit import memory as memory
from tests.unit.flows.kit import store as store
from tests.wire.live.socket_server import certificate


@pytest.fixture(scope="session")
def made_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    context, file = certificate(tmp_path_factory.mktemp("tls"))
    return context, str(file)


@pytest.fixture
def tls(
    made_certificate: tuple[ssl.SSLContext, str], monkeypatch: pytest.MonkeyPatch
) -> ssl.SSLContext:
    """A server's context whose certificate clients of this test trust."""
    context, file = made_certificate
    monkeypatch.setenv("SSL_CERT_FILE", file)
    return context
