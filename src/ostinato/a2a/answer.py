"""Answer: what a remote agent sends, as the events it makes here."""

from __future__ import annotations

from typing import Any

from .. import types
from .asked import ASKS, CONTEXT, STATE, TASK
from .wire import Json, parts_of, waiting_calls

_WAITS = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
_FAILED = ("TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED")
_ENDED = ("TASK_STATE_COMPLETED", *_FAILED)


class Answer:
    """Reads the responses to one message.

    Attributes:
      task: the remote task; empty before it is known.
      ended: whether it has ended, or waits.

    Args:
      streaming: whether parts of an answer are told, too.
    """

    def __init__(self, *, streaming: bool) -> None:
        self.task = ""
        self.ended = False
        self._context = ""
        self._streaming = streaming
        self._open: dict[str, list[Json]] = {}
        self._told: set[str] = set()

    def of(self, response: Json) -> list[Json]:
        """Return the fields of the events that a response makes."""
        if "message" in response:
            message = response["message"]
            self._context = message.get("contextId", self._context)
            self.ended = True
            return [self._content(message.get("parts", []))]
        if "task" in response:
            return self._whole(response["task"])
        if "artifactUpdate" in response:
            update = response["artifactUpdate"]
            self._named(update)
            return self._artifact(update)
        update = response.get("statusUpdate", {})
        self._named(update)
        return self._status(update.get("status", {}))

    def end(self) -> list[Json]:
        """Return the fields of the events of artifacts whose end was never told."""
        found = [self._content(parts) for parts in self._open.values() if parts]
        self._open.clear()
        return found

    def _named(self, update: Json) -> None:
        self.task = update.get("taskId", self.task)
        self._context = update.get("contextId", self._context)

    def _whole(self, task: Json) -> list[Json]:
        """Take a task as it stands; one that has just begun, or goes on, has told these before."""
        self._named({"taskId": task["id"], "contextId": task.get("contextId", "")})
        status = task.get("status", {})
        artifacts: list[Json] = task.get("artifacts", [])
        if status.get("state") not in (*_ENDED, *_WAITS):
            self._told.update(one["artifactId"] for one in artifacts)
            return []
        found = [
            self._content(one.get("parts", []))
            for one in artifacts
            if one["artifactId"] not in self._told
        ]
        return [*found, *self._status(status)]

    def _artifact(self, update: Json) -> list[Json]:
        artifact = update["artifact"]
        name, parts = artifact["artifactId"], artifact.get("parts", [])
        before = self._open.get(name, []) if update.get("append") else []
        self._open[name] = [*before, *parts]
        if update.get("lastChunk"):
            return [self._content(self._open.pop(name))]
        return [{**self._content(parts), "partial": True}] if self._streaming and parts else []

    def _status(self, status: Json) -> list[Json]:
        state = status.get("state", "")
        parts: list[Json] = status.get("message", {}).get("parts", [])
        if state in _WAITS:
            self.ended = True
            told = self._content(parts)
            waiting = waiting_calls(parts)
            told["custom_metadata"][STATE] = ASKS
            if waiting:
                told["long_running_tool_ids"] = waiting
            return [*self.end(), told]
        if state in _FAILED:
            self.ended = True
            words = "".join(one.get("text", "") for one in parts)
            message = words or f"The remote task ended: {state}."
            metadata = self._content([])["custom_metadata"]
            failed: Json = {"error_code": state, "error_message": message}
            return [*self.end(), {**failed, "custom_metadata": metadata}]
        if state in _ENDED:
            self.ended = True
            found = self.end()
            return [*found, self._content(parts)] if parts else found
        return []  # what it tells of its work on the way is its own business

    def _content(self, parts: list[Json]) -> dict[str, Any]:
        metadata: Json = {TASK: self.task, CONTEXT: self._context}
        return {
            "content": types.Content(role="model", parts=_joined(parts_of(parts))),
            "custom_metadata": metadata,
        }


def _joined(parts: list[types.Part]) -> list[types.Part]:
    """Return parts with the text that came in pieces as one."""
    found: list[types.Part] = []
    for one in parts:
        last = found[-1] if found else None
        if one.text is not None and last is not None and last.text is not None:
            if bool(last.thought) == bool(one.thought):
                found[-1] = types.Part(text=last.text + one.text, thought=last.thought)
                continue
        found.append(one)
    return found
