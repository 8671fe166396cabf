"""Events and parts as small records in which ids and times have stable names; for the kit."""

import json
import re
from typing import Any

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_ID = re.compile(rf"(adk-|e-)?{_UUID}")
_NAMES = {"adk-": "adk", "e-": "inv"}
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):.*?\\n(?=\w+Error\b)")
_OAUTH_STATE = re.compile(r"[?&]state=([\w-]{8,})")
_SENTENCES = ("error", "error_message", "hint", "reflection_guidance", "result", "status")
_LONG = 30
_DROPPED = {"id", "timestamp", "content", "author", "invocation_id", "actions", "node_info"}


def event_record(event: Any) -> dict[str, Any]:
    """One event with its parts, effects and flags; what is null or empty is left out."""
    raw = event.model_dump(mode="json", exclude_none=True, by_alias=False)
    record: dict[str, Any] = {"author": event.author}
    record["inv"] = event.invocation_id
    if event.content is not None:
        parts = [part_record(p) for p in event.content.parts or []]
        record["content"] = [event.content.role, *parts]
    if event.is_final_response():
        record["final"] = True
    rest = {k: v for k, v in raw.items() if k not in _DROPPED}
    if "long_running_tool_ids" in rest:
        rest["long_running_tool_ids"] = sorted(rest["long_running_tool_ids"])
    rest["actions"] = _not_empty(raw.get("actions", {}), keep=("agent_state",))
    rest["node"] = _not_empty(raw.get("node_info", {}))
    if isinstance(rest.get("output"), dict):  # google-adk's joins give no certain order
        rest["output"] = json.loads(json.dumps(rest["output"], sort_keys=True))
    record.update(_not_empty(rest))
    record["@"] = [event.timestamp, event.id]
    return record


def part_record(part: Any) -> Any:
    """A part: plain text as a string, calls and responses as short records, others as dumped."""
    raw = part.model_dump(mode="json", exclude_none=True, by_alias=False)
    if set(raw) == {"text"}:
        return raw["text"]
    if raw.get("thought") and set(raw) == {"text", "thought"}:
        return {"thought": raw["text"]}
    if set(raw) == {"function_call"}:
        call = raw["function_call"]
        return _not_empty({"call": call["name"], "id": call.get("id"), "args": call.get("args")})
    if set(raw) == {"function_response"}:
        answer = raw["function_response"]
        known = {"response": answer.pop("name"), "id": answer.pop("id", None)}
        return _not_empty({**known, "value": answer.pop("response", None), **answer})
    return raw


def _not_empty(record: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k in keep or v not in (None, {}, [], "")}


def finish(
    turns: list[Any],
    requests: dict[str, Any],
    notes: list[Any],
    logs: list[Any],
    words: tuple[str, ...],
) -> dict[str, Any]:
    """The trace as data: times become positions in the log, ids are numbered by first appearance,
    sentences of the package itself are reduced to the `words` they contain."""
    events = [event for turn in turns for event in turn["events"]]
    for stored in logs:
        times = {event["@"][0]: f"time of log {i}" for i, event in enumerate(stored["log"])}
        for event in [*stored["log"], *events]:
            _name_times(event, times)
    order = [log["log"] for log in logs]
    trace: dict[str, Any] = {"turns": turns, "sessions": logs, "requests": requests, "notes": notes}
    names = _id_names(json.dumps([order, trace]))
    for stored in logs:
        stored["log"] = _referring(stored["log"], events)
    if not notes:
        del trace["notes"]
    text = _ID.sub(lambda match: names[match[0]], json.dumps(trace))
    for state in set(_OAUTH_STATE.findall(text)):
        text = text.replace(state, "(oauth state)")
    return _wordless(json.loads(_TRACEBACK.sub("(traceback) ", text)), words)


def _wordless(value: Any, words: tuple[str, ...]) -> Any:
    """The value with every long sentence under "error", "hint" or "result" cut to its words."""
    if isinstance(value, list):
        return [_wordless(item, words) for item in value]
    if not isinstance(value, dict):
        return value
    if "long_running_tool_ids" in value:
        value["long_running_tool_ids"].sort()
    value.pop("@", None)
    return {
        key: _sentence(item, words)
        if key in _SENTENCES and isinstance(item, str) and len(item) > _LONG
        else _wordless(item, words)
        for key, item in value.items()
    }


def _sentence(text: str, words: tuple[str, ...]) -> str:
    return " ".join(["(a sentence)", *(word for word in words if word in text)])


def _referring(log: list[Any], events: list[Any]) -> list[Any]:
    """The stored events, each that was yielded unchanged and in this order being just "yielded"."""
    places = {event["@"][1]: i for i, event in enumerate(events)}
    at = {"@": None}
    last = -1
    entries: list[Any] = []
    for event in log:
        place = places.get(event["@"][1], -1)
        if place > last and {**events[place], **at} == {**event, **at}:
            entries.append("yielded")
            last = place
        else:
            entries.append({"yielded as": place, **event} if place >= 0 else event)
    return entries


def _name_times(event: dict[str, Any], times: dict[float, str]) -> None:
    compaction = event.get("actions", {}).get("compaction")
    for key in ("start_timestamp", "end_timestamp"):
        if compaction and not isinstance(compaction[key], str):
            compaction[key] = times.get(compaction[key], "a time of no event")


def _id_names(text: str) -> dict[str, str]:
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for match in _ID.finditer(text):
        if match[1] is None:
            names[match[0]] = "an id"
        elif match[0] not in names:
            counts[match[1]] = counts.get(match[1], 0) + 1
            names[match[0]] = f"{_NAMES[match[1]]}-{counts[match[1]]}"
    return names


def to_text(value: Any, indent: int = 0, width: int = 150) -> str:
    """JSON with one record per line where it fits, so that a change of a trace reads well."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return line
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        rows = [f"{pad}{json.dumps(k)}: {to_text(v, indent + 1, width)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    rows = [f"{pad}{to_text(v, indent + 1, width)}" for v in value]
    return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"
