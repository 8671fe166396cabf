"""Names, descriptions, schemas and docstrings are those that google-adk 2.3.0 gives.

`google_adk.json` is its record for the sample documents (`record_google_adk.py`). Each deviation
is one that `normalize` names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.rest_api_tool import RestApiTool
from tests.unit.tools.openapi.sample_documents import DOCUMENTS

RECORD: dict[str, Any] = json.loads(
    Path(__file__).with_name("google_adk.json").read_text(encoding="utf-8")
)
READ_BY_BOTH = ("petstore_3", "github", "stripe")
# google-adk cannot read Swagger 2.0.
READ_BY_OSTINATO = {
    "petstore_2": ["add_pet", "find_pets_by_tags", "upload_file", "login"],
    "kubernetes": [
        "read_core_v1_namespaced_pod",
        "replace_core_v1_namespaced_pod",
        "patch_core_v1_namespaced_pod",
        "watch_apps_v1_namespaced_deployment_status_for_a_very_long_r",
    ],
}
# Required properties of required bodies, which google-adk does not name.
REQUIRED = {"update_pet": ["name", "photo_urls"], "issues_create": ["title"]}


def normalize(schema: Any) -> Any:
    """Return a schema of google-adk as Ostinato gives it.

    XML names and empty descriptions are left out, and `nullable` is JSON Schema's null.
    """
    if isinstance(schema, list):
        return [normalize(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: normalize(one) for name, one in schema.items() if name != "xml"}
    if found.get("description") == "":
        del found["description"]
    if found.pop("nullable", False) and "type" in found:
        found["type"] = [found["type"], "null"]
    return found


async def list_tools(name: str, **options: Any) -> list[RestApiTool]:
    toolset = OpenAPIToolset(spec_dict=DOCUMENTS[name], **options)
    return [tool for tool in await toolset.get_tools() if isinstance(tool, RestApiTool)]


def pair(name: str, kind: str, tools: list[RestApiTool]) -> list[tuple[RestApiTool, Any]]:
    assert [tool.name for tool in tools] == [one["name"] for one in RECORD[kind][name]]
    return list(zip(tools, RECORD[kind][name], strict=True))


@pytest.mark.parametrize("name", READ_BY_BOTH)
@pytest.mark.parametrize("kind", ["tools", pytest.param("preserved", marks=pytest.mark.long)])
async def test_tools_are_those_of_google_adk(name: str, kind: str) -> None:
    tools = await list_tools(name, preserve_property_names=kind == "preserved")
    for tool, theirs in pair(name, kind, tools):
        assert tool.description == theirs["description"]
        assert tool.endpoint.model_dump() == theirs["endpoint"]
        declaration = tool._get_declaration()
        wanted = normalize(theirs["schema"])
        names = [name if kind == "tools" else name.replace("photo_urls", "photoUrls")
                 for name in REQUIRED.get(tool.name, [])]  # fmt: skip
        wanted["required"] += names
        assert declaration.parameters_json_schema == wanted
        scheme = tool.auth_scheme
        mine = scheme and json.loads(scheme.model_dump_json(by_alias=True, exclude_none=True))
        assert mine == theirs["auth_scheme"]


@pytest.mark.parametrize("name", READ_BY_BOTH)
async def test_docstrings_are_those_of_google_adk(name: str) -> None:
    for tool, theirs in pair(name, "tools", await list_tools(name)):
        if theirs["pydoc"] is not None:  # it fails where a response is named `default`
            assert tool.parser.get_pydoc_string() == theirs["pydoc"]


@pytest.mark.parametrize(("name", "wanted"), READ_BY_OSTINATO.items())
async def test_swagger_is_read_too(name: str, wanted: list[str]) -> None:
    assert isinstance(RECORD["tools"][name], str), "google-adk reads it now: compare it"
    assert [tool.name for tool in await list_tools(name)] == wanted


def test_the_record_is_of_the_version_to_be_like() -> None:
    assert RECORD["google-adk"] == "2.3.0"
