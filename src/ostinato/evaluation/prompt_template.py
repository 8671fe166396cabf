"""Templates of prompts with `{{ name }}` placeholders; loops and filters need jinja2."""

from __future__ import annotations

import re
from typing import Any

from .._optional import need
from ..errors import MissingExtraError

_PLACEHOLDER = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)(\(\))?\s*-?\}\}")
_BRACES = (("{{", "}}"), ("{%", "%}"), ("{#", "#}"))


def find_placeholders(template: str) -> set[str]:
    """Return the names that a template uses.

    Args:
      template: text with `{{ name }}` placeholders.

    Raises:
      ValueError: it uses more of Jinja's syntax, and is not a valid Jinja template.
      MissingExtraError: it uses more of Jinja's syntax, and jinja2 is not installed.
    """
    if _is_simple(template):
        return {match[1].split(".")[0] for match in _PLACEHOLDER.finditer(template)}
    jinja = _load_jinja()
    try:
        tree = jinja.Environment(autoescape=False).parse(template)
    except jinja.TemplateSyntaxError as error:
        raise ValueError(f"The template is not valid: {error}.") from error
    return set(need("jinja2.meta").find_undeclared_variables(tree))


def fill_template(template: str, values: dict[str, Any]) -> str:
    """Return a template with its placeholders replaced.

    Args:
      template: text with `{{ name }}` or `{{ name.attribute }}` placeholders.
      values: by name.

    Raises:
      ValueError: a name is unknown.
      MissingExtraError: it uses more of Jinja's syntax, and jinja2 is not installed.
    """
    if _is_simple(template):
        return _PLACEHOLDER.sub(lambda match: str(_look_up(match, values)), template)
    _load_jinja()
    environment = need("jinja2.sandbox").SandboxedEnvironment(autoescape=False)

    def render_string(text: str) -> str:
        return fill_template(text, values)

    environment.filters["render_string_filter"] = render_string
    return environment.from_string(template).render(values)


def _is_simple(template: str) -> bool:
    """Return whether a template has no braces of Jinja's but placeholders."""
    rest = _PLACEHOLDER.sub(" ", template)
    return not any(end in rest.partition(start)[2] for start, end in _BRACES)


def _look_up(match: re.Match[str], values: dict[str, Any]) -> Any:
    first, *rest = match[1].split(".")
    if first not in values:
        raise ValueError(
            f"The template uses {{{{ {first} }}}}; known are: {', '.join(sorted(values))}."
        )
    value = values[first]
    for name in rest:
        if name.startswith("_") or not hasattr(value, name):
            raise ValueError(f"The template uses {{{{ {match[1]} }}}}, which does not exist.")
        value = getattr(value, name)
    return value() if match[2] else value


def _load_jinja() -> Any:
    try:
        return need("jinja2")
    except MissingExtraError as error:
        raise MissingExtraError(
            "The template uses loops, conditions or filters. They need the package jinja2: pip "
            "install jinja2. Placeholders such as {{ conversation_plan }} work without it."
        ) from error
