"""Documents: text, versions, references, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.tools.openapi import spec_document
from ostinato.tools.openapi.spec_document import SpecDocument, SpecError, read_text
from ostinato.tools.openapi.spec_parser import OpenApiSpecParser
from tests.unit.tools.openapi.documents import (
    make_body,
    make_document,
    make_operation,
    parse_one,
    schema_of,
)


def test_yaml_has_text_as_keys_and_dates() -> None:
    text = "openapi: 3.0.0\npaths: {}\nx: {200: 2020-01-02, true: 1}\n"
    assert read_text(text, "yaml")["x"] == {"200": "2020-01-02", "true": 1}


@pytest.mark.parametrize(
    "plain",
    ["on", "off", "yes", "No", "y", "12:30", "1:2:3.5", "010", "0o14", "0x1f", "0b11", "1_000",
     "+1", ".5", ".inf", "2020-01-02", "=", "1.2.3", "nulls"],
)  # fmt: skip
def test_yaml_that_is_text_by_its_version_1_2_stays_text(plain: str) -> None:
    text = f"openapi: 3.1.0\npaths: {{}}\nx: [{plain}]\ny: {plain}\n"
    read = read_text(text, "yaml")
    assert (read["x"], read["y"]) == ([plain], plain)


@pytest.mark.parametrize(
    ("plain", "value"),
    [("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("0", 0),
     ("-12", -12), ("1.50", 1.5), ("-0.5", -0.5), ("1e3", 1000.0), ("1.5E-2", 0.015), ("'1'", "1")],
)  # fmt: skip
def test_yaml_values_are_those_of_json(plain: str, value: Any) -> None:
    read = read_text(f"openapi: 3.1.0\npaths: {{}}\nx: {plain}\n", "yaml")
    assert read["x"] == value and type(read["x"]) is type(value)


@pytest.mark.parametrize("key", ["on", "no", "null", "~", "True", "1.10", "010", "12:30", "1e3"])
def test_yaml_keys_are_what_the_document_says(key: str) -> None:
    text = f"openapi: 3.1.0\npaths: {{}}\nx: {{{key}: 1}}\n"
    assert read_text(text, "yaml")["x"] == {key: 1}


def test_yaml_merges_and_anchors_of_keys() -> None:
    text = "openapi: 3.1.0\npaths: {}\nx: &x {on: 1, b: 2}\ny: {<<: *x, b: 3}\nz: {&k 200: *k}\n"
    read = read_text(text, "yaml")
    assert read["y"] == {"on": 1, "b": 3} and read["z"] == {"200": 200}


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("{", "json", "is not valid JSON"),
        ("a: [", "yaml", "is not valid YAML"),
        ("[]", "json", "not an object but list"),
        ("a: &a [*a]", "yaml", "nested more than"),
        ("[" * 400 + "]" * 400, "yaml", "nested"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: str, kind: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        read_text(text, kind)


def test_an_unknown_kind_of_text_is_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported spec type: toml"):
        read_text("{}", "toml")


def test_a_short_text_that_is_an_endless_document_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spec_document, "_MAX_NODES", 50_000)
    lines = ["a0: &a0 [{x: 1}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(SpecError, match="more than 50,000 objects"):
        read_text("\n".join(lines), "yaml")


@pytest.mark.parametrize("version", [{"openapi": "4.0.0"}, {"swagger": "1.2"}, {}])
def test_an_unknown_version_is_refused(version: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="is of version"):
        SpecDocument({**version, "paths": {}})


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_document, "_MAX_CHARS", 10)
    with pytest.raises(SpecError, match="more than 10 characters"):
        read_text('{"openapi": "3.0.0"}', "json")


@pytest.mark.long
def test_a_document_of_20_mb_is_read() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}
    components = {"schemas": {f"S{n}": schema for n in range(18_000)}}
    paths = {
        f"/{n}": {"post": {"operationId": f"do{n}", "requestBody": make_body(
            {"$ref": f"#/components/schemas/S{n}"})}}
        for n in range(1_000)
    }  # fmt: skip
    text = json.dumps(make_document(paths, components=components))
    assert len(text) > 20_000_000
    parsed = OpenApiSpecParser().parse(read_text(text, "json"))
    assert len(parsed) == 1_000 and len(parsed[-1].parameters) == 40


def test_pointers_are_unescaped() -> None:
    document = SpecDocument(make_document({}, components={"a/b": {"c~d e": [{"x": 1}]}}))
    assert document.find_target("#/components/a~1b/c~0d%20e/0/x") == 1


@pytest.mark.parametrize("reference", ["#/no/such", "#/info/title/x", "#anchor", "#/paths/1"])
def test_a_reference_that_leads_nowhere_is_named(reference: str) -> None:
    with pytest.raises(SpecError, match=reference):
        SpecDocument(make_document({})).find_target(reference)


def test_a_circle_of_references_is_refused() -> None:
    components = {"parameters": {"a": {"$ref": "#/components/parameters/a"}}}
    document = SpecDocument(make_document({}, components=components))
    with pytest.raises(SpecError, match="leads in a circle"):
        document.resolve({"$ref": "#/components/parameters/a"})


@pytest.mark.parametrize(
    "reference", ["other.yaml#/A", "http://169.254.169.254/x", "file:///etc/passwd", "//h/x"]
)
def test_other_documents_are_refused(reference: str) -> None:
    schema = {"$ref": reference}
    raw = make_operation(parameters=[{"name": "a", "in": "query", "schema": schema}])
    with pytest.raises(SpecError, match="leads to another document") as caught:
        parse_one(raw)
    assert "GET /things" in str(caught.value) and reference in str(caught.value)


def test_other_documents_are_loaded_where_that_is_permitted() -> None:
    asked: list[str] = []
    documents: dict[str, Any] = {
        "https://h/dir/a.json": {"A": {"properties": {"b": {"$ref": "b.json"}}},
                                 "C": {"enum": [1]}},
        "https://h/dir/b.json": {"properties": {"c": {"$ref": "a.json#/C"}, "d": {"$ref": "#/e"}},
                                 "e": {"type": "boolean"}},
    }  # fmt: skip

    def load(address: str) -> Any:
        asked.append(address)
        return documents[address]

    schema = {"$ref": "https://h/dir/a.json#/A"}
    raw = make_operation(parameters=[{"name": "a", "in": "query", "schema": schema}])
    found = schema_of(parse_one(raw, load_reference=load))["a"]
    assert found["properties"]["b"]["properties"] == {"c": {"enum": [1]}, "d": {"type": "boolean"}}
    assert sorted(asked) == ["https://h/dir/a.json", "https://h/dir/b.json"]
    assert raw == make_operation(parameters=[{"name": "a", "in": "query", "schema": schema}])


def test_a_document_that_cannot_be_loaded_is_named() -> None:
    raw = make_operation(parameters=[{"$ref": "gone.yaml"}])
    with pytest.raises(SpecError, match=r"'gone\.yaml' cannot be loaded: no such"):

        def load(address: str) -> Any:
            raise OSError("no such file")

        parse_one(raw, load_reference=load)
