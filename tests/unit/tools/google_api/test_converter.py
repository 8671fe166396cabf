"""Discovery documents as OpenAPI: addresses, parameters, schemas and scopes."""

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import AgentConfigError
from ostinato.tools.google_api_tool import googleapi_to_openapi_converter as converter_module
from ostinato.tools.google_api_tool.googleapi_to_openapi_converter import (
    GoogleApiToOpenApiConverter,
    convert_schema,
)
from tests.unit.tools.google_api.documents import CALENDAR, SCOPE, SHEETS


def convert(document: Any = CALENDAR) -> dict[str, Any]:
    return GoogleApiToOpenApiConverter("calendar", "v3", discovery_document=document).convert()


def parameters(operation: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in operation["parameters"]}


def test_the_api_is_described() -> None:
    spec = convert()
    assert spec["openapi"] == "3.0.0"
    assert spec["info"] == {
        "title": "Calendar API",
        "description": "Manages calendars and events.",
        "version": "v3",
        "contact": {},
        "termsOfService": "https://developers.google.com/calendar",
    }
    assert spec["servers"] == [
        {"url": "https://www.googleapis.com/calendar/v3", "description": "calendar v3 API"}
    ]
    assert spec["externalDocs"]["url"] == "https://developers.google.com/calendar"


def test_methods_of_nested_resources_and_of_the_api_are_found() -> None:
    found = {
        (path, method): operation["operationId"]
        for path, operations in convert()["paths"].items()
        for method, operation in operations.items()
    }
    assert found == {
        ("/calendars/{calendarId}/events", "get"): "calendar.events.list",
        ("/calendars/{calendarId}/events", "post"): "calendar.events.insert",
        ("/{name}", "delete"): "calendar.events.labels.delete",
        ("/ping", "get"): "calendar.ping",
    }


def test_parameters_have_their_place_type_default_and_limits() -> None:
    operation = convert()["paths"]["/calendars/{calendarId}/events"]["get"]
    assert parameters(operation) == {
        "calendarId": {
            "name": "calendarId",
            "in": "path",
            "required": True,
            "description": "Which calendar.",
            "schema": {"type": "string"},
        },
        "eventTypes": {
            "name": "eventTypes",
            "in": "query",
            "required": False,
            "description": "",
            "schema": {
                "type": "array",
                "items": {"type": "string", "enum": ["default", "outOfOffice"]},
            },
        },
        "maxResults": {
            "name": "maxResults",
            "in": "query",
            "required": False,
            "description": "",
            "schema": {"type": "integer", "default": 250, "minimum": 1, "maximum": 2500},
        },
        "alwaysIncludeEmail": {
            "name": "alwaysIncludeEmail",
            "in": "query",
            "required": False,
            "deprecated": True,
            "description": "Ignored.",
            "schema": {"type": "boolean"},
        },
    }


def test_a_variable_with_slashes_keeps_them() -> None:
    operation = convert()["paths"]["/{name}"]["delete"]
    assert operation["deprecated"] is True
    (name,) = operation["parameters"]
    assert name["allowReserved"] is True and name["in"] == "path"
    assert name["schema"] == {"type": "string", "pattern": "^labels/.*$"}


def test_a_flat_path_has_its_own_variables() -> None:
    paths = convert(SHEETS)["paths"]
    sending = paths["/v1/projects/{projectsId}/send"]["post"]
    assert list(parameters(sending)) == ["projectsId"]
    appending = paths["/v4/spreadsheets/{spreadsheetId}/values/{range}:append"]["post"]
    assert {name: one["in"] for name, one in parameters(appending).items()} == {
        "spreadsheetId": "path",
        "range": "path",
    }


def test_a_flat_path_of_the_same_shape_has_the_documented_variables() -> None:
    clearing = convert(SHEETS)["paths"]["/v4/spreadsheets/{spreadsheetId}/values/{range}:clear"]
    range_ = parameters(clearing["post"])["range"]
    assert range_["description"] == "What to clear." and "allowReserved" not in range_


def test_an_empty_body_need_not_be_sent() -> None:
    clearing = convert(SHEETS)["paths"]["/v4/spreadsheets/{spreadsheetId}/values/{range}:clear"]
    assert "requestBody" not in clearing["post"]


def test_a_method_that_uploads_says_what_it_cannot() -> None:
    sending = convert(SHEETS)["paths"]["/v1/projects/{projectsId}/send"]["post"]
    assert sending["description"].startswith("Sends. ")
    assert "cannot be uploaded" in sending["description"]


def test_bodies_refer_to_schemas() -> None:
    inserting = convert()["paths"]["/calendars/{calendarId}/events"]["post"]
    event = {"schema": {"$ref": "#/components/schemas/Event"}}
    assert inserting["requestBody"]["content"] == {"application/json": event}
    assert inserting["requestBody"]["required"] is True
    assert inserting["responses"]["200"]["content"] == {"application/json": event}
    listing = convert()["paths"]["/calendars/{calendarId}/events"]["get"]
    assert "requestBody" not in listing
    assert set(listing["responses"]) == {"200", "400", "401", "403", "404", "500"}


def test_schemas_keep_what_openapi_can_say() -> None:
    event = convert()["components"]["schemas"]["Event"]
    assert event == {
        "type": "object",
        "required": ["summary"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "summary": {"type": "string", "description": "The title."},
            "start": {
                "$ref": "#/components/schemas/EventTime",
                "description": "When it starts.",
            },
            "attendees": {"type": "array", "items": {"$ref": "#/components/schemas/Person"}},
            "guests": {"type": "integer", "format": "int32", "default": 1, "minimum": 0},
            "isLocked": {"type": "boolean", "default": False},
            "extra": {"type": "object", "additionalProperties": {}},
            "colour": {"type": "string", "enum": ["red"], "deprecated": True},
        },
    }


@pytest.mark.parametrize(
    ("schema", "converted"),
    [
        ({"type": "any"}, {}),
        ({"$ref": "#Event"}, {"$ref": "#/components/schemas/Event"}),
        ({"type": "number", "default": "0.5"}, {"type": "number", "default": 0.5}),
        ({"type": "integer", "default": "many"}, {"type": "integer", "default": "many"}),
        ({"type": "string", "default": "true"}, {"type": "string", "default": "true"}),
        ({"type": "string", "minimum": "1"}, {"type": "string"}),
    ],
)
def test_a_schema_of_each_kind(schema: dict[str, Any], converted: dict[str, Any]) -> None:
    assert convert_schema(schema) == converted


def test_scopes_are_those_of_the_api_and_of_the_method() -> None:
    spec = convert()
    scopes = [SCOPE, f"{SCOPE}.readonly"]
    oauth2 = spec["components"]["securitySchemes"]["oauth2"]
    assert list(oauth2["flows"]["authorizationCode"]["scopes"]) == scopes
    assert spec["security"] == [{"oauth2": scopes}, {"apiKey": []}]
    assert spec["paths"]["/calendars/{calendarId}/events"]["post"]["security"] == [
        {"oauth2": [SCOPE]}
    ]


def test_an_api_without_scopes_may_be_called_without_a_login() -> None:
    spec = convert(SHEETS)
    assert spec["security"] == [{}, {"apiKey": []}]
    assert list(spec["components"]["securitySchemes"]) == ["apiKey"]


def test_a_second_method_of_one_address_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    document = copy.deepcopy(CALENDAR)
    document["methods"]["pong"] = {"id": "calendar.pong", "path": "ping", "httpMethod": "GET"}
    with caplog.at_level(logging.WARNING):
        spec = convert(document)
    assert spec["paths"]["/ping"]["get"]["operationId"] == "calendar.ping"
    assert "calendar.pong is left out" in caplog.text


def test_a_conversion_leaves_the_document_unchanged() -> None:
    before = copy.deepcopy(CALENDAR)
    spec = convert()
    spec["components"]["schemas"]["Event"]["properties"].clear()
    assert CALENDAR == before


def test_a_document_is_read_from_a_file_and_written_to_one(tmp_path: Path) -> None:
    source, target = tmp_path / "calendar.json", tmp_path / "openapi.json"
    source.write_text(json.dumps(CALENDAR))
    converter = GoogleApiToOpenApiConverter("calendar", "v3", discovery_document=source)
    converter.save_openapi_spec(str(target))
    assert json.loads(target.read_text()) == convert() == converter.convert()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"resources": []}'])
def test_a_file_that_is_no_document_is_refused(text: str, tmp_path: Path) -> None:
    source = tmp_path / "calendar.json"
    source.write_text(text)
    with pytest.raises(AgentConfigError, match=r"'calendar\.json'") as caught:
        convert(str(source))
    assert str(tmp_path) not in str(caught.value)


def test_the_command_line_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetch(*asked_for: Any) -> Any:
        asked.append(asked_for)
        return CALENDAR

    monkeypatch.setattr(converter_module, "fetch_document", fetch)
    target = tmp_path / "spec.json"
    monkeypatch.setattr("sys.argv", ["converter", "calendar", "v3", "-o", str(target)])
    assert converter_module.main() == 0
    assert asked == [("calendar", "v3", None)] and json.loads(target.read_text()) == convert()
