"""RestRequest: the HTTP request of one call, built of its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from ...errors import AgentConfigError
from ...models.http.errors import HttpRequestError
from ...models.http.urls import origin_of
from .api_parameter import ApiParameter
from .media_types import body_kind, choose_media_type
from .name_guard import ArgumentError, NameGuard, check_shape, decode_names, fold_name
from .operation_parser import BODY, CONNECTION_HEADERS, takes_properties
from .param_styles import ParamStyle, to_text
from .parsed_operation import OperationEndpoint
from .read_only import READ_ONLY, refuse_read_only
from .request_body import BodyWriter, LoadFile
from .spec_record import dict_of, list_of

_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}")
_DOT = re.compile("%2[eE]")
_MISSING = object()
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LONGEST_URL = 65_536  # characters that the HTTP library takes


# A name, and its value; None for a name that stands alone.
QueryPair = tuple[str, str | None]


@dataclass(slots=True)
class RestRequest:
    """A request. Its `repr` shows neither values nor headers, for they may hold secrets.

    Attributes:
      method: in capitals.
      base_url: the URL without a query.
      query: names and values of the query, encoded.
      headers: the headers, cookies included.
      body: the body.
      secrets: values that no message may show.
      may_repeat: whether it may be sent twice if its method changes nothing.
    """

    method: str
    base_url: str
    query: list[QueryPair] = field(default_factory=list[QueryPair], repr=False)
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes = field(default=b"", repr=False)
    secrets: list[str] = field(default_factory=list[str], repr=False)
    may_repeat: bool = True

    @property
    def url(self) -> str:
        """The whole URL."""
        query = "&".join(name if text is None else f"{name}={text}" for name, text in self.query)
        return f"{self.base_url}?{query}" if query else self.base_url


class RequestBuilder:
    """Builds the requests of one operation.

    Args:
      endpoint: where the operation is.
      body: its request body object; None without one.
      parameters: what a call may give.
      load_file: loads an artifact that a body sends.
    """

    def __init__(
        self,
        endpoint: OperationEndpoint,
        body: Mapping[str, Any] | None,
        parameters: list[ApiParameter],
        load_file: LoadFile,
    ) -> None:
        self._endpoint = endpoint
        self._body = body or {}
        self._parameters = parameters
        self._load_file = load_file
        self._paths: dict[str, str] = {}
        self._cookies: list[tuple[str, str]] = []
        self._guards = {
            place: NameGuard(
                [
                    *(one.original_name for one in parameters if one.param_location == place),
                    *(self._fixed_names() if place == "query" else ()),
                ]
            )
            for place in ("query", "cookie", "path")
        }

    async def build(self, args: Mapping[str, Any]) -> RestRequest:
        """Return the request of a call.

        Args:
          args: values by the parameters' `py_name`; others are ignored.

        Raises:
          ArgumentError: a value is missing or cannot be written, such as NaN.
          AgentConfigError: the operation has no method or no server, or its path does not begin
            with a slash.
        """
        method = self._endpoint.method.upper()
        if not method:
            raise AgentConfigError("Operation method not found: give it in the endpoint.")
        request = RestRequest(method, "")
        body_given: dict[str, tuple[ApiParameter, Any]] = {}
        for parameter in self._parameters:
            value = args.get(str(parameter.py_name), _MISSING)
            if value is None or value is _MISSING:
                self._check_optional(parameter)
            if value is _MISSING:
                continue
            _check_numbers(parameter, value)
            if parameter.param_location == BODY:
                body_given[str(parameter.py_name)] = (parameter, value)
            elif value is not None and not _belongs_to_connection(parameter):
                self._add_parameter(request, parameter, value)
        request.base_url = self._write_url(request)
        self._check_origin(request)
        if self._cookies:
            cookies = "; ".join(f"{name}={text}" for name, text in self._cookies)
            set_header(request.headers, "Cookie", cookies)
        if len(request.url) > _LONGEST_URL:
            raise ArgumentError(
                f"The address is longer than {_LONGEST_URL:,} characters. Give shorter values."
            )
        await self._add_body(request, list(body_given.values()))
        for name, value in request.headers.items():
            check_header(name, value)
        return request

    def _check_optional(self, parameter: ApiParameter) -> None:
        """Refuse a call without a query parameter that it has to have.

        Headers and cookies may come from a header_provider, and paths are checked as a whole.

        Raises:
          ArgumentError: the parameter is required.
        """
        name = parameter.original_name
        is_query = parameter.required and parameter.param_location == "query"
        if is_query and fold_name(name) not in map(fold_name, self._fixed_names()):
            raise ArgumentError(f"The query parameter {name!r} is missing.")

    def _add_parameter(self, request: RestRequest, parameter: ApiParameter, value: Any) -> None:
        try:
            self._write_parameter(request, parameter, value)
        except UnicodeError as error:
            raise ArgumentError(
                f"The parameter {parameter.original_name!r} cannot be written: it holds half of a "
                "surrogate pair."
            ) from error

    def _write_parameter(self, request: RestRequest, parameter: ApiParameter, value: Any) -> None:
        location, name = parameter.param_location, parameter.original_name
        if location == "querystring":
            pairs = _write_query_string(parameter, value)
            self._guards["query"].check("", decode_names(pairs))
            request.query += pairs
            return
        if parameter.content_type is not None:
            value = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        else:
            check_shape(parameter, value)
        try:
            style = ParamStyle(
                name,
                location,
                parameter.style,
                parameter.explode,
                parameter.allow_reserved,
                parameter.inner_styles or (),
            )
        except (KeyError, ValueError) as error:
            raise AgentConfigError(f"The parameter {name!r} cannot be sent: {error}") from error
        if location == "query":
            found = style.write_pairs(value)
            self._guards["query"].check(name, decode_names(found))
            request.query += found
        elif location == "cookie":
            found = _write_cookies(style, value)
            self._guards["cookie"].check(name, decode_names(found))
            self._cookies += found
        elif location == "header":
            set_header(request.headers, name, style.write_text(value))
        else:
            if parameter.style == "matrix" and isinstance(value, dict):
                self._guards["path"].check(name, map(str, dict_of(value)))
            self._paths[name] = style.write_text(value)

    def _fixed_names(self) -> list[str]:
        """Return the names in the queries of the server's address and of the path."""
        places = self._endpoint.base_url, self._endpoint.path
        queries = [one.partition("#")[0].partition("?")[2] for one in places]
        return [pair.partition("=")[0] for query in queries for pair in query.split("&") if pair]

    def _write_url(self, request: RestRequest) -> str:
        """Return the URL without its query; a query in the address or the path joins the others."""

        def fill(found: re.Match[str]) -> str:
            text = self._paths.get(found[1], "")
            if not text:
                raise ArgumentError(f"The path parameter {found[1]!r} is missing or empty.")
            if {".", ".."} & {*_DOT.sub(".", text).split("/")}:
                # It would name another path than the operation's.
                raise ArgumentError(f"The path parameter {found[1]!r} cannot be {text!r}.")
            return text

        if self._endpoint.path[:1] not in ("", "/"):
            # It would continue the server's host, and a value in it would choose the host.
            raise AgentConfigError(
                f"The path {self._endpoint.path!r} does not begin with a slash. Write it with one."
            )
        path = _PATH_PARAMETER.sub(fill, self._endpoint.path)
        path, _, fixed = path.partition("#")[0].partition("?")
        base, _, base_query = self._endpoint.base_url.partition("#")[0].partition("?")
        fault = _find_fault(base)
        if fault:
            raise AgentConfigError(
                f"The server {self._endpoint.base_url!r} {fault}. Pass base_url= with the "
                "address of the API, such as 'https://api.example.com'."
            )
        named = {name for name, _ in request.query}
        for text in (base_query, fixed):
            for pair in filter(None, text.split("&")):
                name, mark, value = pair.partition("=")
                if name not in named:
                    request.query.append((name, value if mark else None))
        # Braces and the like may stand in a path of a document, but not in a URL.
        return base.rstrip("/") + quote(path, safe="/%:@!$&'()*+,;=~.-_")

    def _check_origin(self, request: RestRequest) -> None:
        """Refuse a request, and with it its credentials, to another server than the operation's.

        Raises:
          ArgumentError: scheme, host or port differ.
        """
        try:
            is_same = origin_of(request.base_url) == origin_of(self._endpoint.base_url)
        except HttpRequestError as error:
            raise ArgumentError(str(error)) from error
        if not is_same:
            raise ArgumentError("The request would go to another server than the operation's.")

    async def _add_body(self, request: RestRequest, given: list[tuple[ApiParameter, Any]]) -> None:
        content: Mapping[str, Any] = self._body.get("content") or {}
        media_type = choose_media_type(content)
        if media_type is None:
            return
        media: Mapping[str, Any] = content[media_type]
        value: Any
        if takes_properties(media.get("schema") or {}, media_type):
            others: dict[str, Any] = {}
            fields: dict[str, Any] = {}
            for parameter, one in given:
                if parameter.original_name:
                    fields[parameter.original_name] = one
                else:
                    others |= dict_of(one)
            value = others | fields
            is_json = body_kind(media_type) == "json"
            if not value and not is_json and not self._body.get("required"):
                return
        elif not given:
            return
        else:
            value = given[0][1]
        is_form = body_kind(media_type) in ("form", "multipart")
        refuse_read_only(list_of(media.get(READ_ONLY)), value, is_form=is_form)
        try:
            writer = BodyWriter(media_type, media, self._load_file)
            request.body, request.headers["Content-Type"] = await writer.write(value)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"The body cannot be written: {error}") from error


def _find_fault(url: str) -> str:
    """Return why an address cannot be that of a server; empty if it can."""
    try:
        return "" if urlsplit(url).netloc else "names no host"
    except ValueError:
        return "is no valid address"


def _check_numbers(parameter: ApiParameter, value: Any) -> None:
    """Refuse NaN and infinite numbers, which JSON and most servers do not know.

    Raises:
      ArgumentError: the value holds one.
    """
    if isinstance(value, dict | list | float):
        try:
            json.dumps(value, allow_nan=False)
        except ValueError as error:
            raise ArgumentError(
                f"The parameter {parameter.original_name!r} holds a number that is not finite."
            ) from error


def _belongs_to_connection(parameter: ApiParameter) -> bool:
    is_header = parameter.param_location == "header"
    return is_header and parameter.original_name.lower() in CONNECTION_HEADERS


def set_header(headers: dict[str, str], name: str, value: str) -> None:
    """Set a header in place of one whose name differs in case only."""
    for known in [one for one in headers if one.lower() == name.lower()]:
        del headers[known]
    headers[name] = value


def add_headers(headers: dict[str, str], more: dict[str, str], kept: Iterable[str]) -> None:
    """Add headers to those of a request, in place of those of the same name; cookies are joined.

    Args:
      headers: the request's headers; changed in place.
      more: the headers to add.
      kept: names of headers that are not replaced: they carry credentials.
    """
    fixed = {name.lower() for name in kept}
    for name, value in more.items():
        if name.lower() in fixed:
            continue
        if name.lower() == "cookie":
            old = next((one for known, one in headers.items() if known.lower() == "cookie"), "")
            value = _join_cookies(old, value)
        set_header(headers, name, value)


def _join_cookies(own: str, more: str) -> str:
    """Return cookies with those of another header whose names are new."""
    found = [one.strip() for one in own.split(";") if one.strip()]
    names = {one.partition("=")[0] for one in found}
    others = [one.strip() for one in more.split(";") if one.strip()]
    return "; ".join([*found, *(one for one in others if one.partition("=")[0] not in names)])


def drop_replaced(
    parameters: list[ApiParameter], credentials: list[ApiParameter]
) -> list[ApiParameter]:
    """Return the parameters without those that a credential takes the place of, and credentials.

    A document may declare a header for a key both as a parameter and as a security scheme.
    """
    taken = {(one.param_location, fold_name(one.original_name)) for one in credentials}
    kept = [
        one for one in parameters if (one.param_location, fold_name(one.original_name)) not in taken
    ]
    return [*kept, *credentials]


def check_header(name: str, value: str) -> None:
    """Refuse a header that would break the request.

    OpenAPI leaves the encoding of headers to the caller, and RFC 9110 §5.5 limits values to ASCII,
    so that text of other scripts has no form that all services read.

    Raises:
      ArgumentError: the header is the connection's own, its name is not one, or the value holds a
        line break, another control character, a space at an end, or a character that is not ASCII.
    """
    if name.lower() in CONNECTION_HEADERS:
        raise ArgumentError(f"The header {name!r} belongs to the connection and cannot be set.")
    if not _HEADER_NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} is no name of a header.")
    if any((ord(char) < 32 and char != "\t") or ord(char) == 127 for char in value):
        raise ArgumentError(f"The header {name!r} has a line break or a control character.")
    if value != value.strip(" \t"):
        raise ArgumentError(f"The header {name!r} begins or ends with a space.")
    if not (name + value).isascii():
        raise ArgumentError(
            f"The header {name!r} can hold ASCII characters only. Write the value in the way that "
            "the API expects, such as percent-encoded."
        )


def _write_cookies(style: ParamStyle, value: Any) -> list[tuple[str, str]]:
    """Return the cookies of a value.

    Raises:
      ArgumentError: a cookie cannot hold it.
    """
    try:
        return style.write_pairs(value)
    except UnicodeError:
        raise
    except ValueError as error:
        raise ArgumentError(str(error)) from error


def _write_query_string(parameter: ApiParameter, value: Any) -> list[QueryPair]:
    """Return a query that one parameter is the whole of (OpenAPI 3.2 §4.12.2)."""
    if isinstance(value, dict) and "json" not in (parameter.content_type or ""):
        fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [
            pair
            for name, one in fields.items()
            if one is not None
            for pair in ParamStyle(name, "query").write_pairs(one)
        ]
    return [(quote(to_text(value), safe=""), None)]
