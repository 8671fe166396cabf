"""Records the tools that google-adk makes of the sample documents.

Run it with google-adk 2.3.0 installed, in this folder: `python record_google_adk.py`. It writes
`google_adk.json`, which `test_google_adk.py` holds Ostinato's tools against.
"""

from __future__ import annotations

import copy
import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

DOCUMENTS: dict[str, Any] = import_module("sample_documents").DOCUMENTS


def record_tools(document: dict[str, Any], **options: Any) -> Any:
    """Return name, description, endpoint and schema of each tool; the error's type if it fails."""
    toolset = import_module("google.adk.tools.openapi_tool").OpenAPIToolset
    try:
        made = toolset(spec_dict=copy.deepcopy(document), **options)
    except Exception as error:  # boundary: whatever google-adk raises is recorded
        return type(error).__name__
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "endpoint": tool.endpoint.model_dump(),
            "auth_scheme": tool.auth_scheme
            and json.loads(tool.auth_scheme.model_dump_json(by_alias=True, exclude_none=True)),
            "schema": tool._operation_parser.get_json_schema(),
            "pydoc": _read_pydoc(tool._operation_parser),
        }
        for tool in made._tools
    ]


def _read_pydoc(parser: Any) -> Any:
    try:
        return parser.get_pydoc_string()
    except ValueError:  # it takes a response named `default` for a number
        return None


def main() -> None:
    """Write the record."""
    record = {
        "google-adk": version("google-adk"),
        "tools": {name: record_tools(one) for name, one in DOCUMENTS.items()},
        "preserved": {
            name: record_tools(one, preserve_property_names=True) for name, one in DOCUMENTS.items()
        },
    }
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    Path(__file__).with_name("google_adk.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
