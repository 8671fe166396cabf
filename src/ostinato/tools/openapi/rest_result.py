"""Results of REST tools: JSON, text or files, filtered, bounded and offloaded to artifacts."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from typing import Any, cast

from pydantic_core import from_json

from ... import types
from ..._secret_values import redact_values
from ..call_doubt import UnknownOutcome
from ..result_limits import is_too_deep
from ..stored_result import save_result
from .rest_client import RestResponse
from .spec_record import dict_of

_PREVIEW = 2_000  # characters of a response that is an artifact
_NOT_STARTED = (501, 503, 505)  # errors of a server that has not handled the request
_IN_DOUBT = (
    ". The server failed after it got the request, which may have been carried out. Check before "
    "you repeat it"
)
_MAX_ERROR = 8_000  # characters of an error response that the model reads
_TEXT_TYPES = ("application/json", "application/xml", "application/javascript")
_TEXT_SUFFIXES = ("+json", "+xml", "json-seq", "/x-ndjson", "/yaml", "/x-yaml", "/csv")
_EXPONENT = re.compile(r"[eE]\+?\d{3}")
_NOTHING = object()
_UNSELECTED = (
    "The response is not JSON, or too long, so that the fields that the program chose cannot be "
    "selected; it is not shown. The call succeeded; do not repeat it"
)
_ERROR_MEMBERS = frozenset(
    "type title status detail error error_description message code reason".split()
)
_EXTENSIONS = {"application/json": "json", "text/csv": "csv", "text/plain": "txt"}


class ResultShaper:
    """Makes of a response what the model gets.

    Args:
      tool_name: the tool's name, for messages and the names of artifacts.
      fields: JSON pointers of what is kept of a result; all of it if there are none. A name that
        meets a list is looked up in each of its items.
      max_chars: length of a result as JSON; a longer one is cut or becomes an artifact.
      is_repeatable: whether a request may be sent twice; of another one, an error of the server
        says that it may have been carried out.
    """

    def __init__(
        self,
        tool_name: str,
        fields: Iterable[str],
        max_chars: int,
        *,
        is_repeatable: bool = True,
    ) -> None:
        self._tool_name = tool_name
        self._pointers = [read_pointer(one) for one in fields]
        self._max_chars = max_chars
        self._is_repeatable = is_repeatable

    async def shape(
        self, response: RestResponse, secrets: list[str], tool_context: Any
    ) -> dict[str, Any] | Any:
        """Return the result of a response of any status.

        Args:
          response: the response.
          secrets: values of the request that no message may show.
          tool_context: saves artifacts, if there is one and its run has an artifact service.
        """
        if response.status >= 300:
            return self._describe_error(response, secrets)
        if response.body and not _is_text(response):
            return await self._save_bytes(response, tool_context)
        text = _decode(response.body)
        try:
            value = None if response.is_cut else _read_json(text)
        except ValueError:
            value = None
            is_json = False
        else:
            is_json = not response.is_cut
        if self._pointers and not is_json and text:
            return {"error": error_text(self._tool_name, _UNSELECTED)}  # it would show all fields
        if not is_json:
            return await self._bound({"text": text}, text, response, tool_context)
        if self._pointers:
            value = select_fields(value, self._pointers)
            text = json.dumps(value, ensure_ascii=False)
        return await self._bound(value, text, response, tool_context)

    def _describe_error(self, response: RestResponse, secrets: list[str]) -> dict[str, Any]:
        text = _decode(response.body)
        if self._pointers and text:
            text = self._select_of_error(text, is_cut=response.is_cut)
        details = redact_values(text, secrets)
        if len(details) > _MAX_ERROR:
            details = f"{details[:_MAX_ERROR]}... ({len(details):,} characters)"
        status = response.status
        has_doubt = status >= 500 and status not in _NOT_STARTED and not self._is_repeatable
        told = f"Status Code: {status}, {details}{_IN_DOUBT if has_doubt else ''}"
        error = error_text(self._tool_name, told)
        return UnknownOutcome(error=error) if has_doubt else {"error": error}

    def _select_of_error(self, text: str, *, is_cut: bool) -> str:
        """Return what is shown of a refusal beside its status where fields are selected.

        Errors rarely have the fields of a result; the members by which services say what is wrong
        (RFC 9457 §3.1 and common habit) are shown if they are single values.
        """
        try:
            value = None if is_cut else _read_json(text)
        except ValueError:
            value = None
        if not isinstance(value, dict | list):
            return "the response is not JSON, or too long, so that it is not shown."
        selected = select_fields(value, self._pointers)
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            told = _pick_said(members)
            if said := _pick_said(dict_of(members.get("error"))):
                told["error"] = said
            selected = told | selected
        return json.dumps(selected, ensure_ascii=False)

    async def _bound(self, value: Any, text: str, response: RestResponse, tool_context: Any) -> Any:
        """Return a result, or its beginning if it is too long."""
        if len(text) <= self._max_chars and not response.is_cut:
            return value
        short: dict[str, Any] = {
            "truncated": True,
            "total_chars": len(text),
            "message": "The response is too long; this is its beginning. Ask for less of it.",
        }
        name = self._artifact_name(response, tool_context)
        kind = response.media_type or "text/plain"
        artifact = None if name is None else await save_result(text, name, kind, tool_context)
        if artifact is None:
            return {**short, "preview": text[: self._max_chars]}
        kept = "its first part is" if response.is_cut else "it is"
        told = f"The response is too long; {kept} the artifact {name!r}, and this is its beginning."
        preview = text[: min(_PREVIEW, self._max_chars)]
        artifact["artifact"] = artifact.pop("name")
        return short | {"message": told, **artifact, "preview": preview}

    async def _save_bytes(self, response: RestResponse, tool_context: Any) -> dict[str, Any]:
        kind = response.media_type or "application/octet-stream"
        about: dict[str, Any] = {"mime_type": kind, "bytes": len(response.body)}
        name = self._artifact_name(response, tool_context)
        if name is None or response.is_cut:
            return about | {"message": "The response is not text, and is not kept."}
        part = types.Part(inline_data=types.Blob(data=response.body, mime_type=kind))
        version = await tool_context.save_artifact(name, part)
        return about | {
            "message": f"The response is not text; it is the artifact {name!r}.",
            "artifact": name,
            "version": version,
        }

    def _artifact_name(self, response: RestResponse, tool_context: Any) -> str | None:
        """Return the name for a response as an artifact, or None if none can be saved."""
        if tool_context is None or not getattr(tool_context, "function_call_id", None):
            return None
        if tool_context.get_invocation_context().artifact_service is None:
            return None
        call = re.sub(r"[^A-Za-z0-9_-]", "_", tool_context.function_call_id)
        kind = response.media_type
        last = _EXTENSIONS.get(kind) or re.sub(r"[^a-z0-9]", "", kind.rpartition("/")[2]) or "bin"
        return f"{self._tool_name}_{call}.{last}"


def _pick_said(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an error that say what is wrong and are single values."""
    return {
        name: one
        for name, one in members.items()
        if name in _ERROR_MEMBERS and not isinstance(one, dict | list)
    }


def _decode(body: bytes) -> str:
    """Return a body as text; by its byte order mark, else as UTF-8."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    return body.decode("utf-8-sig", "replace")


def _read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
      ValueError: it is not JSON, or no event could hold it: numbers that are not finite, halves of
        surrogate pairs, more than 180 levels.
    """
    value = from_json(text, allow_inf_nan=False)
    if is_too_deep(b"[%b]" % text.encode()):  # what is no object is put into one
        raise ValueError("It is nested too deeply.")
    if _EXPONENT.search(text):
        json.dumps(value, allow_nan=False)  # such as 1e999, which is read as infinite
    return value


def error_text(tool_name: str, details: str) -> str:
    """Return the error of a call for the model, in google-adk's words."""
    return (
        f"Tool {tool_name} execution failed. Analyze this execution error and your inputs. Retry "
        "with adjustments if applicable. But make sure don't retry more than 3 times. Execution "
        f"Error: {details}"
    )


def read_pointer(pointer: str) -> list[str]:
    """Return the tokens of a JSON pointer (RFC 6901).

    Raises:
      ValueError: it does not begin with a slash.
    """
    if not pointer.startswith("/"):
        raise ValueError(f"The field {pointer!r} is not a JSON pointer: it begins with a slash.")
    return [one.replace("~1", "/").replace("~0", "~") for one in pointer.split("/")[1:]]


def select_fields(value: Any, pointers: list[list[str]]) -> Any:
    """Return the parts of a value that pointers name, in the places where they are.

    A pointer that matches nothing adds nothing; an empty object is left if none matches.
    """
    found = _select(value, pointers)
    return {} if found is _NOTHING else found


def _select(value: Any, pointers: list[list[str]]) -> Any:
    if any(not pointer for pointer in pointers):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        chosen = [(item, pointers) for item in items]
        if all(one[0].isdigit() for one in pointers):
            by_index = [(item, _below(pointers, str(at))) for at, item in enumerate(items)]
            chosen = [(item, inner) for item, inner in by_index if inner]
        parts = [_select(item, inner) for item, inner in chosen]
        return [part for part in parts if part is not _NOTHING]
    if not isinstance(value, dict):
        return _NOTHING
    known = cast("dict[str, Any]", value)
    names = dict.fromkeys(one[0] for one in pointers if one[0] in known)
    fields = {name: _select(known[name], _below(pointers, name)) for name in names}
    return {name: part for name, part in fields.items() if part is not _NOTHING}


def _below(pointers: list[list[str]], token: str) -> list[list[str]]:
    """Return what is left of the pointers that begin with a token."""
    return [one[1:] for one in pointers if one[0] == token]


def _is_text(response: RestResponse) -> bool:
    kind = response.media_type
    if not kind:
        return b"\0" not in response.body[:1_000]
    return kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_SUFFIXES)
