"""Injection of session state into instruction templates (Spec 2 §3.4, FEATURES row 91).

`ostinato.utils.instructions_utils` is the public face; the instructions processor calls it at each
step.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..errors import TemplateError
from ..sessions.session import tombstones_of
from ..sessions.state import SCOPED_PREFIXES
from .readonly import ReadonlyContext, invocation_of

_BRACES = re.compile(r"\{\{([^{}]*)\}\}|\{([^{}]*)\}")
_ARTIFACT = "artifact."

# A segment is literal text, or a variable: (name, may be missing, the text as it stood).
Segment = str | tuple[str, bool, str]


@lru_cache(maxsize=2048)
def compile_template(template: str) -> tuple[Segment, ...]:
    """Split a template into literal text and variables; `{{x}}` becomes the text `{x}`."""
    segments: list[Segment] = []
    end = 0
    for match in _BRACES.finditer(template):
        segments.append(template[end : match.start()])
        end = match.end()
        if match[1] is not None:
            segments.append("{" + match[1] + "}")
            continue
        name = match[2].strip()
        optional = name.endswith("?")
        name = name.removesuffix("?")
        if name.startswith(_ARTIFACT) or _is_valid_state_name(name):
            segments.append((name, optional, match[0]))
        else:
            segments.append(match[0])
    segments.append(template[end:])
    return tuple(s for s in segments if s != "")


def _is_valid_state_name(name: str) -> bool:
    """Return whether `name` is an identifier, with or without a scope prefix."""
    for prefix in SCOPED_PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :].isidentifier()
    return name.isidentifier()


async def inject_session_state(template: str, readonly_context: ReadonlyContext) -> str:
    """Fill `{key}`, `{key?}` and `{artifact.name}` in from the session.

    Args:
      template: the template; `{{` and `}}` around a name escape the braces.
      readonly_context: the run whose state and artifacts are read.

    Returns:
      The text; removed keys and missing optional ones become empty, invalid names stay unchanged.

    Raises:
      TemplateError: a key or artifact that is not optional does not exist.
    """
    if "{" not in template:
        return template
    filled = [
        segment if isinstance(segment, str) else await _resolve_variable(segment, readonly_context)
        for segment in compile_template(template)
    ]
    return "".join(filled)


async def _resolve_variable(variable: tuple[str, bool, str], ctx: ReadonlyContext) -> str:
    name, optional, _ = variable
    invocation = invocation_of(ctx)
    session = invocation.session
    if name.startswith(_ARTIFACT):
        filename = name[len(_ARTIFACT) :]
        service = invocation.artifact_service
        if service is None:
            raise ValueError("Artifact service is not initialized.")
        part = await service.load_artifact(
            app_name=session.app_name,
            user_id=session.user_id,
            session_id=session.id,
            filename=filename,
        )
        if part is not None:
            # A service of the user's may return the text itself.
            text = getattr(part, "text", None)
            return text if text is not None else str(part)
        missing = f"Artifact {filename} not found."
    else:
        state = session.state
        if name in state:
            value = state[name]
            return "" if value is None else str(value)
        if name in tombstones_of(session):
            return ""
        missing = f"Context variable not found: `{name}`."
    if optional:
        return ""
    agent = getattr(getattr(invocation, "agent", None), "name", "unknown")
    raise TemplateError(
        f"{missing} It stands in the instruction of agent {agent!r}. Set it before the agent runs, "
        f"write {{{name}?}} to make it optional, or {{{{{name}}}}} for the braces themselves."
    )
