"""Executor that runs a model's code in gVisor pods of a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import base64
from contextlib import aclosing
from pathlib import PurePosixPath
from typing import Any, Literal, cast
from urllib.parse import quote

from pydantic import Field, PrivateAttr, field_validator

from .. import _clock
from .._absences import refuse_absent
from .._log import get_logger
from .._optional import need
from .._shielded import run_shielded
from ..context.invocation import InvocationContext
from ._kubernetes_client import (
    ClusterAccess,
    KubernetesClient,
    KubernetesError,
    find_cluster,
    read_field,
    read_object,
)
from ._remote_code_executor import RemoteCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult, File

logger = get_logger(__name__)

_Json = dict[str, Any]

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here

_CODE_FOLDER, _FILES_FOLDER = "/app", "/data"
_KEPT_SECONDS = 600  # a job that was not removed
_CLEAN_UP_SECONDS = 20.0
_SANDBOX_CLIENT = "k8s_agent_sandbox"


async def pause(seconds: float) -> None:
    """Wait; a function, so that a test can put its own in place."""
    await asyncio.sleep(seconds)


class GkeCodeExecutor(RemoteCodeExecutor):
    """Runs Python code in a Kubernetes job with the gVisor runtime, one for each run.

    The pod runs as a user without privileges, on a read-only root, without the service account's
    token. Code and input files come from a config map (at most 1 MiB together), and the files lie
    in the working directory, which is read-only. What the pod prints is the output; files that the
    code makes are not returned. Job and config map are removed after the run, also if it failed,
    took too long or was cancelled; if this process dies, Kubernetes removes them.

    The login is that of `kubeconfig_path` if it is given, else the service account of the pod that
    this process runs in, else `KUBECONFIG` or `~/.kube/config`. It needs to create, list, watch and
    delete jobs, to create, patch and delete config maps, to list pods and to get their logs.

    Args:
      kubeconfig_path: a kubeconfig (extra `yaml`).
      kubeconfig_context: its context; the current one if None.
      **data: the other attributes.

    Raises:
      RuntimeError: no cluster is configured.

    Attributes:
      namespace: of job and config map.
      image: image of the pod, with `python3`.
      timeout_seconds: time of a run, with the pod's start.
      executor_type: "job", or "sandbox" to use the client of Agent Sandbox (package
        k8s-agent-sandbox), which takes no input files.
      cpu_requested, mem_requested, cpu_limit, mem_limit: the pod's resources.
      sandbox_gateway_name, sandbox_template: for "sandbox".
      max_output_bytes: what is kept of the output.
    """

    namespace: str = "default"
    image: str = "python:3.11-slim"
    timeout_seconds: float | None = Field(default=300, gt=0)
    executor_type: Literal["job", "sandbox"] = "job"
    cpu_requested: str = "200m"
    mem_requested: str = "256Mi"
    cpu_limit: str = "500m"
    mem_limit: str = "512Mi"
    kubeconfig_path: str | None = None
    kubeconfig_context: str | None = None
    sandbox_gateway_name: str | None = None
    sandbox_template: str | None = "python-sandbox-template"
    max_output_bytes: int = Field(default=128 * 1024, gt=0)

    _access: ClusterAccess = PrivateAttr()

    def __init__(
        self,
        kubeconfig_path: str | None = None,
        kubeconfig_context: str | None = None,
        **data: Any,
    ) -> None:
        data["kubeconfig_path"] = kubeconfig_path
        data["kubeconfig_context"] = kubeconfig_context
        super().__init__(**data)
        self._access = self._find_access()

    def _find_access(self) -> ClusterAccess:
        return find_cluster(self.kubeconfig_path, self.kubeconfig_context)

    @field_validator("executor_type")
    @classmethod
    def _check_sandbox_client(cls, executor_type: str) -> str:
        if executor_type == "sandbox":
            try:
                need(_SANDBOX_CLIENT)
            except ImportError as error:
                raise ImportError(
                    "GkeCodeExecutor(executor_type='sandbox') needs Google's client of Agent "
                    "Sandbox: pip install k8s-agent-sandbox. The type 'job' needs nothing."
                ) from error
        return executor_type

    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code; see the class.

        Raises:
          ValueError: an input file has a name that leads out of its folder, or sandboxes cannot
            have it.
        """
        if self.executor_type == "sandbox":
            return await asyncio.to_thread(self._run_in_sandbox, code_execution_input)
        job = f"adk-exec-{_clock.unique_id().replace('-', '')[-10:]}"
        config_map = f"code-src-{job}"
        files = [_check_name(file) for file in code_execution_input.input_files]
        async with KubernetesClient(self._access) as client:
            try:
                await self._start_job(
                    client,
                    self._write_job(job, config_map, files, invocation_context.invocation_id),
                    _write_config_map(config_map, code_execution_input.code, files),
                )
                return await self._await_job(client, job)
            except KubernetesError as error:
                logger.error("Kubernetes refused or failed in job %s: %s", job, error)
                return CodeExecutionResult(stderr=f"Kubernetes API error: {error}")
            finally:
                await run_shielded(self._clean_up(client, job, config_map))

    async def _start_job(
        self, client: KubernetesClient, job: dict[str, Any], config_map: dict[str, Any]
    ) -> None:
        maps, name = self._path("v1", "configmaps"), config_map["metadata"]["name"]
        await client.ask("POST", maps, body=config_map)
        made = read_object(await client.ask("POST", self._path("batch/v1", "jobs"), body=job))
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job["metadata"]["name"],
            "uid": read_field(made, "metadata.uid", str),
            "controller": True,
        }
        try:
            await client.ask(
                "PATCH",
                f"{maps}/{name}",
                body={"metadata": {"ownerReferences": [owner]}},
                content_type="application/strategic-merge-patch+json",
            )
        except KubernetesError as error:
            logger.warning("Config map %s has no owner that cleans it up: %s", name, error)

    def _write_job(
        self, job: str, config_map: str, files: list[File], invocation_id: str
    ) -> dict[str, Any]:
        """Return the job, as google-adk writes it, with a deadline and without a token."""
        source: dict[str, Any] = {"name": config_map}
        container: dict[str, Any] = {
            "name": "code-runner",
            "image": self.image,
            "command": ["python3", f"{_CODE_FOLDER}/code.py"],
            "volumeMounts": [{"name": "code-volume", "mountPath": _CODE_FOLDER}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1001,
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "resources": {
                "requests": {"cpu": self.cpu_requested, "memory": self.mem_requested},
                "limits": {"cpu": self.cpu_limit, "memory": self.mem_limit},
            },
        }
        volumes: list[dict[str, Any]] = [{"name": "code-volume", "configMap": source}]
        if files:
            source["items"] = [{"key": "code.py", "path": "code.py"}]
            items = [{"key": f"file-{n}", "path": file.name} for n, file in enumerate(files)]
            volumes.append({"name": "files", "configMap": {"name": config_map, "items": items}})
            container["volumeMounts"].append({"name": "files", "mountPath": _FILES_FOLDER})
            container["workingDir"] = _FILES_FOLDER
        pod = {
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": volumes,
            "automountServiceAccountToken": False,
            "runtimeClassName": "gvisor",
            "tolerations": [
                {
                    "key": "sandbox.gke.io/runtime",
                    "operator": "Equal",
                    "value": "gvisor",
                    "effect": "NoSchedule",
                }
            ],
        }
        spec: dict[str, Any] = {
            "template": {"spec": pod},
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
        }
        if self.timeout_seconds is not None:
            spec["activeDeadlineSeconds"] = int(self.timeout_seconds) + 1
        annotations = {"adk.agent.google.com/invocation-id": invocation_id}
        meta = {"name": job, "annotations": annotations}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}

    async def _await_job(self, client: KubernetesClient, job: str) -> CodeExecutionResult:
        try:
            async with asyncio.timeout(self.timeout_seconds):
                end = await self._watch_job(client, job)
        except TimeoutError:
            problem = f"Job '{job}' did not complete within {self.timeout_seconds:g}s."
            logs = await self._read_logs(client, job)
            return CodeExecutionResult(stderr=f"Executor timed out: {problem}\n\nPod Logs:\n{logs}")
        if end == "deleted":
            return CodeExecutionResult(stderr=f"Job '{job}' was deleted before it completed.")
        logs = await self._read_logs(client, job)
        if end == "succeeded":
            return CodeExecutionResult(stdout=logs)
        return CodeExecutionResult(stderr=f"Job failed. Logs:\n{logs}")

    async def _watch_job(self, client: KubernetesClient, job: str) -> str:
        """Return how a job ended; a watch that the cluster ends before is begun anew."""
        query = {"fieldSelector": f"metadata.name={job}"}
        while True:
            seconds = self.timeout_seconds or 300.0
            try:
                watch = client.watch(self._path("batch/v1", "jobs"), query, seconds)
                async with aclosing(watch) as events:
                    async for event in events:
                        told = cast("_Json", read_field(event, "object", dict))
                        status: Any = told.get("status")
                        if event.get("type") == "DELETED":
                            return "deleted"
                        for end in ("succeeded", "failed"):
                            if isinstance(status, dict) and cast("_Json", status).get(end):
                                return end
            except KubernetesError as error:
                if error.status is not None and error.status < 500:
                    raise
                logger.warning("The watch of job %s broke off: %s", job, error)
            await pause(1.0)

    async def _read_logs(self, client: KubernetesClient, job: str) -> str:
        pods_path = self._path("v1", "pods")
        query = {"labelSelector": f"job-name={job}", "limit": "1"}
        try:
            pods = read_object(await client.ask("GET", pods_path, query=query))
            if not read_field(pods, "items", list):
                return f"(there is no pod of job '{job}')"
            name = quote(read_field(pods, "items.0.metadata.name", str), safe="")
            limit = self.max_output_bytes
            logs = await client.ask(
                "GET", f"{pods_path}/{name}/log", query={"limitBytes": str(limit)}
            )
        except KubernetesError as error:
            return f"(the logs cannot be read: {error})"
        is_cut = len(logs.encode()) >= limit
        return f"{logs}\n[... the rest is left out ...]\n" if is_cut else logs

    async def _clean_up(self, client: KubernetesClient, job: str, config_map: str) -> None:
        for path in (
            f"{self._path('batch/v1', 'jobs')}/{job}",
            f"{self._path('v1', 'configmaps')}/{config_map}",
        ):
            try:
                async with asyncio.timeout(_CLEAN_UP_SECONDS):
                    await client.ask("DELETE", path, query={"propagationPolicy": "Background"})
            except (KubernetesError, TimeoutError) as error:
                if getattr(error, "status", None) != 404:
                    logger.warning("%s is left to Kubernetes to remove: %s", path, error)

    def _path(self, group: str, kind: str) -> str:
        root = "api" if group == "v1" else "apis"
        return f"/{root}/{group}/namespaces/{quote(self.namespace, safe='')}/{kind}"

    def _run_in_sandbox(self, wanted: CodeExecutionInput) -> CodeExecutionResult:
        if wanted.input_files:
            raise ValueError(
                "GkeCodeExecutor(executor_type='sandbox') takes no input files. Use 'job'."
            )
        client = need(_SANDBOX_CLIENT).SandboxClient
        try:
            with client(
                template_name=self.sandbox_template,
                gateway_name=self.sandbox_gateway_name,
                namespace=self.namespace,
            ) as sandbox:
                sandbox.write("script.py", wanted.code)
                result = sandbox.run("python3 script.py")
                return CodeExecutionResult(stdout=result.stdout, stderr=result.stderr)
        except TimeoutError as error:
            return CodeExecutionResult(stderr=f"Sandbox timed out: {error}")
        except RuntimeError as error:
            raise RuntimeError(f"Sandbox infrastructure error: {error}") from error


def _check_name(file: File) -> File:
    path = PurePosixPath(file.name)
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise ValueError(
            f"Input file {file.name!r}: the name must be a relative path without '..'."
        )
    return file


def _write_config_map(name: str, code: str, files: list[File]) -> dict[str, Any]:
    content: dict[str, Any] = {"metadata": {"name": name}, "data": {"code.py": code}}
    if files:
        content["binaryData"] = {
            f"file-{number}": base64.b64encode(file.read_bytes()).decode()
            for number, file in enumerate(files)
        }
    return content
