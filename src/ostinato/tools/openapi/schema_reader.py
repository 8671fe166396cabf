"""Schemas of OpenAPI documents as JSON schemas for models: references resolved, allOf merged."""

from __future__ import annotations

import re
from typing import Any, cast

from .read_only import is_read_only
from .schema_merge import merge_schemas
from .spec_document import SpecDocument, SpecError

_TYPES = frozenset("array boolean integer null number object string".split())
# What a model has no use for.
_DROPPED = frozenset(
    "xml externalDocs discriminator nullable collectionFormat "
    "$schema $id $dynamicRef $dynamicAnchor".split()
)
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas")
_SCHEMA_LISTS = ("oneOf", "anyOf", "prefixItems")
_SCHEMAS = (
    "items not if then else additionalProperties propertyNames contains unevaluatedItems "
    "unevaluatedProperties"
).split()
_MAX_INLINE = 400  # schemas of one operation; beyond it, named ones are definitions
_MAX_SCHEMAS = 50_000


class TooLargeInline(Exception):
    """An operation's schemas grow too large where named ones stand wherever they are used."""


class SchemaReader:
    """Reads the schemas of one operation (OpenAPI 3.0 §4.7.24, 3.1 §4.8.24).

    A named schema stands wherever it is used; one that holds itself is a definition, which
    references name.

    Args:
      document: the document.
      recursive: which named schemas hold themselves, by reference; shared by all readers of the
        document, and filled as they need it.
      is_compact: whether all named schemas are definitions.

    Attributes:
      definitions: the definitions that the schemas refer to, by name.
      has_read_only: whether a schema that was read has a read-only property.
    """

    def __init__(
        self, document: SpecDocument, recursive: dict[str, bool], *, is_compact: bool = False
    ) -> None:
        self._document = document
        self._is_compact = is_compact
        self._recursive = recursive
        self._names: dict[str, str] = {}
        self._count = 0
        self.definitions: dict[str, Any] = {}
        self.has_read_only = False

    def read(self, schema: Any) -> dict[str, Any]:
        """Return a schema as the JSON schema of what is sent; read-only properties are left out.

        Raises:
          SpecError: a reference leads nowhere, or the schema is too large.
          TooLargeInline: it is too large, but a compact reader may read it.
        """
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            raise SpecError(f"A schema is expected where {str(schema)[:80]!r} stands.")
        self._count += 1
        if not self._is_compact and self._count > _MAX_INLINE:
            raise TooLargeInline
        if self._count > _MAX_SCHEMAS:
            raise SpecError(f"Its schemas have more than {_MAX_SCHEMAS:,} parts.")
        known = cast("dict[str, Any]", schema)
        if isinstance(known.get("$ref"), str):
            return self._read_reference(known)
        return self._read_fields(known)

    def read_open(self, schema: Any) -> dict[str, Any]:
        """Return a schema as `read` does; a definition in place of a reference to one."""
        return self._open_reference(self.read(schema))

    def _read_reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        reference: str = schema["$ref"]
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        if self._document.is_3_0:
            beside = {}
        if self._is_compact or self._is_recursive(reference):
            found = {"$ref": f"#/$defs/{self._define(reference)}"}
        else:
            found = self.read(self._document.find_target(reference))
        if not beside:
            return found
        own = self._read_fields(beside)
        if "$ref" in found:
            return found | own
        return merge_schemas([found, own]) or {"allOf": [found, own]}

    def _define(self, reference: str) -> str:
        """Return the name of a definition; read it if it is new."""
        name = self._names.get(reference)
        if name is None:
            last = reference.rpartition("/")[2].replace("~1", "_").replace("~0", "_")
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", last) or "schema"
            name, number = plain, 1
            while name in self.definitions:
                number += 1
                name = f"{plain}_{number}"
            self._names[reference] = name
            self._document.resolve({"$ref": reference})  # refuses one that is only itself
            self.definitions[name] = {}  # taken, while it is read
            self.definitions[name] = self.read(self._document.find_target(reference))
        return name

    def _read_fields(self, schema: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "$dynamicRef" in schema:  # what it means is not read here
            self.has_read_only = True
        for name, value in schema.items():
            if name == "type":
                kind = _read_type(value)
                found |= {} if kind is None else {"type": kind}
            elif name in _SCHEMA_MAPS and isinstance(value, dict):
                found[name] = self._read_map(cast("dict[str, Any]", value))
            elif name in _SCHEMA_LISTS and isinstance(value, list):
                found[name] = [self.read(one) for one in cast("list[Any]", value)]
            elif name in _SCHEMAS and isinstance(value, dict | bool):
                found[name] = value if isinstance(value, bool) else self.read(value)
            elif name not in _DROPPED and name not in ("allOf", "$defs", "definitions"):
                if not name.startswith("x-"):
                    found[name] = value
        self._drop_read_only(schema, found)
        _turn_bounds(found)
        if schema.get("nullable") is True:
            _add_null(found)
        parts: Any = schema.get("allOf")
        return self._merge_parts(cast("list[Any]", parts), found) if parts else found

    def _merge_parts(self, parts: list[Any], found: dict[str, Any]) -> dict[str, Any]:
        """Return a schema merged with the parts of its `allOf`."""
        read = [self.read(one) for one in parts]
        opened = [self._open_reference(one) for one in read]
        merged = merge_schemas([*opened, found]) or found | {"allOf": read}
        if "required" in merged:
            gone = {name for one in parts for name in self._read_only_names(one, set())}
            gone -= (merged.get("properties") or {}).keys()
            kept = [name for name in merged["required"] if name not in gone]
            merged = {name: one for name, one in merged.items() if name != "required"}
            merged |= {"required": kept} if kept else {}
        return merged

    def _read_only_names(self, schema: Any, seen: set[int]) -> set[str]:
        """Return the names of a schema's read-only properties, those of its parts included."""
        if not isinstance(schema, dict):
            return set()
        known = self._document.resolve(schema)
        if id(known) in seen:
            return set()
        seen.add(id(known))
        properties: dict[str, Any] = known.get("properties") or {}
        names = {name for name, one in properties.items() if self._is_read_only(one)}
        for one in known.get("allOf") or ():
            names |= self._read_only_names(one, seen)
        return names

    def _open_reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a definition in place of a reference to it, if it has been read to its end."""
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        target = self.definitions.get(name) if len(schema) == 1 else None
        return target or schema

    def _read_map(self, schemas: dict[str, Any]) -> dict[str, Any]:
        return {
            name: self.read(one) for name, one in schemas.items() if not self._is_read_only(one)
        }

    def _is_read_only(self, schema: Any) -> bool:
        found = is_read_only(self._document, schema)
        self.has_read_only = self.has_read_only or found
        return found

    def _drop_read_only(self, schema: dict[str, Any], found: dict[str, Any]) -> None:
        required, given = found.get("required"), schema.get("properties")
        if not isinstance(required, list):
            found.pop("required", None)  # OpenAPI 2 documents have a boolean here
        elif isinstance(given, dict):
            gone = cast("dict[str, Any]", given).keys() - found["properties"].keys()
            kept = [name for name in cast("list[Any]", required) if name not in gone]
            found["required"] = kept
            if not kept:
                del found["required"]

    def _is_recursive(self, reference: str) -> bool:
        """Return whether a named schema holds itself, directly or through others."""
        known = self._recursive.get(reference)
        if known is None:
            seen: set[str] = set()
            waiting = [reference]
            known = False
            while waiting and not known:
                for one in find_references(self._document.find_target(waiting.pop())):
                    if one == reference:
                        known = True
                    elif one not in seen:
                        seen.add(one)
                        waiting.append(one)
            self._recursive[reference] = known
        return known


def find_references(node: Any) -> set[str]:
    """Return the references that stand in a part of a document."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            known = cast("dict[str, Any]", one)
            reference = known.get("$ref")
            if isinstance(reference, str):
                found.add(reference)
            waiting += known.values()
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
    return found


def _read_type(value: Any) -> Any:
    """Return the known types of a schema, in lower case; None if there are none."""
    if isinstance(value, str):
        return value.lower() if value.lower() in _TYPES else None
    if not isinstance(value, list):
        return None
    known = [str(one).lower() for one in cast("list[Any]", value)]
    return list(dict.fromkeys(one for one in known if one in _TYPES)) or None


def _add_null(found: dict[str, Any]) -> None:
    """Permit null in a schema, as OpenAPI 3.0's `nullable` does."""
    kind = found.get("type")
    if isinstance(kind, str) and kind != "null":
        found["type"] = [kind, "null"]
        if isinstance(found.get("enum"), list) and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]


def _turn_bounds(found: dict[str, Any]) -> None:
    """Give the bounds of OpenAPI 3.0 the form of JSON Schema."""
    for bound, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(found.get(strict), bool):
            if found.pop(strict) and bound in found:
                found[strict] = found.pop(bound)
