"""OpenApiSpecParser: the operations of an OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from pydantic import ValidationError

from ..._log import get_logger
from ...auth.auth_schemes import AuthScheme
from .api_parameter import to_snake_case
from .auth_helpers import dict_to_auth_scheme
from .media_types import body_kind, choose_media_type
from .operation_parser import MAX_NAME, OperationParser
from .param_styles import ParamStyle
from .parsed_operation import OperationEndpoint, ParsedOperation
from .read_only import READ_ONLY, find_read_only
from .schema_reader import SchemaReader, TooLargeInline
from .spec_document import LoadReference, SpecDocument, SpecError
from .spec_record import Operation, dict_of, list_of
from .swagger import INNER_STYLES

_log = get_logger(__name__)

METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "trace", "query")
# The runtime gives an agent tools of these names.
_RESERVED: tuple[str, ...] = ("transfer_to_agent", "set_model_response", "finish_task")
_VARIABLE = re.compile(r"\{([^{}]+)\}")
_KEPT = ("summary", "description", "tags", "deprecated", "externalDocs", "security")


class OpenApiSpecParser:
    """Reads the operations of a document (OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0).

    Args:
      preserve_property_names: keep names as the document spells them, not in snake_case.
      base_url: where the document is. Relative servers are resolved against it, absolute ones
        replaced by it.
      server_variables: values for the variables of server addresses, in place of their defaults.
      strict: whether an operation that cannot be read is an error; else it is left out with a
        warning that names it.
      load_reference: permits references to other documents: takes an address and returns the
        document. They are refused without it.

    Attributes:
      scheme_names: the names of the security schemes of the document that was parsed last.
    """

    def __init__(
        self,
        *,
        preserve_property_names: bool = False,
        base_url: str | None = None,
        server_variables: Mapping[str, str] | None = None,
        strict: bool = True,
        load_reference: LoadReference | None = None,
    ) -> None:
        self._preserve_property_names = preserve_property_names
        self._base_url = base_url
        self._server_variables = dict(server_variables or {})
        self._strict = strict
        self._load_reference = load_reference
        self.scheme_names: set[str] = set()

    def parse(self, openapi_spec_dict: Mapping[str, Any]) -> list[ParsedOperation]:
        """Return the operations of a document, in its order, under names of their own.

        Args:
          openapi_spec_dict: the document; it is not changed.

        Raises:
          SpecError: the document or, with `strict`, an operation cannot be read.
        """
        document = SpecDocument(openapi_spec_dict, load_reference=self._load_reference)
        components = dict_of(document.root.get("components"))
        self.scheme_names = set(dict_of(components.get("securitySchemes")))
        recursive: dict[str, bool] = {}
        taken = dict.fromkeys(_RESERVED, 1)
        parsed: list[ParsedOperation] = []
        for path, method, item, raw in self._find_operations(document):
            try:
                try:
                    schemas = SchemaReader(document, recursive)
                    found = self._parse_operation(document, schemas, path, method, item, raw)
                except TooLargeInline:
                    schemas = SchemaReader(document, recursive, is_compact=True)
                    found = self._parse_operation(document, schemas, path, method, item, raw)
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                self._report_broken(document, path, method, error)
                continue
            found.name = _unique_name(found.name, taken)
            parsed.append(found)
        if not parsed:
            _log.warning("The document %r gives no tools: no operation was read.", document.title)
        return parsed

    def _find_operations(
        self, document: SpecDocument
    ) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
        """Yield path, method, path item and operation of each operation."""
        paths: Any = document.root.get("paths") or {}
        if not isinstance(paths, dict):
            raise SpecError(f"Its paths are not an object but {type(paths).__name__}.")
        for path, given in cast("dict[Any, Any]", paths).items():
            if given is None or str(path).startswith("x-"):
                continue
            if not isinstance(path, str):
                error = SpecError("its path is not a text.")
                self._report_broken(document, repr(path), "every method", error)
                continue
            try:
                if not path.startswith("/"):
                    raise SpecError("its path does not begin with a slash.")
                item = _resolve_path_item(document, given)
            except SpecError as error:
                self._report_broken(document, path, "every method", error)
                continue
            operations = {name: item[name] for name in METHODS if item.get(name) is not None}
            operations |= dict_of(item.get("additionalOperations"))
            for method, operation in operations.items():
                yield path, method, item, operation

    def _parse_operation(
        self,
        document: SpecDocument,
        schemas: SchemaReader,
        path: str,
        method: str,
        item: dict[str, Any],
        raw: Any,
    ) -> ParsedOperation:
        reader = _OperationReader(document, schemas)
        compiled = reader.compile_operation(raw, item, path)
        given_id = compiled.get("operationId")
        if not isinstance(given_id, str) or not to_snake_case(given_id):
            compiled["operationId"] = to_snake_case(f"{path}_{method}") or "operation"
        security = reader.read_security(raw)
        operation = Operation(compiled)
        parser = OperationParser(operation, preserve_property_names=self._preserve_property_names)
        first = next(iter(security[0].values())) if security and all(security) else None
        return ParsedOperation(
            name=to_snake_case(parser.get_function_name()),  # a cut may end in an underscore
            description=operation.description or operation.summary or "",
            endpoint=OperationEndpoint(
                base_url=self._find_server(document, item, raw), path=path, method=method
            ),
            operation=operation,
            parameters=parser.get_parameters(),
            return_value=parser.get_return_value(),
            auth_scheme=first,
            additional_context={
                "document": document.title,
                **({"auth_schemes": security} if security else {}),
            },
        )

    def _find_server(self, document: SpecDocument, item: dict[str, Any], raw: Any) -> str:
        """Return the address of an operation's server: its own, its path's or the document's."""
        for holder in (raw, item, document.root):
            servers = holder.get("servers")
            if isinstance(servers, list) and servers:
                url = self._read_server(document.resolve(cast("list[Any]", servers)[0]))
                _check_server(url)
                return url
        return self._base_url or ""

    def _read_server(self, server: dict[str, Any]) -> str:
        variables: dict[str, Any] = server.get("variables") or {}

        def fill(found: re.Match[str]) -> str:
            name = found[1]
            variable: dict[str, Any] = variables.get(name) or {}
            value = self._server_variables.get(name, variable.get("default"))
            if value is None:
                raise SpecError(
                    f"The server {server.get('url')!r} has a variable {name!r} without a default: "
                    "give its value in server_variables."
                )
            choices = variable.get("enum")
            if choices and str(value) not in [str(one) for one in choices]:
                raise SpecError(
                    f"The variable {name!r} of the server {server.get('url')!r} is {value!r}, but "
                    f"must be one of {', '.join(map(str, choices))}."
                )
            return str(value)

        url = _VARIABLE.sub(fill, str(server.get("url") or ""))
        if self._base_url is None:
            return url
        is_absolute = bool(urlsplit(url).netloc) and not url.startswith("//")
        return self._base_url if is_absolute else urljoin(self._base_url, url)

    def _report_broken(
        self, document: SpecDocument, path: str, method: str, error: Exception
    ) -> None:
        """Raise or log that an operation cannot be read."""
        reason = _describe(error)
        place = f"{method.upper()} {path} of the document {document.title!r}"
        if self._strict:
            raise SpecError(
                f"{place} cannot be read: {reason} Correct it, or read the document with "
                "strict off, which leaves it out."
            ) from error
        _log.warning("%s is left out, as it cannot be read: %s", place, reason)


class _OperationReader:
    """Reads one operation: resolves its references and converts its schemas.

    Args:
      document: the document.
      schemas: reads schemas, and keeps the definitions that they share.
    """

    def __init__(self, document: SpecDocument, schemas: SchemaReader) -> None:
        self.document = document
        self._schemas = schemas

    def compile_operation(self, raw: Any, item: dict[str, Any], path: str) -> dict[str, Any]:
        """Return an operation that needs the document no more.

        Args:
          raw: the operation.
          item: the path item that it stands in.
          path: the path of that item; a parameter in it that is declared nowhere is a text.
        """
        if not isinstance(raw, dict):
            raise SpecError("It is not an object.")
        known = cast("dict[str, Any]", raw)
        kept = {name: known[name] for name in (*_KEPT, "operationId") if name in known}
        compiled = {name: value for name, value in kept.items() if value is not None}
        compiled["parameters"] = self._read_parameters(
            known.get("parameters") or [], item.get("parameters") or [], path
        )
        if known.get("requestBody"):
            compiled["requestBody"] = self._read_body(self.document.resolve(known["requestBody"]))
        compiled["responses"] = self._read_responses(known.get("responses") or {})
        if self._schemas.definitions:
            compiled["$defs"] = self._schemas.definitions
        return compiled

    def read_security(self, raw: dict[str, Any]) -> list[dict[str, AuthScheme]]:
        """Return the alternatives of an operation's security; [] if it needs none.

        Each is a dict of the schemes that are required together, by name; an empty one says that
        authentication is optional. Certificates of clients (`mutualTLS`) belong to the connection
        and are left out.

        Raises:
          SpecError: the requirements have another form; they would be sent without a credential.
        """
        given: Any = raw.get("security")
        if given is None:
            given = self.document.root.get("security")
        requirements = list_of(given)
        if given is not None and (
            not isinstance(given, list) or not all(isinstance(one, dict) for one in requirements)
        ):
            raise SpecError(
                "Its 'security' is not a list of objects. Write the names of schemes with their "
                "scopes, such as [{'key': []}]."
            )
        known = dict_of(dict_of(self.document.root.get("components")).get("securitySchemes"))
        found: list[dict[str, AuthScheme]] = []
        for requirement in requirements:
            schemes: dict[str, AuthScheme] = {}
            for name in dict_of(requirement):
                if name not in known:
                    _log.warning(
                        "The document %r requires the security scheme %r, which it does not have; "
                        "requests are sent without it.",
                        self.document.title,
                        name,
                    )
                    continue
                scheme = self.document.resolve(known[name])
                if scheme.get("type") != "mutualTLS":
                    schemes[name] = dict_to_auth_scheme(scheme)
            found.append(schemes)
        return found if any(found) else []

    def _read_parameters(
        self, own: list[Any], shared: list[Any], path: str
    ) -> list[dict[str, Any]]:
        """Return the parameters of an operation; its own replace those of its path."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for number, one in enumerate(map(self.document.resolve, [*own, *shared])):
            name, place = one.get("name"), one.get("in")
            if not isinstance(name, str) or not isinstance(place, str):
                raise SpecError("It has a parameter without 'name' or 'in'.")
            if number < len(own) or (name, place) not in found:
                found[name, place] = one
        parameters = list(found.values())
        declared = {one["name"] for one in parameters if one["in"] == "path"}
        parameters += [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in dict.fromkeys(_VARIABLE.findall(path))
            if name not in declared
        ]
        return [self._read_parameter(one) for one in parameters]

    def _read_parameter(self, parameter: dict[str, Any]) -> dict[str, Any]:
        read = {name: value for name, value in parameter.items() if name not in ("example",)}
        content = parameter.get("content")
        if isinstance(content, dict) and content:
            kind, media = next(iter(cast("dict[str, Any]", content).items()))
            schema = self._schemas.read_open(self.document.resolve(media).get("schema", True))
            read["content"] = {kind: {"schema": schema}}
        else:
            if parameter["in"] != "querystring":
                _check_style(parameter["name"], parameter["in"], parameter)
            if "schema" in parameter:
                read["schema"] = self._schemas.read_open(parameter["schema"])
        read.pop("examples", None)
        return read

    def _read_body(self, body: dict[str, Any]) -> dict[str, Any]:
        content = dict_of(body.get("content"))
        chosen = choose_media_type(content)
        read = {name: body[name] for name in ("description", "required") if body.get(name)}
        if chosen is None:
            return read | {"content": {}}
        media = self.document.resolve(content[chosen])
        found: dict[str, Any] = {"schema": self._schemas.read_open(media.get("schema", True))}
        if isinstance(media.get("encoding"), dict):
            found["encoding"] = media["encoding"]
            if body_kind(chosen) == "form":
                for name, encoding in dict_of(media["encoding"]).items():
                    _check_style(name, "query", dict_of(encoding))
        if self._schemas.has_read_only:
            found[READ_ONLY] = find_read_only(self.document, media.get("schema"))
        return read | {"content": {chosen: found}}

    def _read_responses(self, responses: dict[str, Any]) -> dict[str, Any]:
        """Return the responses with the outline of the schema that a success has."""
        read: dict[str, Any] = {}
        for code, given in responses.items():
            response = self.document.resolve(given)
            read[str(code)] = {"description": response.get("description") or ""}
            if not str(code).startswith("2") or not isinstance(response.get("content"), dict):
                continue
            read[str(code)]["content"] = {
                kind: {"schema": self._outline(self.document.resolve(media).get("schema"))}
                for kind, media in response["content"].items()
            }
        return read

    def _outline(self, schema: Any, *, depth: int = 2) -> dict[str, Any]:
        """Return a schema's type and description, and those of its items and properties."""
        if not isinstance(schema, dict):
            return {}
        known = self.document.resolve(schema)
        kept = {name: known[name] for name in ("type", "description", "format") if name in known}
        if depth and "items" in known:
            kept["items"] = self._outline(known["items"], depth=depth - 1)
        if depth and isinstance(known.get("properties"), dict):
            kept["properties"] = {
                name: self._outline(one, depth=depth - 1)
                for name, one in known["properties"].items()
            }
        return kept


def _check_style(name: str, location: str, given: dict[str, Any]) -> None:
    """Refuse a style, or one of lists in a list, that cannot be written.

    Raises:
      SpecError: the location has no such style.
    """
    try:
        inner = list_of(given.get(INNER_STYLES))
        ParamStyle(name, location, given.get("style"), inner_styles=inner)
    except ValueError as error:
        raise SpecError(str(error)) from error


def _check_server(url: str) -> None:
    """Refuse the address of a server that is no URL.

    Raises:
      SpecError: it is not one, such as `http://[::1`.
    """
    try:
        _ = urlsplit(url).port
    except ValueError as error:
        raise SpecError(f"The server {url!r} is no valid address: {error}.") from error


def _resolve_path_item(document: SpecDocument, given: Any) -> dict[str, Any]:
    """Return a path item; fields beside a reference replace those of its target."""
    target = document.resolve(given)
    beside = {name: one for name, one in cast("dict[str, Any]", given).items() if name != "$ref"}
    return target | beside


def _unique_name(name: str, taken: dict[str, int]) -> str:
    """Return a name, with a number behind it if it is taken, and take it.

    Args:
      name: the wanted name.
      taken: the taken names, each with the last number that it got.
    """
    unique, number = name, taken.get(name, 0)
    while unique in taken:
        number += 1
        end = f"_{number}"
        unique = f"{name[: MAX_NAME - len(end)]}{end}"
    taken[name] = max(number, 1)
    taken.setdefault(unique, 1)
    return unique


def _describe(error: Exception) -> str:
    """Return what is wrong, as a sentence."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(one) for one in first["loc"])
        return f"{place}: {first['msg']}."
    if isinstance(error, SpecError):
        return str(error)
    return f"it does not have the form that OpenAPI gives it ({type(error).__name__}: {error})."
