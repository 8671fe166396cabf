"""Responses of a remote agent, converted to the fields of local events."""

from __future__ import annotations

from typing import Any

from .. import types
from .outgoing_message import ASKS, CONTEXT, STATE, TASK
from .wire import Json, parts_of, waiting_call_ids

_WAITS = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
_FAILED = ("TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED")
_ENDED = ("TASK_STATE_COMPLETED", *_FAILED)


class RemoteAnswer:
    """Reads the responses to one message; `streaming` yields partial answers, too.

    Attributes:
      task: the remote task; empty before it is known.
      ended: whether it has ended or waits for an answer.
    """

    def __init__(self, *, streaming: bool) -> None:
        self.task = ""
        self.ended = False
        self._context = ""
        self._streaming = streaming
        self._open: dict[str, list[Json]] = {}
        self._told: set[str] = set()

    def read_response(self, response: Json) -> list[Json]:
        """Return the fields of the events that a response becomes."""
        if "message" in response:
            message = response["message"]
            self._context = message.get("contextId", self._context)
            self.ended = True
            return [self._make_fields(message.get("parts", []))]
        if "task" in response:
            return self._read_task(response["task"])
        if "artifactUpdate" in response:
            update = response["artifactUpdate"]
            self._note_ids(update)
            return self._read_artifact(update)
        update = response.get("statusUpdate", {})
        self._note_ids(update)
        return self._read_status(update.get("status", {}))

    def close_artifacts(self) -> list[Json]:
        """Return the fields of the events for artifacts that the remote agent left open."""
        found = [self._make_fields(parts) for parts in self._open.values() if parts]
        self._open.clear()
        return found

    def _note_ids(self, update: Json) -> None:
        self.task = update.get("taskId", self.task)
        self._context = update.get("contextId", self._context)

    def _read_task(self, task: Json) -> list[Json]:
        """Read a whole task; the artifacts of one that still runs were sent before."""
        self._note_ids({"taskId": task["id"], "contextId": task.get("contextId", "")})
        status = task.get("status", {})
        artifacts: list[Json] = task.get("artifacts", [])
        if status.get("state") not in (*_ENDED, *_WAITS):
            self._told.update(one["artifactId"] for one in artifacts)
            return []
        found = [
            self._make_fields(one.get("parts", []))
            for one in artifacts
            if one["artifactId"] not in self._told
        ]
        return [*found, *self._read_status(status)]

    def _read_artifact(self, update: Json) -> list[Json]:
        artifact = update["artifact"]
        name, parts = artifact["artifactId"], artifact.get("parts", [])
        before = self._open.get(name, []) if update.get("append") else []
        self._open[name] = [*before, *parts]
        if update.get("lastChunk"):
            return [self._make_fields(self._open.pop(name))]
        return [{**self._make_fields(parts), "partial": True}] if self._streaming and parts else []

    def _read_status(self, status: Json) -> list[Json]:
        state = status.get("state", "")
        parts: list[Json] = status.get("message", {}).get("parts", [])
        if state in _WAITS:
            self.ended = True
            fields = self._make_fields(parts)
            waiting = waiting_call_ids(parts)
            fields["custom_metadata"][STATE] = ASKS
            if waiting:
                fields["long_running_tool_ids"] = waiting
            return [*self.close_artifacts(), fields]
        if state in _FAILED:
            self.ended = True
            words = "".join(one.get("text", "") for one in parts)
            message = words or f"The remote task ended: {state}."
            metadata = self._make_fields([])["custom_metadata"]
            failed: Json = {"error_code": state, "error_message": message}
            return [*self.close_artifacts(), {**failed, "custom_metadata": metadata}]
        if state in _ENDED:
            self.ended = True
            found = self.close_artifacts()
            return [*found, self._make_fields(parts)] if parts else found
        return []  # progress messages of the remote agent are not part of its answer

    def _make_fields(self, parts: list[Json]) -> dict[str, Any]:
        metadata: Json = {TASK: self.task, CONTEXT: self._context}
        return {
            "content": types.Content(role="model", parts=_join_text(parts_of(parts))),
            "custom_metadata": metadata,
        }


def _join_text(parts: list[types.Part]) -> list[types.Part]:
    """Return the parts with adjacent texts joined."""
    found: list[types.Part] = []
    for one in parts:
        last = found[-1] if found else None
        if one.text is not None and last is not None and last.text is not None:
            if bool(last.thought) == bool(one.thought):
                found[-1] = types.Part(text=last.text + one.text, thought=last.thought)
                continue
        found.append(one)
    return found
