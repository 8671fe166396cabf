"""What the server's OpenAPI document leaves out because SDKs answer it: A2A and MCP, as paths of
such a document, loosely enough that most cases get past the SDK's own checks."""

from __future__ import annotations

from typing import Any

PROTOCOLS = ("/a2a/", "/mcp")

_TEXT: dict[str, Any] = {"type": "string"}
_PART: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "required": ["text"], "properties": {"text": _TEXT}},
        {"type": "object", "required": ["data"], "properties": {"data": {}}},
        {"type": "object", "required": ["raw"], "properties": {"raw": _TEXT, "mediaType": _TEXT}},
        {"type": "object", "properties": {"url": _TEXT, "filename": _TEXT}},
    ]
}
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["messageId", "role", "parts"],
    "properties": {
        "messageId": {"type": "string", "minLength": 1},
        "role": {"enum": ["ROLE_USER", "ROLE_AGENT", 1]},
        "parts": {"type": "array", "items": _PART, "minItems": 1, "maxItems": 3},
        "contextId": _TEXT,
        "taskId": _TEXT,
        "metadata": {"type": "object"},
    },
}
_SEND: dict[str, Any] = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "message": _MESSAGE,
        "configuration": {
            "type": "object",
            "properties": {
                "historyLength": {"type": "integer"},
                "returnImmediately": {"type": "boolean"},
                "acceptedOutputModes": {"type": "array", "items": _TEXT},
            },
        },
        "metadata": {"type": "object"},
    },
}
_TASK: dict[str, Any] = {
    "type": "object",
    "properties": {"id": _TEXT, "contextId": _TEXT, "historyLength": {"type": "integer"}},
}
_LIST = {
    "contextId": _TEXT,
    "pageSize": {"type": "integer"},
    "pageToken": _TEXT,
    "historyLength": {"type": "integer"},
    "includeArtifacts": {"type": "boolean"},
    "status": {"enum": ["TASK_STATE_COMPLETED", "TASK_STATE_WORKING", "x", 3]},
    "statusTimestampAfter": _TEXT,
}
_ID: dict[str, Any] = {"anyOf": [_TEXT, {"type": "integer"}]}


def _call(params: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the schema of a JSON-RPC request: one form for each of the methods' parameters."""
    return {
        "anyOf": [
            {
                "type": "object",
                "required": ["jsonrpc", "method"],
                "properties": {
                    "jsonrpc": {"const": "2.0"},
                    "id": _ID,
                    "method": {"const": method},
                    "params": one,
                },
            }
            for method, forms in params.items()
            for one in forms
        ]
    }


_A2A = _call(
    {
        "SendMessage": [_SEND],
        "SendStreamingMessage": [_SEND],
        "GetTask": [_TASK],
        "CancelTask": [_TASK],
        "SubscribeToTask": [_TASK],
        "ListTasks": [{"type": "object", "properties": _LIST}],
        "GetTaskPushNotificationConfig": [{"type": "object"}],
        "NoSuchMethod": [{"type": "object"}],
    }
)
_SAID = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"enum": ["desk", "nobody"]},
        "arguments": {"type": "object", "properties": {"message": _TEXT, "session": _TEXT}},
        "_meta": {"type": "object"},
    },
}
_MCP = _call(
    {
        "initialize": [
            {
                "type": "object",
                "properties": {
                    "protocolVersion": {"enum": ["2025-06-18", "2025-11-25", "x"]},
                    "capabilities": {"type": "object"},
                    "clientInfo": {
                        "type": "object",
                        "properties": {"name": _TEXT, "version": _TEXT},
                    },
                },
            }
        ],
        "tools/list": [{"type": "object", "properties": {"cursor": _TEXT}}],
        "tools/call": [_SAID],
        "ping": [{"type": "object"}],
        "notifications/cancelled": [{"type": "object"}],
    }
)
_ACCEPT = {"enum": ["application/json, text/event-stream", "application/json"]}
_VERSION = {"enum": ["2025-06-18", "2025-11-25", "x"]}


def _parameters(path: str, query: dict[str, Any], headers: dict[str, Any]) -> list[dict[str, Any]]:
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("app", "task")
        if "{" + name + "}" in path
    ]
    named += [{"name": name, "in": "query", "schema": schema} for name, schema in query.items()]
    return named + [
        {"name": name, "in": "header", "required": True, "schema": schema}
        for name, schema in headers.items()
    ]


def paths() -> dict[str, Any]:
    """Return the paths of both protocols."""
    found: dict[str, Any] = {}

    def add(
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
    ) -> None:
        operation: dict[str, Any] = {
            "parameters": _parameters(path, query or {}, headers or {}),
            "responses": {"200": {"description": "It is answered"}},
        }
        if body is not None:
            content = {"application/json": {"schema": body}}
            operation["requestBody"] = {"required": True, "content": content}
        found.setdefault(path, {})[method] = operation

    version = {"a2a-version": {"enum": ["1.0", "0.3", ""]}}
    add("post", "/a2a/{app}", _A2A, headers=version)
    add("post", "/a2a/{app}/message:send", _SEND, headers=version)
    add("post", "/a2a/{app}/message:stream", _SEND, headers=version)
    add("get", "/a2a/{app}/tasks", query=_LIST, headers=version)
    add("get", "/a2a/{app}/tasks/{task}", query={"historyLength": {"type": "integer"}})
    add("post", "/a2a/{app}/tasks/{task}:cancel", {"type": "object"}, headers=version)
    add("post", "/a2a/{app}/tasks/{task}:subscribe", {"type": "object"}, headers=version)
    add("get", "/a2a/{app}/tasks/{task}/pushNotificationConfigs", headers=version)
    add("get", "/a2a/{app}/extendedAgentCard", headers=version)
    add("post", "/mcp", _MCP, headers={"accept": _ACCEPT, "mcp-protocol-version": _VERSION})
    add("delete", "/mcp", headers={"mcp-session-id": _TEXT})
    return found
