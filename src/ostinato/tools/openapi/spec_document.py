"""OpenAPI documents: reading of text, references, and what a version calls itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import unquote, urldefrag, urljoin

from ..._optional import need
from ...errors import AgentConfigError
from .spec_record import dict_of, list_of
from .swagger import convert_swagger

_MAX_CHARS = 64 * 2**20  # GitHub's document has 12 million
_MAX_DEPTH = 256  # of objects within each other; a deeper document would exhaust the stack
_MAX_NODES = 5_000_000
_MAX_REFERENCES = 64  # in a chain of references to references
_EXTERNAL = "x-external-documents"
_TEXT_TAG = "tag:yaml.org,2002:str"
_WHOLE = r"-?(?:0|[1-9][0-9]*)"
# What plain YAML is not text, with the characters that it begins with.
_PLAIN_VALUES = [
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), [*"tTfF"]),
    ("int", re.compile(rf"^{_WHOLE}$"), [*"-0123456789"]),
    ("float", re.compile(rf"^{_WHOLE}(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$"), [*"-0123456789"]),
    ("merge", re.compile(r"^<<$"), ["<"]),
]

LoadReference = Callable[[str], Mapping[str, Any]]


class SpecError(AgentConfigError):
    """An OpenAPI document, or an operation of it, cannot be used; the message says where."""


class SpecDocument:
    """An OpenAPI document of any version, with its references (OpenAPI 3.1 §4.8.1, §4.8.23).

    Swagger 2.0 is converted. References to other documents are refused, because their
    author would choose what this machine requests; `load_reference` permits them.

    Args:
      raw: the document; it is not changed.
      load_reference: takes the address of another document and returns that document.

    Raises:
      SpecError: it is not an OpenAPI document, or of a version that is not known.
    """

    def __init__(
        self, raw: Mapping[str, Any], *, load_reference: LoadReference | None = None
    ) -> None:
        root = dict(raw)
        check_size(root)
        self.root: dict[str, Any] = root
        self.title = str(dict_of(root.get("info")).get("title") or "without a title")
        if load_reference is not None:
            self.root = bundle_documents(root, load_reference)
        version = str(root.get("openapi") or root.get("swagger") or "")
        if version.startswith("2."):
            self.root = convert_swagger(self.root)
            version = "3.0.4"
        elif not version.startswith("3."):
            raise SpecError(
                f"The document {self.title!r} is of version {version or 'unknown'!r}: OpenAPI 3.0, "
                "3.1, 3.2 and Swagger 2.0 can be read. Its field 'openapi' or 'swagger' names it."
            )
        self.is_3_0 = version.startswith("3.0")

    def find_target(self, reference: str) -> Any:
        """Return what a reference points to.

        Args:
          reference: a JSON pointer as a fragment, such as `#/paths/~1pets/get`.

        Raises:
          SpecError: it leads nowhere, or to another document.
        """
        if not reference.startswith("#"):
            raise SpecError(
                f"The reference {reference!r} leads to another document. It is not loaded, as the "
                "document would choose what is requested: pass load_reference= to permit it."
            )
        if reference == "#":
            return self.root
        if not reference.startswith("#/"):
            raise SpecError(f"The reference {reference!r} is not a JSON pointer.")
        return find_pointer(self.root, unquote(reference[1:]), reference)

    def resolve(self, node: Any) -> dict[str, Any]:
        """Return an object, or what it refers to, through any number of references.

        A summary and a description beside a reference replace those of the target.

        Raises:
          SpecError: a reference leads nowhere or in a circle, or the target is not an object.
        """
        beside: dict[str, Any] = {}
        for _ in range(_MAX_REFERENCES):
            if not isinstance(node, dict):
                raise SpecError(f"An object is expected where {str(node)[:80]!r} stands.")
            known = cast("dict[str, Any]", node)
            reference = known.get("$ref")
            if not isinstance(reference, str):
                return known | beside if beside else known
            for name in ("summary", "description"):
                if name in known and name not in beside:
                    beside[name] = known[name]
            node = self.find_target(reference)
        raise SpecError(f"The reference {node.get('$ref')!r} leads in a circle.")


def read_text(text: str, kind: str) -> dict[str, Any]:
    """Return the document that a text holds.

    Args:
      text: the document.
      kind: `json` or `yaml`.

    Raises:
      SpecError: the text is too long, not of its kind, or not an object.
      MissingExtraError: it is YAML, and the extra `yaml` is not installed.
    """
    if len(text) > _MAX_CHARS:
        raise SpecError(f"The document has more than {_MAX_CHARS:,} characters.")
    if kind not in ("json", "yaml"):
        raise ValueError(f"Unsupported spec type: {kind}. Use 'json' or 'yaml'.")
    try:
        found: Any = json.loads(text) if kind == "json" else _read_yaml(text)
    except RecursionError:
        raise SpecError("The document is nested too deeply.") from None
    except ValueError as error:
        raise SpecError(f"The document is not valid {kind.upper()}: {error}") from error
    if not isinstance(found, dict):
        raise SpecError(f"The document is not an object but {type(found).__name__}.")
    return cast("dict[str, Any]", found)


def find_pointer(root: Any, pointer: str, shown: str) -> Any:
    """Return what a JSON pointer finds in a document (RFC 6901).

    Raises:
      SpecError: it finds nothing; the message holds `shown`.
    """
    node = root
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = cast("dict[str, Any]", node)[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(cast("Any", node)):
            node = cast("list[Any]", node)[int(key)]
        else:
            raise SpecError(f"The reference {shown!r} leads nowhere: there is no {key!r}.")
    return node


def check_size(root: Any) -> None:
    """Refuse a document that is too deep or too large to walk.

    In YAML one object may stand in many places, so that a short text is an endless document; each
    place counts.

    Raises:
      SpecError: it is too deep, too large, or one of its objects holds itself.
    """
    level, depth, count = [root], 0, 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            raise SpecError(f"The document is nested more than {_MAX_DEPTH} levels deep.")
        inner: list[Any] = []
        for node in level:
            values = dict_of(node).values() if isinstance(node, dict) else list_of(node)
            inner += [one for one in values if isinstance(one, dict | list) and one]
            if count + len(inner) > _MAX_NODES:
                raise SpecError(f"The document has more than {_MAX_NODES:,} objects and lists.")
        count += len(inner)
        level = inner


def bundle_documents(root: dict[str, Any], load_reference: LoadReference) -> dict[str, Any]:
    """Return a document that contains all documents that it refers to; references are rewritten.

    Args:
      root: the document; it is not changed.
      load_reference: returns the document at an address. Addresses are as the documents give
        them, resolved against the address of the document that they stand in.

    Raises:
      SpecError: a document cannot be loaded.
    """
    places: dict[str, str] = {"": ""}
    waiting: list[str] = []

    def place_document(address: str) -> str:
        if address not in places:
            places[address] = f"/{_EXTERNAL}/{len(places) - 1}"
            waiting.append(address)
        return places[address]

    def rewrite(node: Any, base: str) -> Any:
        if isinstance(node, list):
            return [rewrite(one, base) for one in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        copied = {key: rewrite(one, base) for key, one in cast("dict[str, Any]", node).items()}
        reference = copied.get("$ref")
        if isinstance(reference, str):
            address, fragment = urldefrag(reference)
            target = urljoin(base, address) if address else base
            copied["$ref"] = f"#{place_document(target)}{fragment}"
        return copied

    bundle = rewrite(root, "")
    documents: dict[str, Any] = {}
    while waiting:
        address = waiting.pop()
        try:
            loaded = dict(load_reference(address))
        except Exception as error:  # boundary: the developer's function, which may do anything
            raise SpecError(f"The document {address!r} cannot be loaded: {error}") from error
        check_size(loaded)
        documents[places[address].rpartition("/")[2]] = rewrite(loaded, address)
    return bundle | {_EXTERNAL: documents} if documents else bundle


def _read_yaml(text: str) -> Any:
    """Return a YAML document as JSON values, by the rules of YAML 1.2 that OpenAPI asks for.

    `on` and `no`, dates, times, `010` and `1_000` are texts, and so are all keys.
    """
    yaml = need("yaml", extra="yaml")
    base = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    read_mapping = base.construct_mapping

    def read_text_keys(loader: Any, node: Any, deep: bool = False) -> Any:
        loader.flatten_mapping(node)  # merges what `<<` names, before its key becomes text
        node.value = [
            (yaml.ScalarNode(_TEXT_TAG, key.value) if key.id == "scalar" else key, value)
            for key, value in node.value
        ]
        return read_mapping(loader, node, deep)

    members: dict[str, Any] = {"yaml_implicit_resolvers": {}, "construct_mapping": read_text_keys}
    loader: Any = type("Loader", (base,), members)
    for kind, pattern, first in _PLAIN_VALUES:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", pattern, first)
    try:
        loaded = yaml.load(text, loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    check_size(loaded)
    return _to_text_keys(loaded)


def _to_text_keys(node: Any) -> Any:
    if isinstance(node, list):
        return [_to_text_keys(one) for one in cast("list[Any]", node)]
    if isinstance(node, dict):
        known = cast("dict[Any, Any]", node)
        return {_to_text(key): _to_text_keys(one) for key, one in known.items()}
    return node


def _to_text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
