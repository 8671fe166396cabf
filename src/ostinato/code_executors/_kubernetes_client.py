"""KubernetesClient: requests to a cluster's API, with the login of a pod or of a kubeconfig."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import urlencode

from .. import _clock
from .._optional import need
from .._secrets import redact_text
from ..errors import AgentConfigError
from ..features.environment import find_variable
from ..models.http.credentials import ApiKey, Credential, KeyFunction, NoCredential
from ..models.http.errors import HttpError, HttpStatusError
from ..models.http.messages import HttpRequest, Timeouts
from ..models.http.transport import HttpTransport

_POD_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PLUGIN_SECONDS = 60.0
_ANSWER_SECONDS = 30.0
_SPARE_SECONDS = 60.0  # before a token expires
_EXEC_API = "client.authentication.k8s.io/v1"
_UNEXPECTED = "Unexpected answer"

_Kind = TypeVar("_Kind")


class KubernetesError(Exception):
    """The cluster refused a request, answered something else, or cannot be reached.

    Args:
      reason: the words of the HTTP status, as google-adk tells them.
      message: what the cluster said; no secret.
      status: the HTTP status; None if there was no answer.
    """

    def __init__(self, reason: str, message: str, status: int | None = None) -> None:
        super().__init__(f"{reason}: {message}" if message else reason)
        self.reason, self.status = reason, status


class ClusterAccess(NamedTuple):
    """How a cluster is reached.

    Attributes:
      server: URL of its API.
      credential: the login.
      tls: what is trusted, with the client's certificate.
    """

    server: str
    credential: Credential
    tls: ssl.SSLContext


class KubernetesClient:
    """Asks a cluster. An async context manager: leaving it closes the connections.

    Args:
      access: how it is reached.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self._server = access.server.rstrip("/")
        self._http = need("httpx2").AsyncClient(verify=access.tls, follow_redirects=False)
        self._transport = HttpTransport(access.credential, http_client=lambda: self._http)

    async def __aenter__(self) -> KubernetesClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> str:
        """Send a request and return the answer's text.

        Raises:
          KubernetesError: refused or failed.
        """
        request = self._build_request(method, path, query, body, content_type, _ANSWER_SECONDS)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return (await self._transport.send(request)).text
        except HttpError as error:
            raise self._translate(error) from error
        except TimeoutError as error:
            said = f"no complete answer within {_ANSWER_SECONDS:g} s"
            raise KubernetesError("Unreachable", said) from error

    async def watch(
        self, path: str, query: Mapping[str, str], seconds: float
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a watch, until the cluster ends it.

        Raises:
          KubernetesError: refused or failed.
        """
        query = {**query, "watch": "true", "timeoutSeconds": str(max(1, int(seconds)))}
        request = self._build_request("GET", path, query, None, "", seconds + 10.0)
        try:
            async with self._transport.stream(request) as stream:
                async with aclosing(stream.lines()) as lines:
                    async for line in lines:
                        yield read_object(line)
        except HttpError as error:
            raise self._translate(error) from error

    def _build_request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        content_type: str,
        seconds: float,
    ) -> HttpRequest:
        url = f"{self._server}{path}" + (f"?{urlencode(query)}" if query else "")
        data = b"" if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": content_type}
        timeouts = replace(Timeouts.of(seconds), whole=seconds)
        return HttpRequest(method, url, headers, data, timeouts)

    def _translate(self, error: HttpError) -> KubernetesError:
        if not isinstance(error, HttpStatusError):
            return KubernetesError("Unreachable", self._redact(str(error)))
        message = ""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            message = self._redact(str(json.loads(error.body)["message"]))
        try:
            reason = HTTPStatus(error.status).phrase
        except ValueError:
            reason = f"HTTP status {error.status}"
        return KubernetesError(reason, message[:500], error.status)

    def _redact(self, text: str) -> str:
        return redact_text(self._transport.redact(text))


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object that the cluster answered with.

    Raises:
      KubernetesError: the text is something else.
    """
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise KubernetesError(_UNEXPECTED, "the answer is no JSON object", HTTPStatus.OK)
    return cast("dict[str, Any]", value)


def read_field(value: Any, path: str, kind: type[_Kind]) -> _Kind:
    """Return a field of an answer.

    Args:
      value: the answer.
      path: the names and numbers that lead to it, such as `items.0.metadata`.
      kind: what it has to be.

    Raises:
      KubernetesError: it is missing or something else.
    """
    found = value
    with suppress(LookupError, TypeError):
        for name in path.split("."):
            found = found[int(name) if name.isdigit() else name]
        if isinstance(found, kind):
            return found
    raise KubernetesError(_UNEXPECTED, f"the answer has no {path} as documented", HTTPStatus.OK)


def find_cluster(kubeconfig_path: str | None, context: str | None) -> ClusterAccess:
    """Return how the cluster is reached: by a kubeconfig that is given, as a pod of it, or by the
    default kubeconfig, in this order.

    Args:
      kubeconfig_path: the file; None for the others.
      context: of a kubeconfig; its current one if None.

    Raises:
      RuntimeError: no cluster is configured, or it cannot be used; the message says why.
    """
    if kubeconfig_path is not None:
        try:
            return _read_kubeconfig(Path(kubeconfig_path).expanduser(), context)
        except (OSError, ValueError) as error:
            raise RuntimeError(
                f"Failed to configure Kubernetes client from provided path. {error}"
            ) from error
    host, port = (
        find_variable("KUBERNETES_SERVICE_HOST")[1],
        find_variable("KUBERNETES_SERVICE_PORT")[1],
    )
    token = _POD_FOLDER / "token"
    if host and port and token.is_file():
        server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        # The cluster replaces the token before it expires.
        credential = KeyFunction(lambda: token.read_text(encoding="ascii").strip())
        tls = ssl.create_default_context(cafile=str(_POD_FOLDER / "ca.crt"))
        return ClusterAccess(server, credential, tls)
    named = find_variable("KUBECONFIG")[1].split(os.pathsep)[0]
    path = Path(named or "~/.kube/config").expanduser()
    try:
        return _read_kubeconfig(path, context)
    except (OSError, ValueError) as error:
        raise RuntimeError(
            f"Failed to find any valid Kubernetes configuration. This is no pod of a cluster, and "
            f"{error} Set kubeconfig_path or KUBECONFIG."
        ) from error


def _read_kubeconfig(path: Path, context: str | None) -> ClusterAccess:
    """Read a kubeconfig.

    Raises:
      OSError: the file cannot be read.
      AgentConfigError: it cannot be used.
    """
    yaml = need("yaml", extra="yaml")
    try:
        config: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        name = context or config["current-context"]
        chosen = _find_named(config["contexts"], name)["context"]
        cluster = _find_named(config["clusters"], chosen["cluster"])["cluster"]
        user: dict[str, Any] = _find_named(config["users"], chosen["user"])["user"]
        server = str(cluster["server"])
    except FileNotFoundError as error:
        raise AgentConfigError(f"there is no {path}.") from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise AgentConfigError(
            f"{path} is no kubeconfig with a context, its cluster and its user "
            f"({type(error).__name__}: {str(error)[:200]})."
        ) from error
    refused = {"proxy-url", "tls-server-name"} & set(cluster) or {
        "username",
        "auth-provider",
        "as",
    } & set(user)
    if refused:
        raise AgentConfigError(f"{path}: {', '.join(sorted(refused))} is not supported.")
    folder = path.parent
    plugin = _run_plugin(user["exec"], path) if "exec" in user else {}
    tls = _make_tls(folder, cluster, {**user, **plugin})
    return ClusterAccess(server, _read_login(folder, {**user, **plugin}, path), tls)


def _find_named(entries: list[Any], name: object) -> Any:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(f"no entry {name!r}")


def _read_login(folder: Path, user: Mapping[str, Any], config: Path) -> Credential:
    if "exec" in user and user.get("token"):
        return KeyFunction(_PluginToken(user["exec"], config, user).read)
    if user.get("tokenFile"):
        token = folder / str(user["tokenFile"])
        return KeyFunction(lambda: token.read_text(encoding="ascii").strip())
    if user.get("token"):
        return ApiKey(str(user["token"]), source=str(config))
    return NoCredential()


class _PluginToken:
    """The token of a login program, which is asked again when the token expires.

    Args:
      plugin: the entry of the kubeconfig.
      config: its file.
      first: what the program gave.
    """

    def __init__(self, plugin: Mapping[str, Any], config: Path, first: Mapping[str, Any]) -> None:
        self._plugin, self._config, self._given = plugin, config, first

    async def read(self) -> str:
        """Return the token."""
        expires = self._given.get("expires")
        if expires is not None:
            end = datetime.fromisoformat(expires).timestamp()
            if _clock.now() > end - _SPARE_SECONDS:
                self._given = await asyncio.to_thread(_run_plugin, self._plugin, self._config)
        return str(self._given.get("token", ""))


def _run_plugin(plugin: Mapping[str, Any], config: Path) -> dict[str, str]:
    """Run the program that a kubeconfig names for logins; return what it gives, as of a user."""
    info = {"apiVersion": plugin.get("apiVersion", _EXEC_API), "kind": "ExecCredential"}
    variables = {one["name"]: one["value"] for one in plugin.get("env") or ()}
    variables["KUBERNETES_EXEC_INFO"] = json.dumps({**info, "spec": {"interactive": False}})
    command = [str(plugin["command"]), *map(str, plugin.get("args") or ())]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PLUGIN_SECONDS,
            cwd=config.parent,
            env={**os.environ, **variables},
            check=True,
        )
        status = json.loads(done.stdout)["status"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise AgentConfigError(
            f"{config}: the login program {command[0]!r} failed ({type(error).__name__}). Run it "
            "by hand to see why."
        ) from None
    found = {
        "token": status.get("token"),
        "expires": status.get("expirationTimestamp"),
        "client-certificate-data": _encode(status.get("clientCertificateData")),
        "client-key-data": _encode(status.get("clientKeyData")),
    }
    return {name: value for name, value in found.items() if value}


def _encode(text: str | None) -> str | None:
    return None if text is None else base64.b64encode(text.encode()).decode()


def _make_tls(folder: Path, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    authority = _read_data(folder, cluster, "certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    certificate = _read_data(folder, user, "client-certificate")
    key = _read_data(folder, user, "client-key")
    if certificate and key:
        with tempfile.TemporaryDirectory(prefix="ostinato-") as kept:
            file = Path(kept) / "client.pem"  # the library takes files only
            file.write_bytes(certificate + b"\n" + key)
            tls.load_cert_chain(file)
    return tls


def _read_data(folder: Path, entry: Mapping[str, Any], name: str) -> bytes | None:
    """Return what an entry holds as base64 or in a file."""
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"])
    return (folder / str(entry[name])).read_bytes() if entry.get(name) else None
