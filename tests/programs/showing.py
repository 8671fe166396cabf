"""Prints a session as JSON lines, with stable names for ids and no sentence of a package.

The programs import it as their own helper: `from showing import show_session`.
"""

import json
import re

_ID = re.compile(r"(adk-|e-)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?")
_KINDS = {"adk-": "call", "e-": "run"}
_SENTENCES = ("error", "hint", "errorMessage", "error_message", "status")
_LONG = 40
_names: dict[str, str] = {}


def _name_id(found):
    kind = _KINDS.get(found[1], "id")
    count = sum(name.startswith(f"{kind}-") for name in _names.values())
    return _names.setdefault(found[0], f"{kind}-{count + 1}")


def plain(value):
    """Return the value as JSON data whose ids are named and whose long sentences are left out."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {plain(str(key)): _plain_item(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, str):
        return _TIME.sub("(time)", _ID.sub(_name_id, value))
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return f"<{type(value).__name__}>"


def _plain_item(key, item):
    if key in _SENTENCES and isinstance(item, str) and len(item) > _LONG:
        return "(a sentence)"
    return plain(item)


def show(**items):
    """Print one JSON line."""
    print(json.dumps({key: plain(item) for key, item in items.items()}, sort_keys=True))


def event_record(event):
    """Return what a page shows of an event; what is empty is left out."""
    actions = event.actions.model_dump(mode="json", exclude_none=True)
    node = getattr(event, "node_info", None)
    record = {
        "author": event.author,
        "run": event.invocation_id,
        "branch": event.branch,
        "path": node.path if node else None,
        "role": event.content.role if event.content else None,
        "parts": event.content.parts if event.content else None,
        "actions": {key: item for key, item in actions.items() if item or key == "agent_state"},
        "output": getattr(event, "output", None),
        "error": event.error_code,
        "partial": event.partial,
        "waits": len(event.long_running_tool_ids or ()),
        "custom": event.custom_metadata,
    }
    return {key: plain(item) for key, item in record.items() if item not in (None, [], {}, "", 0)}


def show_event(event):
    """Print one event."""
    print(json.dumps(event_record(event), sort_keys=True))


def show_session(session):
    """Print all events and the state of a session."""
    for event in session.events:
        show_event(event)
    show(state=dict(session.state))


def show_request(request):
    """Print the contents and the tools that a model is sent."""
    contents = [[content.role, *plain(content.parts or [])] for content in request.contents]
    show(asked=contents, tools=sorted(request.tools_dict))
