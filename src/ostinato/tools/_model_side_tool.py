"""What the tools that Gemini's own service runs share: which models take them, and how they are
added to a request. The model's service runs them, so none of them is ever called here.
"""

from __future__ import annotations

import re
from typing import Any

from .. import types
from ..models.llm_request import LlmRequest

# The model's name behind a path of Vertex AI, of an Apigee proxy, or of the Gemini API.
_PATH = re.compile(
    r"(?:projects/[^/]+/locations/[^/]+/publishers/[^/]+/models/|apigee/(?:[^/]+/){0,2}|models/)"
    r"([^/]+)"
)
# A version, or an alias such as gemini-flash-latest, which has none and is always a newer one.
_GEMINI = re.compile(r"gemini-(?:(?P<version>\d+)(?:\.\d+)?(?:-|$)|(?P<latest>.*-latest$)|)")
_FIRST = re.compile(r"gemini-1\.\d+")


def add_model_side_tool(
    llm_request: LlmRequest,
    tool: types.Tool,
    *,
    label: str,
    in_first: str = "alone",
    oldest: int = 1,
    instead_in_first: types.Tool | None = None,
) -> None:
    """Add a tool to a request, if its model takes it.

    Args:
      llm_request: the request.
      tool: what to add.
      label: the tool's name, for errors.
      in_first: what Gemini 1.x does: "alone" takes it without other tools, "never" not at all.
      oldest: first version of Gemini that takes it; other than 1, names without a version do not.
      instead_in_first: what to add for Gemini 1.x.

    Raises:
      ValueError: the model is not a Gemini, or one that does not take the tool as asked.
    """
    model = llm_request.model or ""
    path = _PATH.fullmatch(model)
    name = path[1] if path else model
    present: list[Any] = list(llm_request.config.tools or [])
    if _FIRST.match(name):
        if in_first == "never":
            raise ValueError(
                f"{label} tool cannot be used in Gemini 1.x, and the request is for {model}. "
                "Use a newer model."
            )
        if present:
            raise ValueError(
                f"{label} tool cannot be used with other tools in Gemini 1.x, and the request for "
                f"{model} has {len(present)}. Use a newer model, or an agent with this tool alone."
            )
        tool = instead_in_first or tool
    elif not _is_taken(name, oldest):
        raise ValueError(
            f"{label} tool is not supported for model {llm_request.model}: it needs Gemini "
            f"{oldest} or later. Set the agent's model to one, or remove the tool."
        )
    llm_request.config.tools = [*present, tool]


def _is_taken(name: str, oldest: int) -> bool:
    found = _GEMINI.match(name)
    if found is None:
        return False
    if oldest == 1 or found["latest"]:
        return True
    return found["version"] is not None and int(found["version"]) >= oldest
