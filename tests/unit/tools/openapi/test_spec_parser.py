"""Operations of a document: names, servers, parameters, security, and what is left out."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.param_styles import ParamStyle
from ostinato.tools.openapi.rest_request import RequestBuilder
from ostinato.tools.openapi.spec_document import SpecError
from ostinato.tools.openapi.spec_parser import OpenApiSpecParser
from tests.unit.tools.openapi.documents import (
    make_body,
    make_document,
    make_operation,
    parse_one,
    schema_of,
)
from tests.unit.tools.openapi.sample_documents import KUBERNETES, PETSTORE_2, PETSTORE_3

KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
APP = {"type": "apiKey", "in": "query", "name": "app"}
BASIC = {"type": "http", "scheme": "basic"}
SCHEMES = {
    "securitySchemes": {"key": KEY, "app": APP, "basic": BASIC, "tls": {"type": "mutualTLS"}}
}


def names(document: dict[str, Any], **options: Any) -> list[str]:
    return [one.name for one in OpenApiSpecParser(**options).parse(document)]


def query(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string"}, **more}


@pytest.mark.parametrize(
    ("operation_id", "wanted"),
    [
        ("getPetById", "get_pet_by_id"),
        ("HTTPServerList", "http_server_list"),
        ("issues/list-for-repo", "issues_list_for_repo"),
        ("x" * 80, "x" * 60),
        ("x" * 59 + "_y", "x" * 59),
        ("列表", "pets_id_get"),
        (None, "pets_id_get"),
        (7, "pets_id_get"),
    ],
)
def test_a_tool_is_named_after_its_operation(operation_id: Any, wanted: str) -> None:
    document = make_document(
        {"/pets/{id}": {"get": {"operationId": operation_id, "responses": {}}}}
    )
    assert names(document) == [wanted]


def test_names_that_collide_are_numbered() -> None:
    ids = ["getPet", "get_pet", "get-pet", "y" * 60, "y" * 70]
    paths = {f"/{n}": {"get": {"operationId": one}} for n, one in enumerate(ids)}
    wanted = ["get_pet", "get_pet_2", "get_pet_3", "y" * 60, "y" * 58 + "_2"]
    assert names(make_document(paths)) == wanted


def test_every_method_is_an_operation() -> None:
    methods = ["get", "put", "post", "delete", "patch", "head", "options", "trace", "query"]
    item = {method: {"operationId": method} for method in methods}
    more = {"additionalOperations": {"COPY": {"operationId": "copyIt"}}}
    parsed = OpenApiSpecParser().parse(make_document({"/a": item | more}, version="3.2.0"))
    assert {one.endpoint.method for one in parsed} == {*methods, "COPY"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("class", "param_class"), ("X-Api-Key", "x_api_key"), ("过滤", "query_param"), ("a b", "a_b")],
)
def test_arguments_have_names_of_python(name: str, wanted: str) -> None:
    parsed = parse_one(make_operation(parameters=[query(name)]))
    assert list(schema_of(parsed)) == [wanted]


def test_arguments_of_one_name_are_numbered() -> None:
    parameters = [query("id"), {**query("id"), "in": "header"}, query("id_0"), query("ID")]
    parsed = parse_one(make_operation(parameters=parameters))
    assert [one.py_name for one in parsed.parameters] == ["id", "id_1", "id_0", "id_2"]


def test_names_stay_where_that_is_wanted() -> None:
    body = make_body({"type": "object", "properties": {"photoUrls": {}, "class": {}}})
    document = make_operation("post", parameters=[query("pageSize")], requestBody=body)
    parsed = parse_one(document, preserve_property_names=True)
    assert list(schema_of(parsed)) == ["pageSize", "photoUrls", "param_class"]


def test_parameters_of_an_operation_replace_those_of_its_path() -> None:
    document = make_document({"/a": {
        "parameters": [query("q", description="path's"), query("r")],
        "get": {"parameters": [query("q", description="own")], "operationId": "a"},
    }})  # fmt: skip
    assert {n: s.get("description") for n, s in schema_of(parse_one(document)).items()} == {
        "q": "own",
        "r": None,
    }


def test_a_parameter_of_the_path_that_is_declared_nowhere_is_a_text() -> None:
    parsed = parse_one(make_operation(path="/a/{x}/{y}/{x}"))
    assert schema_of(parsed) == {"x": {"type": "string"}, "y": {"type": "string"}}
    assert all(one.required for one in parsed.parameters)


def test_escaped_references_to_parameters_are_followed() -> None:
    components = {"parameters": {"a/b~c": query("q")}}
    reference = {"$ref": "#/components/parameters/a~1b~0c"}
    document = make_operation(parameters=[reference], components=components)
    assert list(schema_of(parse_one(document))) == ["q"]


def test_a_path_item_may_be_a_reference() -> None:
    item = {"get": {"operationId": "shared"}, "parameters": [query("q")]}
    document = make_document(
        {"/a": {"$ref": "#/components/pathItems/A"}}, components={"pathItems": {"A": item}}
    )
    assert parse_one(document).name == "shared"


def test_headers_that_openapi_reserves_are_no_arguments() -> None:
    parameters = [{**query(name), "in": "header"} for name in ("Accept", "AUTHORIZATION", "X-A")]
    assert list(schema_of(parse_one(make_operation(parameters=parameters)))) == ["x_a"]


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "array", "items": {}}, ["array"]),
        ({"type": "string"}, ["body"]),
        ({"oneOf": [{}, {}]}, ["body"]),
        ({}, ["body"]),
        (True, ["body"]),
        ({"type": "object"}, ["body"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, ["body"]),
        ({"properties": {"a": {}}}, ["a"]),
        ({"type": ["object", "null"], "properties": {"a": {}}}, ["a"]),
        ({"properties": {"a": {}}, "additionalProperties": {}}, ["a", "additional_properties"]),
        ({"properties": {"a": {}}, "additionalProperties": True}, ["a", "additional_properties"]),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
            ["a", "additional_properties"],
        ),
        ({"type": "object", "additionalProperties": False}, []),
        ({"properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}]}, ["a", "b"]),
        ({"properties": {"a": {}}, "oneOf": [{"properties": {"b": {}}}]}, ["body"]),
        ({"properties": {"a": {}}, "oneOf": [{"properties": {"a": {"enum": [1]}}}]}, ["a"]),
        ({"properties": {"a": {}}, "anyOf": [{"type": "array", "items": {}}]}, ["body"]),
    ],
)
def test_arguments_of_bodies(schema: Any, wanted: list[str]) -> None:
    document = make_operation("post", requestBody=make_body(schema))
    assert list(schema_of(parse_one(document))) == wanted


def test_a_required_body_requires_its_required_properties() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {}, "b": {}}}
    for is_required in (True, False):
        body = make_body(schema, required=is_required)
        parsed = parse_one(make_operation("post", requestBody=body))
        assert [one.required for one in parsed.parameters] == [is_required, False]


@pytest.mark.parametrize(
    ("servers", "options", "wanted"),
    [
        ({}, {}, "https://api.example.com/v1"),
        ({"item": "https://item/x"}, {}, "https://item/x"),
        ({"item": "https://item/x", "own": "https://own"}, {}, "https://own"),
        ({"root": "/api/v3"}, {}, "/api/v3"),
        ({"root": "/api/v3"}, {"base_url": "https://h:8/docs/openapi.json"}, "https://h:8/api/v3"),
        ({"root": "v3"}, {"base_url": "https://h/docs/openapi.json"}, "https://h/docs/v3"),
        ({"root": "//other/x"}, {"base_url": "https://h/y"}, "https://other/x"),
        ({"root": "https://prod/x"}, {"base_url": "http://test:1/y"}, "http://test:1/y"),
        ({"root": None}, {"base_url": "http://test:1/y"}, "http://test:1/y"),
    ],
)
def test_servers(servers: dict[str, Any], options: dict[str, Any], wanted: str) -> None:
    place = {name: [{"url": url}] if url else [] for name, url in servers.items()}
    item = {"get": {"operationId": "a", "servers": place.get("own", [])}}
    document = make_document({"/a": item | {"servers": place.get("item", [])}})
    document["servers"] = place.get("root", document["servers"])
    assert parse_one(document, **options).endpoint.base_url == wanted


REGION = {"default": "eu", "enum": ["eu", "us"]}


@pytest.mark.parametrize(
    ("variables", "given", "wanted"),
    [
        ({"r": REGION, "p": {"default": 8}}, {}, "https://eu.x:8"),
        ({"r": REGION, "p": {"default": 8}}, {"r": "us"}, "https://us.x:8"),
        ({"r": REGION, "p": {"default": 8}}, {"r": "de"}, "'de', but must be one of eu, us"),
        ({"r": REGION}, {}, "'p' without a default: give its value in server_variables"),
    ],
)
def test_variables_of_servers(variables: Any, given: dict[str, str], wanted: str) -> None:
    document = make_operation()
    document["servers"] = [{"url": "https://{r}.x:{p}", "variables": variables}]
    if wanted.startswith("https"):
        parsed = parse_one(document, server_variables=given)
        assert parsed.endpoint.base_url == wanted
        return
    with pytest.raises(SpecError, match=wanted):
        parse_one(document, server_variables=given)


@pytest.mark.parametrize(
    ("own", "shared", "wanted"),
    [
        (None, [{"key": []}], [{"key"}]),
        ([{"app": []}], [{"key": []}], [{"app"}]),
        ([], [{"key": []}], []),
        ([{}], [{"key": []}], []),
        (None, None, []),
        ([{"key": [], "app": []}], None, [{"key", "app"}]),
        ([{"key": []}, {"app": []}], None, [{"key"}, {"app"}]),
        ([{"tls": []}], None, []),
        ([{"tls": [], "key": []}], None, [{"key"}]),
    ],
)
def test_security(own: Any, shared: Any, wanted: list[set[str]]) -> None:
    fields = {} if own is None else {"security": own}
    parsed = parse_one(make_operation(components=SCHEMES, security_all=shared, **fields))
    context: Any = parsed.additional_context
    assert [{*one} for one in context.get("auth_schemes", [])] == wanted
    assert (parsed.auth_scheme is None) == (not wanted)


def test_an_unknown_scheme_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    security = [{"gone": [], "key": []}]
    parsed = parse_one(make_operation(components=SCHEMES, security=security))
    context: Any = parsed.additional_context
    assert [{*one} for one in context["auth_schemes"]] == [{"key"}]
    assert "requires the security scheme 'gone'" in caplog.text


@pytest.mark.parametrize("given", [["key"], {"key": []}, "key", [{"key": []}, None]])
@pytest.mark.parametrize("place", ["security", "security_all"])
def test_malformed_security_is_an_error_of_its_operation(given: Any, place: str) -> None:
    document = make_operation(components=SCHEMES, **{place: given})
    wanted = r"GET /things of the document 'Shop' .*'security'.*\[\{'key': \[\]\}\]"
    with pytest.raises(SpecError, match=wanted):
        OpenApiSpecParser().parse(document)


def test_optional_security_asks_for_nothing() -> None:
    parsed = parse_one(make_operation(components=SCHEMES, security=[{}, {"key": []}]))
    assert parsed.auth_scheme is None


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"parameters": [{"$ref": "#/components/parameters/gone"}]}, "there is no 'parameters'"),
        ({"parameters": [{"in": "query"}]}, "a parameter without 'name'"),
        ({"parameters": 7}, "does not have the form"),
        ({"requestBody": make_body(7)}, "A schema is expected where '7' stands"),
        ("text", "It is not an object"),
    ],
)
def test_a_broken_operation_is_named_and_may_be_left_out(
    operation: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"get": {"operationId": "good"}}
    document = make_document({"/bad": {"post": operation}, "/good": good}, components={})
    with pytest.raises(SpecError, match=why) as caught:
        names(document)
    assert "POST /bad of the document 'Shop'" in str(caught.value)
    with caplog.at_level(logging.WARNING):
        assert names(document, strict=False) == ["good"]
    assert "POST /bad of the document 'Shop' is left out" in caplog.text and why in caplog.text


def test_a_name_of_the_runtime_is_refused_or_left_out() -> None:
    document = make_operation()
    document["paths"]["/x"] = {"get": {"operationId": "adk_request_input"}}
    with pytest.raises(ValueError, match="cannot be called 'adk_request_input'"):
        OpenAPIToolset(spec_dict=document)
    toolset = OpenAPIToolset(spec_dict=document, strict=False)
    assert toolset.get_tool("do_it") and not toolset.get_tool("adk_request_input")


def test_settings_for_unknown_tools_are_refused() -> None:
    with pytest.raises(ValueError, match=r"fields names 'gone', .* It has: do_it\."):
        OpenAPIToolset(spec_dict=make_operation(), fields={"gone": ["/a"]})
    with pytest.raises(ValueError, match="auth_credentials names 'k'"):
        OpenAPIToolset(spec_dict=make_operation(), auth_credentials={"k": None})  # type: ignore[dict-item]
    with pytest.raises(SpecError, match="needs a document"):
        OpenAPIToolset()


def test_large_schemas_become_definitions_before_they_explode() -> None:
    schemas: dict[str, Any] = {"L0": {"type": "object", "properties": {"x": {"type": "string"}}}}
    for level in range(1, 30):
        inner = {name: {"$ref": f"#/components/schemas/L{level - 1}"} for name in ("a", "b", "c")}
        schemas[f"L{level}"] = {"type": "object", "properties": inner}
    body = make_body({"$ref": "#/components/schemas/L29"})
    parsed = parse_one(make_operation("post", requestBody=body, components={"schemas": schemas}))
    assert schema_of(parsed) == {name: {"$ref": "#/$defs/L28"} for name in ("a", "b", "c")}
    assert len(parsed.operation.raw["$defs"]) == 30


def test_the_document_is_not_changed() -> None:
    for document in (PETSTORE_2, PETSTORE_3, KUBERNETES):
        before = repr(document)
        OpenApiSpecParser().parse(document)
        assert repr(document) == before


def test_swagger_is_converted() -> None:
    parsed = {one.name: one for one in OpenApiSpecParser().parse(PETSTORE_2)}
    add, tags, upload, login = (
        parsed[name] for name in ("add_pet", "find_pets_by_tags", "upload_file", "login")
    )
    assert add.endpoint.base_url == "https://petstore.example.com/v2"
    assert list(schema_of(add)) == ["id", "name", "category", "photo_urls", "status"]
    styles = {one.py_name: (one.style, one.explode) for one in tags.parameters}
    assert styles == {
        "tags": ("form", True),
        "ids": (None, False),
        "bars": ("pipeDelimited", False),
        "limit": (None, None),
    }
    assert schema_of(tags)["limit"] == {"type": "integer", "maximum": 9}
    assert list(upload.operation.requestBody.content) == ["multipart/form-data"]
    assert schema_of(upload)["file"]["format"] == "binary"
    assert [one.required for one in upload.parameters] == [True, False, True]
    assert schema_of(login)["user"] == {"type": ["string", "null"]}
    assert login.auth_scheme is not None and login.auth_scheme.type_.value == "http"  # type: ignore[union-attr]
    assert tags.return_value.type_hint == "List[Dict[str, Any]]"


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": [{"name": "a", "in": "query", "style": "zigzag", "schema": {}}]},
        {"parameters": [{"name": "a", "in": "header", "style": "form", "schema": {}}]},
        {"parameters": [{"name": "a", "in": "qury", "schema": {}}]},
        {
            "requestBody": {
                "content": {
                    "application/x-www-form-urlencoded": {
                        "schema": {"type": "object", "properties": {"a": {"type": "array"}}},
                        "encoding": {"a": {"style": "zigzag"}},
                    }
                }
            }
        },
    ],
)
def test_unknown_style_is_an_error_of_its_operation(
    more: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    document = make_operation(**more)
    with pytest.raises(SpecError, match=r"GET /things of the document 'Shop' .*parameter 'a'"):
        OpenApiSpecParser().parse(document)
    assert OpenApiSpecParser(strict=False).parse(document) == []
    assert "GET /things of the document 'Shop' is left out" in caplog.text


def make_swagger(place: str, collection: str) -> dict[str, Any]:
    """Return a Swagger 2.0 document with one list."""
    items = {"type": "array", "items": {"type": "string"}, "collectionFormat": collection}
    operation = {"operationId": "doIt", "parameters": [{"name": "a", "in": place, **items}]}
    info = {"title": "Shop", "version": "1"}
    return {"swagger": "2.0", "info": info, "host": "x", "paths": {"/things": {"get": operation}}}


@pytest.mark.parametrize("place", ["query", "formData", "header"])
def test_unknown_collection_is_an_error_of_its_operation(place: str) -> None:
    with pytest.raises(SpecError, match=r"GET /things of the document 'Shop' .*'a'.*'zigzag'"):
        OpenApiSpecParser().parse(make_swagger(place, "zigzag"))


def test_collection_of_tabs_is_written_with_tabs() -> None:
    (one,) = parse_one(make_swagger("query", "tsv")).parameters
    style = ParamStyle("a", "query", one.style, one.explode)
    assert style.write_pairs(["x", "y\tz"]) == [("a", "x%09y%09z")]
    body = parse_one(make_swagger("formData", "tsv")).operation.raw["requestBody"]
    (media,) = body["content"].values()
    assert media["encoding"]["a"] == {"style": "tabDelimited", "explode": False}


@pytest.mark.parametrize(
    ("outer", "inner", "query"),
    [
        ("csv", "pipes", "a=1%7C2,3"),
        ("multi", "pipes", "a=1%7C2&a=3"),
        ("pipes", "csv", "a=1,2%7C3"),
        ("ssv", "tsv", "a=1%092%203"),
        ("multi", None, "a=1,2&a=3"),
    ],
)
@pytest.mark.parametrize("place", ["query", "formData"])
async def test_lists_in_lists_have_delimiters_of_their_own(
    place: str, outer: str, inner: str | None, query: str
) -> None:
    document = make_swagger(place, outer)
    collection = {"collectionFormat": inner} if inner else {}
    ((parameter,),) = [one["get"]["parameters"] for one in document["paths"].values()]
    parameter["items"] = {"type": "array", "items": {"type": "integer"}, **collection}
    parsed = parse_one(document)
    body, no_file = parsed.operation.raw.get("requestBody"), None
    builder = RequestBuilder(parsed.endpoint, body, parsed.parameters, cast("Any", no_file))
    request = await builder.build({"a": [[1, 2], [3]]})
    written = request.body.decode().replace("+", "%20") if place == "formData" else request.url
    assert written.rpartition("?")[2] == query


@pytest.mark.parametrize("place", ["query", "formData", "path"])
def test_unknown_collection_in_a_list_is_an_error_of_its_operation(place: str) -> None:
    document = make_swagger(place, "csv")
    ((parameter,),) = [one["get"]["parameters"] for one in document["paths"].values()]
    parameter["items"] = {"type": "array", "items": {}, "collectionFormat": "multi"}
    with pytest.raises(SpecError, match=r"GET /things of the document 'Shop' .*'a'.*'multi'"):
        OpenApiSpecParser().parse(document)


@pytest.mark.parametrize(
    ("place", "collection", "text"),
    [
        ("path", "ssv", "x%20y"),
        ("path", "tsv", "x%09y"),
        ("path", "pipes", "x%7Cy"),
        ("path", "csv", "x,y"),
        ("header", "ssv", "x y"),
        ("header", "tsv", "x\ty"),
        ("header", "pipes", "x|y"),
        ("header", "csv", "x,y"),
        ("header", "multi", "x,y"),
    ],
)
def test_collection_in_a_path_or_a_header_has_its_own_delimiter(
    place: str, collection: str, text: str
) -> None:
    document = make_swagger(place, collection)
    if place == "path":
        document["paths"] = {"/things/{a}": document["paths"]["/things"]}
    (one,) = parse_one(document).parameters
    style = ParamStyle("a", place, one.style, one.explode)
    assert style.write_text(["x", "y"]) == text


def test_object_that_is_no_json_is_declared_as_a_text() -> None:
    schema = {"type": "object", "description": "An order.", "properties": {"a": {"type": "string"}}}
    for kind in ("application/xml", "text/xml", "application/x-thrift"):
        document = make_operation("post", requestBody=make_body(schema, kind=kind))
        (body,) = schema_of(parse_one(document)).values()
        assert body["type"] == "string"
        assert body["description"].startswith(
            f"An order. The text of the body, of the type {kind}."
        )
        assert '"properties": {"a": {"type": "string"}}' in body["description"]


def test_swagger_without_a_host_takes_the_base_url() -> None:
    parsed = OpenApiSpecParser(base_url="https://cluster:6443").parse(KUBERNETES)
    assert {one.endpoint.base_url for one in parsed} == {"https://cluster:6443"}
    put = next(one for one in parsed if one.endpoint.method == "put")
    assert list(schema_of(put)) == ["name", "namespace", "pretty", "kind", "spec"]
    assert schema_of(put)["spec"] == {"$ref": "#/$defs/io.k8s.Props"}
    assert put.operation.raw["$defs"]["io.k8s.Props"]["properties"]["not"] == {
        "$ref": "#/$defs/io.k8s.Props"
    }
