"""Prints what the programs beside it do, with stable names for ids and no sentence of a package."""

import json
import re

_ID = re.compile(r"(adk-|e-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KINDS = {"adk-": "call", "e-": "run"}
_LONG = 40
_names = {}


def _named(found):
    kind = _KINDS.get(found[1], "id")
    count = sum(name.startswith(f"{kind}-") for name in _names.values())
    return _names.setdefault(found[0], f"{kind}-{count + 1}")


def _text(value):
    return _ID.sub(_named, value if isinstance(value, str) else json.dumps(value, sort_keys=True))


def _plain(value):
    """Leave out what is empty, and every long sentence that a package wrote."""
    if isinstance(value, dict):
        items = {key: _plain(item) for key, item in value.items()}
        for key in ("error", "hint"):
            if len(str(items.get(key, ""))) > _LONG:
                items[key] = "(a sentence)"
        return items
    return [_plain(item) for item in value] if isinstance(value, list) else value


def part_text(part):
    raw = part.model_dump(mode="json", exclude_none=True)
    if part.function_call:
        call = part.function_call
        return f"{call.name}({_text(_plain(call.args or {}))})#{_text(call.id or '')}"
    if part.function_response:
        answer = part.function_response
        value = _plain(raw["function_response"].get("response"))
        return f"{answer.name} -> {_text(value)}#{_text(answer.id or '')}"
    if part.text is not None:
        return ("thought:" if part.thought else "") + repr(_text(part.text))
    return _text(_plain(raw))


def content_text(content):
    return f"{content.role} " + " + ".join(part_text(part) for part in content.parts or [])


def show(event):
    """One line per event: who, where, what was said, what it did."""
    flags = [event.branch] if event.branch else []
    flags += [name for name in ("partial", "turn_complete") if getattr(event, name)]
    flags += ["final"] if event.is_final_response() else []
    flags += [f"error={event.error_code}"] if event.error_code else []
    flags += [f"waits={len(event.long_running_tool_ids)}"] if event.long_running_tool_ids else []
    did = event.actions.model_dump(mode="json", exclude_none=True)
    did = {key: value for key, value in did.items() if value or key == "agent_state"}
    said = content_text(event.content) if event.content else "-"
    line = f"{event.author} {_text(event.invocation_id)} [{' '.join(flags)}]: {said}"
    print(line + (f" | {_text(_plain(did))}" if did else ""))


def show_request(request):
    """What the model was asked."""
    for content in request.contents:
        print(f"    asked: {content_text(content)}")
    if request.tools_dict:
        print(f"    tools: {' '.join(sorted(request.tools_dict))}")
