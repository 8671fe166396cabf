"""GkeCodeExecutor on a cluster's API that a server on the loopback stands for."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from ostinato.code_executors import _kubernetes_client, gke_code_executor
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from ostinato.code_executors.gke_code_executor import GkeCodeExecutor
from ostinato.models.http.messages import HttpRequest
from tests.support.dripping_server import HALF_HEADERS, HEADERS, drip_forever
from tests.wire.fake_server import Answer, FakeServer, Received

CONTEXT: Any = SimpleNamespace(invocation_id="inv-1")
TOKEN = "cluster-token"

# As google-adk 2.3.0 writes it with kubernetes 37.0.2.
RECORDED_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "annotations": {"adk.agent.google.com/invocation-id": "inv-1"},
        "name": "NAME",
    },
    "spec": {
        "backoffLimit": 0,
        "template": {
            "spec": {
                "containers": [
                    {
                        "command": ["python3", "/app/code.py"],
                        "image": "python:3.11-slim",
                        "name": "code-runner",
                        "resources": {
                            "limits": {"cpu": "500m", "memory": "512Mi"},
                            "requests": {"cpu": "200m", "memory": "256Mi"},
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]},
                            "readOnlyRootFilesystem": True,
                            "runAsNonRoot": True,
                            "runAsUser": 1001,
                        },
                        "volumeMounts": [{"mountPath": "/app", "name": "code-volume"}],
                    }
                ],
                "restartPolicy": "Never",
                "runtimeClassName": "gvisor",
                "tolerations": [
                    {
                        "effect": "NoSchedule",
                        "key": "sandbox.gke.io/runtime",
                        "operator": "Equal",
                        "value": "gvisor",
                    }
                ],
                "volumes": [{"configMap": {"name": "code-src-NAME"}, "name": "code-volume"}],
            }
        },
        "ttlSecondsAfterFinished": 600,
    },
}
# What is added to it: a deadline, and no token of the service account.
ADDED_DEADLINE, ADDED_NO_TOKEN = "activeDeadlineSeconds", "automountServiceAccountToken"


def refusal(status: int, message: str) -> Answer:
    return Answer({"kind": "Status", "status": "Failure", "message": message}, status=status)


class Cluster:
    """The API of a cluster, as far as jobs need it.

    Attributes:
      events: what a watch sends, one list for each watch.
      logs: what the pod printed.
      faults: answers in place of those to "METHOD kind".
      hangs: whether a watch without events left says nothing.
    """

    def __init__(self) -> None:
        self.events: list[list[dict[str, Any]]] = [[{}, {"active": 1}, {"succeeded": 1}]]
        self.logs = "42\n"
        self.pods = [{"metadata": {"name": "pod-1"}}]
        self.faults: dict[str, Answer] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        self.asked: list[Received] = []

    def answer(self, request: Received) -> Answer:
        self.asked.append(request)
        url = urlsplit(request.path)
        query = dict(parse_qsl(url.query))
        kind = url.path.split("/namespaces/ns/")[1].split("/")[0]
        verb = "WATCH" if query.get("watch") else request.method
        if fault := self.faults.get(f"{verb} {kind}"):
            return fault
        if verb == "WATCH":
            if not self.events:
                return Answer([b""], late=True, hang=True, cut_after=0)
            lines = [
                json.dumps(
                    status
                    if "type" in status
                    else {"type": "MODIFIED", "object": {"status": status}}
                )
                for status in self.events.pop(0)
            ]
            return Answer([f"{line}\n".encode() for line in lines] or [b"\n"])
        if verb == "POST":
            body = request.json
            body["metadata"]["uid"] = "uid-1"
            self.objects[f"{url.path}/{body['metadata']['name']}"] = body
            return Answer(body, status=201)
        if verb == "PATCH":
            self.objects[url.path]["metadata"] |= request.json["metadata"]
            return Answer(self.objects[url.path])
        if verb == "DELETE":
            gone = self.objects.pop(url.path, None)
            return Answer(gone) if gone else refusal(404, "not found")
        if url.path.endswith("/log"):
            return Answer(self.logs[: int(query["limitBytes"])])
        assert query == {"labelSelector": f"job-name={self.job}", "limit": "1"}
        return Answer({"items": self.pods})

    @property
    def job(self) -> str:
        return next(
            one.json["metadata"]["name"]
            for one in self.asked
            if one.method == "POST" and one.path.endswith("/jobs")
        )

    def sent(self, verb: str, kind: str) -> list[Any]:
        return [
            one.json if one.body else one.path
            for one in self.asked
            if one.method == verb and f"/{kind}" in one.path
        ]


@pytest.fixture(name="cluster")
async def fixture_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cluster]:
    async def pause(seconds: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(gke_code_executor, "pause", pause)
    cluster = Cluster()
    async with FakeServer(otherwise=cluster.answer) as server:
        write_kubeconfig(tmp_path / "config", server.url, {"token": TOKEN})
        yield cluster


def write_kubeconfig(path: Path, server: str, user: dict[str, Any], **cluster: Any) -> None:
    config = {
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "none", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))


def make(tmp_path: Path, **settings: Any) -> GkeCodeExecutor:
    return GkeCodeExecutor(str(tmp_path / "config"), namespace="ns", **settings)


async def run(
    tmp_path: Path, code: str = "print(42)", *files: File, **settings: Any
) -> CodeExecutionResult:
    wanted = CodeExecutionInput(code, [*files])
    return await make(tmp_path, **settings).execute_code_async(CONTEXT, wanted)


async def test_a_job_runs_code_as_google_adks_does(cluster: Cluster, tmp_path: Path) -> None:
    assert await run(tmp_path) == CodeExecutionResult(stdout="42\n")
    (config_map, job) = (*cluster.sent("POST", "configmaps"), *cluster.sent("POST", "jobs"))
    name = cluster.job
    assert config_map == {
        "metadata": {"name": f"code-src-{name}"},
        "data": {"code.py": "print(42)"},
    }
    assert job["spec"].pop(ADDED_DEADLINE) == 301
    assert job["spec"]["template"]["spec"].pop(ADDED_NO_TOKEN) is False
    assert job == json.loads(json.dumps(RECORDED_JOB).replace("NAME", name))
    assert name.startswith("adk-exec-") and len(name) == 19
    (patch,) = cluster.sent("PATCH", "configmaps")
    assert patch["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name,
            "uid": "uid-1",
            "controller": True,
        }
    ]
    assert {one.headers["authorization"] for one in cluster.asked} == {f"Bearer {TOKEN}"}
    assert cluster.objects == {}  # both are removed


async def test_it_blocks_without_an_event_loop_of_its_caller(
    cluster: Cluster, tmp_path: Path
) -> None:
    executor = make(tmp_path)
    given = await asyncio.to_thread(executor.execute_code, CONTEXT, CodeExecutionInput("x"))
    assert given.stdout == "42\n"


async def test_input_files_lie_in_the_working_directory(cluster: Cluster, tmp_path: Path) -> None:
    await run(tmp_path, "pass", File("d/a.csv", b"\xff1", "text/csv"))
    (config_map,) = cluster.sent("POST", "configmaps")
    assert base64.b64decode(config_map["binaryData"]["file-0"]) == b"\xff1"
    pod = cluster.sent("POST", "jobs")[0]["spec"]["template"]["spec"]
    assert pod["containers"][0]["workingDir"] == "/data"
    assert pod["volumes"][1]["configMap"]["items"] == [{"key": "file-0", "path": "d/a.csv"}]
    for name in ("../a", "/etc/a", ""):
        with pytest.raises(ValueError, match="relative path"):
            await run(tmp_path, "pass", File(name, b"x"))


async def test_a_failed_job_tells_its_logs(cluster: Cluster, tmp_path: Path) -> None:
    cluster.events, cluster.logs = [[{"failed": 1}]], "Traceback"
    assert await run(tmp_path) == CodeExecutionResult(stderr="Job failed. Logs:\nTraceback")
    cluster.events, cluster.pods, cluster.asked = [[{"failed": 1}]], [], []
    assert "(there is no pod of job 'adk-exec-" in (await run(tmp_path)).stderr


async def test_a_watch_that_ends_is_begun_anew(cluster: Cluster, tmp_path: Path) -> None:
    expired = {"type": "ERROR", "object": {"status": "Failure", "code": 410}}
    cluster.events = [[{"active": 1}], [expired], [], [{"succeeded": 1}]]
    assert (await run(tmp_path)).stdout == "42\n"
    cluster.events = [[{"type": "DELETED", "object": {}}]]
    assert "was deleted" in (await run(tmp_path)).stderr


async def test_a_timeout_tells_the_logs_and_removes_the_job(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.events, cluster.logs = [], "so far"
    given = await run(tmp_path, timeout_seconds=30)
    assert given.stderr == (
        f"Executor timed out: Job '{cluster.job}' did not complete within 30s.\n\nPod Logs:\nso far"
    )
    assert cluster.objects == {}


async def test_a_cancelled_run_removes_the_job(cluster: Cluster, tmp_path: Path) -> None:
    cluster.faults["WATCH jobs"] = Answer([b""], hang=True, cut_after=0)
    work = asyncio.ensure_future(run(tmp_path))
    while not any("watch=" in one.path for one in cluster.asked):  # noqa: ASYNC110
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert cluster.objects == {}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("POST configmaps", "Kubernetes API error: Forbidden: no rights"),
        ("POST jobs", "Kubernetes API error: Forbidden: no rights"),
        ("WATCH jobs", "Kubernetes API error: Forbidden: no rights"),
        ("GET pods", "(the logs cannot be read: Forbidden: no rights)"),
    ],
)
async def test_a_refusal_is_the_result(
    cluster: Cluster, tmp_path: Path, fault: str, told: str
) -> None:
    cluster.faults[fault] = refusal(403, "no rights")
    given = await run(tmp_path)
    assert given.stderr + given.stdout == told and cluster.objects == {}


@pytest.mark.parametrize("fault", ["POST jobs", "WATCH jobs", "GET pods"])
@pytest.mark.parametrize(
    "body", ["<html>", "null", "[1, 2]", '"x"', "{}", '{"metadata": 5, "object": 5, "items": [5]}']
)
async def test_an_answer_of_another_shape_is_the_result(
    cluster: Cluster, tmp_path: Path, fault: str, body: str
) -> None:
    cluster.faults[fault] = Answer(body)
    given = await run(tmp_path)
    assert "Unexpected answer: the answer " in given.stderr + given.stdout
    assert cluster.objects == {}


async def test_json_that_is_nested_too_deeply_is_the_result(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.faults["POST jobs"] = Answer("[" * 100_000 + "]" * 100_000)
    assert "the answer is no JSON object" in (await run(tmp_path)).stderr


@pytest.mark.parametrize("first", [HEADERS, HALF_HEADERS])
async def test_an_answer_that_comes_by_bytes_has_a_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(_kubernetes_client, "_ANSWER_SECONDS", 0.05)
    with drip_forever(first) as url:
        write_kubeconfig(tmp_path / "config", url, {"token": TOKEN})
        given = await run(tmp_path)
    assert given.stderr == ("Kubernetes API error: Unreachable: no complete answer within 0.05 s")


async def test_what_a_cluster_repeats_of_secrets_is_left_out(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.faults["POST jobs"] = refusal(403, f"no {TOKEN} and password=hunter22")
    given = await run(tmp_path)
    assert TOKEN not in given.stderr and "hunter22" not in given.stderr


async def test_what_cannot_be_removed_is_logged(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.faults = {"DELETE jobs": refusal(403, "no"), "PATCH configmaps": refusal(403, "no")}
    assert (await run(tmp_path)).stdout == "42\n"
    assert (
        "left to Kubernetes to remove: Forbidden" in caplog.text and "has no owner" in caplog.text
    )


async def test_long_output_is_cut(cluster: Cluster, tmp_path: Path) -> None:
    cluster.logs = "x" * 500
    given = await run(tmp_path, max_output_bytes=100)
    assert given.stdout == "x" * 100 + "\n[... the rest is left out ...]\n"


async def test_no_cluster_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", {"token": TOKEN})
    with pytest.raises(RuntimeError, match=r"from provided path.*no entry 'none'"):
        make(tmp_path, kubeconfig_context="two")
    with pytest.raises(RuntimeError, match=r"there is no .*missing"):
        GkeCodeExecutor(str(tmp_path / "missing"))
    write_kubeconfig(tmp_path / "config", "https://x", {"auth-provider": {}})
    with pytest.raises(RuntimeError, match="auth-provider is not supported"):
        make(tmp_path)
    (tmp_path / "config").write_text("{")
    with pytest.raises(RuntimeError, match="is no kubeconfig"):
        make(tmp_path)


async def test_an_unreachable_cluster_is_the_result(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1", {"token": TOKEN})
    given = await run(tmp_path)
    assert given.stderr.startswith("Kubernetes API error: Unreachable: ")
    assert TOKEN not in given.stderr


@pytest.mark.long
async def test_a_login_program_gives_the_token(cluster: Cluster, tmp_path: Path) -> None:
    config = yaml.safe_load((tmp_path / "config").read_text())
    server = config["clusters"][0]["cluster"]["server"]
    code = (
        "import os, json; i = json.loads(os.environ['KUBERNETES_EXEC_INFO']); "
        "open('runs', 'a').write('x'); "
        "print(json.dumps({'status': {'token': os.environ['GIVEN'] + i['kind'],"
        " 'expirationTimestamp': os.environ['EXPIRES']}}))"
    )
    plugin = {
        "command": sys.executable,
        "args": ["-c", code],
        "env": [
            {"name": "GIVEN", "value": "from-"},
            {"name": "EXPIRES", "value": "2999-01-01T00:00:00Z"},
        ],
    }
    write_kubeconfig(tmp_path / "config", server, {"exec": plugin})
    await run(tmp_path)
    assert {one.headers["authorization"] for one in cluster.asked} == {"Bearer from-ExecCredential"}
    runs = tmp_path / "runs"
    assert runs.read_text() == "x"  # one token for all requests
    plugin["env"][1]["value"] = "2020-01-01T00:00:00Z"
    write_kubeconfig(tmp_path / "config", server, {"exec": plugin})
    cluster.events = [[{"type": "DELETED", "object": {}}]]
    await run(tmp_path)
    assert len(runs.read_text()) > 3  # an expired one is asked for again
    write_kubeconfig(tmp_path / "config", server, {"exec": {"command": "false"}})
    with pytest.raises(RuntimeError, match="login program 'false' failed"):
        make(tmp_path)


async def test_in_a_pod_the_service_account_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_kubernetes_client, "_POD_FOLDER", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").symlink_to(os.environ["SSL_CERT_FILE"])
    (tmp_path / "token").write_text("first\n")
    access = _kubernetes_client.find_cluster(None, None)
    assert access.server == "https://[fd00::1]:443"
    request = HttpRequest("GET", "https://x/")
    assert await access.credential.headers(request) == {"authorization": "Bearer first"}
    (tmp_path / "token").write_text("second\n")  # the cluster replaces it
    assert await access.credential.headers(request) == {"authorization": "Bearer second"}


def test_outside_of_a_pod_the_default_kubeconfig_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    with pytest.raises(RuntimeError, match="Failed to find any valid Kubernetes configuration"):
        GkeCodeExecutor()
    write_kubeconfig(tmp_path / "mine", "https://cluster:6443/", {"token": TOKEN})
    assert _kubernetes_client.find_cluster(None, None).server == "https://cluster:6443/"


async def test_the_sandbox_type_uses_googles_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kubeconfig(tmp_path / "config", "https://x", {"token": TOKEN})
    with pytest.raises(ImportError, match="pip install k8s-agent-sandbox"):
        make(tmp_path, executor_type="sandbox")
    made: list[Any] = []

    class SandboxClient:
        def __init__(self, **settings: Any) -> None:
            made.append(settings)

        def __enter__(self) -> SandboxClient:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, *given: str) -> None:
            made.append(given)

        def run(self, command: str) -> Any:
            if made[-1][1] == "slow":
                raise TimeoutError("too slow")
            if made[-1][1] == "bad":
                raise RuntimeError("no gateway")
            return SimpleNamespace(stdout=command, stderr="")

    module = ModuleType("k8s_agent_sandbox")
    module.SandboxClient = SandboxClient  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "k8s_agent_sandbox", module)
    sandbox = {"executor_type": "sandbox", "sandbox_gateway_name": "gate"}
    assert (await run(tmp_path, "code", **sandbox)).stdout == "python3 script.py"
    assert made == [
        {"template_name": "python-sandbox-template", "gateway_name": "gate", "namespace": "ns"},
        ("script.py", "code"),
    ]
    assert (await run(tmp_path, "slow", **sandbox)).stderr == "Sandbox timed out: too slow"
    with pytest.raises(RuntimeError, match="Sandbox infrastructure error: no gateway"):
        await run(tmp_path, "bad", **sandbox)
    with pytest.raises(ValueError, match="takes no input files"):
        await run(tmp_path, "code", File("a", b""), **sandbox)
