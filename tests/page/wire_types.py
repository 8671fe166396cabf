"""Types of what the server sends, for the page: `python -m tests.page.wire_types` writes them from
the OpenAPI document into page/src/wire.ts; a test holds the file to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from ostinato.evaluation.eval_case import EvalCase
from ostinato.evaluation.eval_result import EvalSetResult
from ostinato.server.app import describe_server
from ostinato.server.settings import ServerSettings

FILE = Path(__file__).resolve().parents[2] / "page" / "src" / "wire.ts"

# What the page reads; other records that these refer to come with them.
READ = (
    *("SessionPage", "SessionTitle", "AppSummary", "AppInfo", "RunStatus", "EventPage"),
    *("EffectList", "TracebackList"),
)
# The routes of the evaluation are google-adk's and in no document; these are their records.
RECORDS = (EvalCase, EvalSetResult)

# What types.ts describes as the page reads it.
_BY_HAND = {
    name: name for name in ("Content", "Event", "FunctionCall", "FunctionResponse", "Session")
}
# What the page does not read of them.
_UNREAD = (
    *("AppDetails", "GenerateContentResponseUsageMetadata", "GroundingMetadata", "Rubric"),
    *("RubricScore", "TurnUsage", "UserPersona"),
)
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
_HEAD = (
    "// What the server sends, from its OpenAPI document: `python -m tests.page.wire_types`.\n\n"
    'import type { Content, Event, FunctionCall, FunctionResponse, Session } from "./types";\n'
)


def render() -> str:
    """Return the text of the file."""
    schemas = describe_server(ServerSettings(agents=Path()))["components"]["schemas"]
    _, records = models_json_schema([(one, "validation") for one in RECORDS])
    schemas = {**records["$defs"], **schemas}
    waiting = [*READ, *(one.__name__ for one in RECORDS)]
    done, found = set(_BY_HAND), [_HEAD]
    while waiting:
        name = waiting.pop(0)
        if name in done:
            continue
        done.add(name)
        text, more = _render_record(name, schemas[name])
        found.append(text)
        waiting += more
    return "\n".join(found)


def _render_record(name: str, schema: dict[str, Any]) -> tuple[str, list[str]]:
    needed: list[str] = []
    if "properties" not in schema:
        return f"export type {name} = {_render_type(schema, needed)};\n", needed
    required = set(schema.get("required", ()))
    lines = [f"export interface {name} {{"]
    for key, value in schema.get("properties", {}).items():
        given = _render_type(value, needed)
        if given == "null":
            continue
        # Null fields are left out of answers.
        plain = " | ".join(one for one in given.split(" | ") if one != "null")
        always = key in required or (plain == given and value.get("default") is not None)
        lines.append(f"  {key}{'' if always else '?'}: {plain};")
    return "\n".join([*lines, "}", ""]), needed


def _render_type(schema: dict[str, Any], needed: list[str]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in _UNREAD:
            return "unknown"
        needed.append(name)
        return _BY_HAND[name] if name in _BY_HAND else str(name)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_render_type(one, needed) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = _render_type(schema.get("items", {}), needed)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        more = schema.get("additionalProperties")
        value = _render_type(more, needed) if isinstance(more, dict) and more else "unknown"
        return f"{{ [key: string]: {value} }}"
    return "null" if kind == "null" else _PLAIN.get(str(kind), "unknown")


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
