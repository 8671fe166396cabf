"""A fake identity provider: a real HTTP server on this machine, with every grant and every fault.

It checks what a real one checks (client, code, PKCE, redirect address, signature) and keeps what it
was asked, so that tests see both sides.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwk, jwt

CLIENT_ID = "the-client"
CLIENT_SECRET = "canary-client-secret-0123456789abcdef"
REDIRECT = "https://app.example/back"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
SERVICE_KEY = jwk.RSAKey.generate_key(2048, private=True)

Form = dict[str, str]


class Refused(Exception):
    """An OAuth2 error answer."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


class IdentityProvider:
    """The provider's memory and rules; `fault` makes the token endpoint fail in some way."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.fault: str | None = None
        self.expires_in: Any = 3600
        self.rotates = True
        self.denies = False
        self.forms: list[Form] = []
        self.issued: list[str] = []
        self.paths: list[str] = []
        self.documents = {"/.well-known/openid-configuration": self.metadata()}
        self.released = threading.Event()
        self._codes: dict[str, Form] = {}
        self._refresh_tokens: set[str] = set()
        self._lock = threading.Lock()

    @property
    def token_url(self) -> str:
        return self.url + "/token"

    @property
    def authorize_url(self) -> str:
        return self.url + "/authorize"

    @property
    def grants(self) -> list[str]:
        """The grants that were asked for, in order."""
        return [form["grant_type"] for form in self.forms]

    def metadata(self, **fields: Any) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": self.authorize_url,
            "token_endpoint": self.token_url,
            **fields,
        }

    def consent(self, auth_uri: str) -> str:
        """What a user's browser does: open the address, return where it was sent back to."""
        split = urlsplit(auth_uri)
        connection = HTTPConnection(split.hostname or "", split.port or 0, timeout=60)
        try:
            connection.request("GET", f"{split.path}?{split.query}")
            response = connection.getresponse()
            response.read()
            assert response.status == 302, f"the provider answered {response.status}"
            return response.headers["Location"]
        finally:
            connection.close()

    def revoke(self) -> None:
        """Forget every refresh token."""
        self._refresh_tokens.clear()

    # What the handler asks for

    def authorize(self, query: Form) -> str:
        if query.get("client_id") != CLIENT_ID or query.get("response_type") != "code":
            raise Refused("unauthorized_client")
        back = {"state": query["state"]}
        if self.denies:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', **back})}"
        code = self._new("code")
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, **back})}"

    def grant(self, form: Form, authorization: str | None) -> dict[str, Any]:
        with self._lock:
            self.forms.append(form)
            kind = form.get("grant_type")
            if kind == JWT_BEARER:
                return self._by_assertion(form)
            self._check_client(form, authorization)
            if kind == "authorization_code":
                return self._by_code(form)
            if kind == "refresh_token":
                return self._by_refresh_token(form)
            if kind == "client_credentials":
                return self._tokens(scope=form.get("scope", ""))
            raise Refused("unsupported_grant_type")

    def _check_client(self, form: Form, authorization: str | None) -> None:
        if authorization:
            user, _, password = base64.b64decode(authorization[6:]).decode().partition(":")
            client = unquote(user), unquote(password)
        elif form.get("client_assertion_type") == ASSERTION:
            key = jwk.OctKey.import_key(CLIENT_SECRET)
            claims = jwt.decode(form["client_assertion"], key).claims
            assert claims["aud"] == self.token_url
            client = claims["sub"], CLIENT_SECRET
        else:
            client = form.get("client_id", ""), form.get("client_secret", "")
        if client != (CLIENT_ID, CLIENT_SECRET):
            raise Refused("invalid_client", 401)

    def _by_code(self, form: Form) -> dict[str, Any]:
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or asked.get("redirect_uri") != form.get("redirect_uri"):
            raise Refused("invalid_grant")
        if "code_challenge" in asked:
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if challenge != asked["code_challenge"]:
                raise Refused("invalid_grant")
        return self._tokens(refresh=True)

    def _by_refresh_token(self, form: Form) -> dict[str, Any]:
        token = form.get("refresh_token", "")
        if token not in self._refresh_tokens:
            raise Refused("invalid_grant")
        if self.rotates:
            self._refresh_tokens.remove(token)
        return self._tokens(refresh=self.rotates)

    def _by_assertion(self, form: Form) -> dict[str, Any]:
        claims = jwt.decode(form["assertion"], SERVICE_KEY).claims
        if claims["aud"] != self.token_url or claims["exp"] - claims["iat"] > 3600:
            raise Refused("invalid_grant")
        if "target_audience" in claims:
            return {"id_token": self._new("id")}
        return self._tokens(scope=claims["scope"])

    def _tokens(self, refresh: bool = False, **fields: Any) -> dict[str, Any]:
        tokens = {"access_token": self._new("access"), "token_type": "Bearer", **fields}
        if self.expires_in is not None:
            tokens["expires_in"] = self.expires_in
        if refresh:
            tokens["refresh_token"] = self._new("refresh")
            self._refresh_tokens.add(tokens["refresh_token"])
        return tokens

    def _new(self, kind: str) -> str:
        self.issued.append(f"canary-{kind}-{len(self.issued)}")
        return self.issued[-1]


class _Handler(BaseHTTPRequestHandler):
    provider: IdentityProvider

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        self.provider.paths.append(split.path)
        if split.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(split.query).items()}
            location = self.provider.authorize(query)
            self._send(302, b"", Location=location)
            return
        document = self.provider.documents.get(split.path)
        if document is None:
            self._send(404, b"not here")
        elif isinstance(document, bytes):
            self._send(200, document)
        else:
            self._json(200, document)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.provider.fault is not None:
            self._fail(self.provider.fault, body)
            return
        form = dict(parse_qsl(body.decode()))
        try:
            self._json(200, self.provider.grant(form, self.headers["Authorization"]))
        except Refused as refused:
            self._json(refused.status, {"error": refused.code, "error_description": body.decode()})

    def _fail(self, fault: str, body: bytes) -> None:
        """Fail in one of the ways that providers do; each echoes what it was sent."""
        echo = body.decode()
        if fault == "slow":
            self.provider.released.wait(60)
        elif fault == "server error":
            self._send(500, f"<h1>{echo}</h1>".encode())
        elif fault == "html":
            self._send(200, f"<h1>{echo}</h1>".encode())
        elif fault == "list":
            self._json(200, [echo])
        elif fault == "no token":
            self._json(200, {"echo": echo})
        elif fault == "huge":
            self._send(200, b"x" * 1_500_000)
        elif fault == "odd error":
            self._json(400, {"error": echo, "error_description": echo})
        else:
            self._json(400, {"error": fault, "error_description": echo})

    def _json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), **{"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up (slow, huge) is no news; tests look at what came back."""


@contextmanager
def running_provider() -> Iterator[IdentityProvider]:
    """Run a provider in a thread for the length of a `with` block."""
    handler = type("Handler", (_Handler,), {})
    server = _Server(("127.0.0.1", 0), handler)
    handler.provider = provider = IdentityProvider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        provider.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
