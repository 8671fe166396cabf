"""The requests that are put to google-adk's server and to ours, and how their answers are made
comparable. Standard library only: the recorder runs it in google-adk's environment."""

from __future__ import annotations

import json
import re
from typing import Any

BASE = "/apps/desk/users/ann/sessions"


def say(text: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    """Return the body of a run."""
    message = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "desk", "userId": "ann", "sessionId": session, "newMessage": message, **more}


# name, method, path, body
STEPS: list[tuple[str, str, str, Any]] = [
    ("health", "GET", "/health", None),
    ("version", "GET", "/version", None),
    ("list-apps", "GET", "/list-apps", None),
    ("list-apps detailed", "GET", "/list-apps?detailed=true", None),
    ("app-info", "GET", "/apps/desk/app-info", None),
    ("app-info unknown", "GET", "/apps/nobody/app-info", None),
    ("list empty", "GET", BASE, None),
    ("create", "POST", BASE, {"sessionId": "s1", "state": {"a": 1, "user:b": 2}}),
    ("create again", "POST", BASE, {"sessionId": "s1"}),
    ("create without body", "POST", "/apps/desk/users/bob/sessions", None),
    ("create with id", "POST", f"{BASE}/s2", {"k": "v"}),
    ("create with id again", "POST", f"{BASE}/s2", {"k": "v"}),
    (
        "create with events",
        "POST",
        BASE,
        {
            "sessionId": "s3",
            "events": [{"author": "user", "content": {"role": "user", "parts": [{"text": "old"}]}}],
        },
    ),
    ("get", "GET", f"{BASE}/s1", None),
    ("get unknown", "GET", f"{BASE}/zzz", None),
    ("patch", "PATCH", f"{BASE}/s1", {"stateDelta": {"c": [1, 2]}}),
    ("patch unknown", "PATCH", f"{BASE}/zzz", {"stateDelta": {"c": 1}}),
    ("patch without delta", "PATCH", f"{BASE}/s1", {}),
    ("run text", "POST", "/run", say("hello")),
    ("run tool", "POST", "/run", say("add")),
    ("run unknown session", "POST", "/run", say("hi", "zzz")),
    ("run unknown app", "POST", "/run", {**say("hi"), "appName": "nobody"}),
    ("run without session", "POST", "/run", {"appName": "desk", "userId": "ann"}),
    ("run refused", "POST", "/run", say("refused", "s2")),
    ("sse text", "POST", "/run_sse", say("hello")),
    ("sse streaming", "POST", "/run_sse", say("hello there", streaming=True)),
    ("sse artifact", "POST", "/run_sse", say("note")),
    ("sse state delta", "POST", "/run_sse", say("hi", stateDelta={"d": 4})),
    ("sse error", "POST", "/run_sse", say("boom", "s2")),
    ("sse unknown session", "POST", "/run_sse", say("hi", "zzz")),
    ("run approval", "POST", "/run", say("pay", "s3")),
    ("artifacts", "GET", f"{BASE}/s1/artifacts", None),
    (
        "save artifact",
        "POST",
        f"{BASE}/s1/artifacts",
        {
            "filename": "mine.txt",
            "artifact": {"text": "one"},
            "customMetadata": {"k": "v"},
        },
    ),
    ("save artifact without part", "POST", f"{BASE}/s1/artifacts", {"filename": "mine.txt"}),
    ("artifact", "GET", f"{BASE}/s1/artifacts/mine.txt", None),
    ("artifact version", "GET", f"{BASE}/s1/artifacts/mine.txt?version=0", None),
    ("artifact unknown", "GET", f"{BASE}/s1/artifacts/none.txt", None),
    ("artifact versions", "GET", f"{BASE}/s1/artifacts/mine.txt/versions", None),
    ("artifact versions metadata", "GET", f"{BASE}/s1/artifacts/mine.txt/versions/metadata", None),
    ("artifact one version", "GET", f"{BASE}/s1/artifacts/mine.txt/versions/0", None),
    ("artifact one metadata", "GET", f"{BASE}/s1/artifacts/mine.txt/versions/0/metadata", None),
    ("artifact no version", "GET", f"{BASE}/s1/artifacts/mine.txt/versions/7", None),
    ("artifact no metadata", "GET", f"{BASE}/s1/artifacts/mine.txt/versions/7/metadata", None),
    ("artifact versions unknown", "GET", f"{BASE}/s1/artifacts/none.txt/versions", None),
    ("delete artifact", "DELETE", f"{BASE}/s1/artifacts/mine.txt", None),
    ("delete artifact again", "DELETE", f"{BASE}/s1/artifacts/mine.txt", None),
    ("memory", "PATCH", "/apps/desk/users/ann/memory", {"sessionId": "s1"}),
    ("memory unknown session", "PATCH", "/apps/desk/users/ann/memory", {"sessionId": "zzz"}),
    ("memory without session", "PATCH", "/apps/desk/users/ann/memory", {}),
    ("get after", "GET", f"{BASE}/s1", None),
    ("list", "GET", BASE, None),
    ("delete", "DELETE", f"{BASE}/s2", None),
    ("delete again", "DELETE", f"{BASE}/s2", None),
    ("get deleted", "GET", f"{BASE}/s2", None),
    ("run without message", "POST", "/run", {**say("hi", "s3"), "newMessage": None}),
    ("no such route", "GET", "/nowhere", None),
    ("wrong method", "PUT", "/run", {}),
    ("not json", "POST", "/run", "{"),
    ("wrong types", "POST", "/run", {**say("hi"), "sessionId": 7}),
]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Labels:
    """Puts labels in the place of ids, one for each, and of times."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def _label(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found.group(), f"#{len(self._ids) + 1}")

    def __call__(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self(k): self(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self(one) for one in value]
        if isinstance(value, str) and key == "timestamp":
            return f"#time {re.sub('[0-9]', '0', value)}"
        if isinstance(value, str):
            return _UUID.sub(self._label, value)
        if (isinstance(value, float) and key.lower().endswith("time")) or key == "timestamp":
            return "#time"
        return value


def body_of(content_type: str, text: str, labels: Labels) -> Any:
    """Return a body as values: JSON, or the data of each frame of a stream, or text."""
    if content_type.startswith("text/event-stream"):
        frames = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return [labels(json.loads(frame)) for frame in frames]
    if content_type.startswith("application/json"):
        return labels(json.loads(text))
    return text
