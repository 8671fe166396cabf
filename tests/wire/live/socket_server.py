"""SocketServer: a WebSocket server on loopback whose connections follow scripts."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response


@dataclass(frozen=True)
class Heard:
    """Wait for the client's next message.

    Attributes:
      check: whether it is the one to wait for; others are kept and passed over.
    """

    check: Callable[[dict[str, Any]], Any] = bool


@dataclass(frozen=True)
class Close:
    """Close the connection: with a code and a reason, or by cutting it off where code is 0."""

    code: int = 1000
    reason: str = ""


@dataclass(frozen=True)
class Refuse:
    """Answer the handshake with an HTTP status."""

    status: int
    body: str = ""


HANG = "hang"
"""Say nothing more until the client goes away."""

Step = Any
"""A dict to send as JSON, text to send as it is, Heard, Close, HANG, or a function to call."""


class SocketServer:
    """A server whose first connection follows the first script, and so on.

    Attributes:
      received: the client's messages, one list for each connection.
      requests: the handshakes.
      ended: set once no connection is open any more.
    """

    def __init__(
        self, *scripts: Sequence[Step] | Refuse, tls: ssl.SSLContext | None = None
    ) -> None:
        self._scripts = list(scripts)
        self._tls = tls
        self.received: list[list[dict[str, Any]]] = []
        self.requests: list[Request] = []
        self._open = 0
        self.ended = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._follow,
            "127.0.0.1",
            0,
            ssl=self._tls,
            process_request=self._greet,
            compression=None,
            close_timeout=2,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Its address, for a `base_url`."""
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"

    def _greet(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        script = self._scripts[0] if self._scripts else Refuse(500, "no more scripts")
        if isinstance(script, Refuse):
            if self._scripts:
                self._scripts.pop(0)
            headers = Headers({"Content-Length": str(len(script.body.encode()))})
            status = HTTPStatus(script.status)
            return Response(status.value, status.phrase, headers, script.body.encode())
        return None

    async def _follow(self, connection: ServerConnection) -> None:
        script: Any = self._scripts.pop(0)
        messages: list[dict[str, Any]] = []
        self.received.append(messages)
        self._open += 1
        try:
            for step in script:
                await self._take(connection, step, messages)
            while True:  # whatever comes after the script's end is kept too
                messages.append(json.loads(await connection.recv()))
        except ConnectionClosed:
            return
        finally:
            self._open -= 1
            if not self._open:
                self.ended.set()

    async def _take(
        self, connection: ServerConnection, step: Step, messages: list[dict[str, Any]]
    ) -> None:
        if isinstance(step, Heard):
            while True:
                messages.append(json.loads(await connection.recv()))
                if step.check(messages[-1]):
                    return
        elif isinstance(step, Close):
            if step.code:
                await connection.close(step.code, step.reason)
            else:
                connection.transport.abort()
            await connection.wait_closed()
        elif step == HANG:
            await connection.wait_closed()
        elif isinstance(step, str):
            await connection.send(step)
        elif isinstance(step, dict):
            await connection.send(json.dumps(step))
        else:
            done: Awaitable[None] | None = step()
            if done is not None:
                await done


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Make a certificate for loopback; return the server's context and the file to trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "loopback.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, file
