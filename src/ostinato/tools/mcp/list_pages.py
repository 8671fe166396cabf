"""Pages of a server's lists, read item by item: one that breaks the protocol is left out.

The SDK refuses a whole page for one item, and with it everything that the server has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from ..._log import get_logger
from ..._optional import need
from .connection_params import EXTRA

_log = get_logger(__name__)

_LONGEST_SHOWN = 300  # characters of the server's text in a log
_OLDEST_KNOWN = "2025-11-25"  # what the SDK assumes before the protocol is negotiated


class _List(NamedTuple):
    """A list: the method that reads it, the SDK's result, and what an item is called."""

    method: str
    result: str
    item: str


_LISTS = {
    "tools": _List("tools/list", "ListToolsResult", "tool"),
    "resources": _List("resources/list", "ListResourcesResult", "resource"),
    "resourceTemplates": _List(
        "resources/templates/list", "ListResourceTemplatesResult", "resource template"
    ),
    "prompts": _List("prompts/list", "ListPromptsResult", "prompt"),
}


class ListPages:
    """Takes items that the SDK would refuse out of the pages of one connection.

    Args:
      label: the server's name for the log.
      version: returns the negotiated version of the protocol, or None before that.
      redact: returns what the server said without the secrets that it was sent.
    """

    def __init__(
        self, label: str, version: Callable[[], str | None], redact: Callable[[str], str]
    ) -> None:
        self._label = label
        self._version = version
        self._redact = redact

    def clean(self, message: Any) -> None:
        """Leave invalid items out of a message if it is a page of a list; each is logged."""
        result: Any = getattr(getattr(message, "message", None), "result", None)
        if not isinstance(result, dict):
            return
        page = cast("dict[str, Any]", result)
        for field, kind in _LISTS.items():
            items: Any = page.get(field)
            if isinstance(items, list) and self._find_fault(page, kind):
                self._clean_field(page, field, kind)

    def _clean_field(self, page: dict[str, Any], field: str, kind: _List) -> None:
        if self._find_fault({**page, field: []}, kind):
            return  # the page itself is wrong; the SDK says so
        kept: list[Any] = []
        for number, item in enumerate(cast("list[Any]", page[field]), 1):
            fault = self._find_fault({**page, field: [item]}, kind)
            if fault:
                name = _name_item(item) or f"number {number}"
                _log.warning(
                    "MCP server %s: its %s %s is left out: %s.",
                    self._label,
                    kind.item,
                    self._redact(name)[:_LONGEST_SHOWN],
                    self._redact(fault)[:_LONGEST_SHOWN],
                )
            else:
                kept.append(item)
        page[field] = kept

    def _find_fault(self, page: dict[str, Any], kind: _List) -> str:
        """Return why the SDK refuses a page; empty if it takes it."""
        methods = need("mcp_types.methods", extra=EXTRA)
        try:
            methods.validate_server_result(kind.method, self._version() or _OLDEST_KNOWN, page)
        except ValidationError as error:
            return _describe_fault(error)
        except KeyError:
            pass  # the version has no such list, and the SDK checks the result alone
        try:
            getattr(need("mcp.types", extra=EXTRA), kind.result).model_validate(page, by_name=False)
        except ValidationError as error:
            return _describe_fault(error)
        return ""


def _describe_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(step) for step in first["loc"][2:])  # below the item
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _name_item(item: Any) -> str:
    name: Any = cast("dict[str, Any]", item).get("name") if isinstance(item, dict) else None
    return repr(name) if isinstance(name, str) else ""
