"""Signature: the parameters of a tool's function, read once, and the arguments for them."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types as python_types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Union, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.fields import FieldInfo

from ...context.live_request_queue import LiveRequestQueue
from ...context.readonly import ReadonlyContext
from ...errors import AgentConfigError
from ..model_mistake import ModelMistake, describe_mismatch, missing_arguments, wrong_arguments

EMPTY: Any = inspect.Parameter.empty

CONTEXT_PARAMETER = "tool_context"
INPUT_PARAMETER = "input_stream"
_CONTEXT_NAMES = frozenset(("ToolContext", "CallbackContext", "Context", "ReadonlyContext"))
_EXACT = frozenset((str, int, float, bool, dict, list))


class ArgumentReading:
    """What a policy has read of the arguments of a call, so that the tool gets the same values.

    A default factory or a validator may give another value at each reading.

    Args:
      tool: the tool that is called.
    """

    __slots__ = ("_found", "tool")

    def __init__(self, tool: object) -> None:
        self.tool = tool
        self._found: dict[str, tuple[Any, Any, ValidationError | None]] = {}

    def convert(self, name: str, given: Any, read: Callable[[Any], Any]) -> Any:
        """Return what a value was read as; read it if it was not, or if it has changed since.

        Args:
          name: the parameter; empty for all arguments.
          given: what the model gave.
          read: reads it.

        Raises:
          ValidationError: the value does not fit.
        """
        known = self._found.get(name)
        if known is None or [known[0]] != [given]:  # NaN is itself, within a list
            before = copy_arguments(given)
            try:
                known = (before, read(given), None)
            except ValidationError as error:
                known = (before, None, error)
            self._found[name] = known
        if known[2] is not None:
            raise known[2]
        return known[1]


_reading: ContextVar[ArgumentReading | None] = ContextVar("reading", default=None)


def start_reading(tool: object) -> None:
    """Keep what is read of the arguments of a tool's call from here to its end."""
    _reading.set(ArgumentReading(tool))


def find_reading(tool: object) -> ArgumentReading | None:
    """Return what was read for the call of a tool that runs here; None without a policy."""
    reading = _reading.get()
    return reading if reading is not None and reading.tool is tool else None


def read_model(
    schema: type[BaseModel], args: Mapping[str, Any], reading: ArgumentReading | None
) -> BaseModel:
    """Return the record that a model makes of arguments, once however often it is asked for.

    Args:
      schema: the model.
      args: the arguments.
      reading: keeps the record; None to read anew.

    Raises:
      ValidationError: they do not fit.
    """
    if reading is None:
        return schema.model_validate(args)
    return reading.convert("", args, schema.model_validate)


def read_record(
    schema: type[BaseModel] | None, args: Mapping[str, Any], reading: ArgumentReading | None
) -> BaseModel | None:
    """Return what `read_model` returns; None if there is no model, or the arguments do not fit."""
    try:
        return None if schema is None else read_model(schema, args, reading)
    except ValidationError:
        return None


def copy_arguments(value: Any) -> Any:
    """Return a copy of the lists and dicts of arguments; a callback may have put others there."""
    if type(value) is dict:
        fields = cast("dict[Any, Any]", value)
        return {key: copy_arguments(one) for key, one in fields.items()}
    if type(value) is list:
        return [copy_arguments(one) for one in cast("list[Any]", value)]
    return value


class Parameter:
    """One parameter that the model fills in.

    Args:
      name: its name.
      annotation: its type, pydantic's constraints included; Any where it has none.
      default: its default; EMPTY where it is mandatory.
      inject_default: the default has to be passed, because the function's own is a pydantic Field.
      is_model: google-adk makes pydantic models of its values.
    """

    __slots__ = (
        *("_adapter", "annotation", "default", "exact", "inject_default", "is_model", "name"),
        "tool",
    )

    def __init__(
        self,
        tool: str,
        name: str,
        annotation: Any,
        default: Any,
        inject_default: bool,
        is_model: bool = False,
    ) -> None:
        self.tool = tool
        self.name = name
        self.annotation = annotation
        self.default = default
        self.inject_default = inject_default
        self.exact = _exact_type(annotation)
        self.is_model = is_model
        self._adapter: TypeAdapter[Any] | None = None

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """The validator of the type, built at the first need.

        Raises:
          AgentConfigError: pydantic knows no JSON form of the type.
        """
        if self._adapter is None:
            try:
                self._adapter = TypeAdapter(self.annotation)
            except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation) as error:
                raise AgentConfigError(
                    f"Tool {self.tool!r}: parameter {self.name!r} has the type "
                    f"{type_name(self.annotation)}, which a model cannot give as JSON. Use a "
                    "pydantic model, a dataclass or a plain type, or bind the value beforehand."
                ) from error
            except PydanticUserError as error:
                if error.code != "typed-dict-version":
                    raise
                raise _typed_dict_error(self.tool, type_name(self.annotation)) from error
        return self._adapter

    def convert_value(self, value: Any) -> Any:
        """Return `value` as the declared type; raise pydantic's ValidationError if it does not fit.

        An integer for a float stays an integer.
        """
        if self.annotation is Any or (value is None and self.default is None):
            return value
        return _with_integers(value, self.adapter.validate_python(value))


def refuse_typed_dicts(func: Callable[..., Any], tool: str) -> None:
    """Refuse parameters with a `typing.TypedDict`, which pydantic cannot read before Python 3.12.

    Raises:
      AgentConfigError: there is one.
    """
    if sys.version_info >= (3, 12):
        return
    inner = inspect.unwrap(target_of(func))
    names: dict[str, Any] = getattr(inner, "__globals__", {})
    annotations: dict[str, Any] = getattr(inner, "__annotations__", {})
    left = [kind for name, kind in annotations.items() if name != "return"]
    for text in [kind for kind in left if isinstance(kind, str)]:
        left += [names[word] for word in re.findall(r"\w+", text) if word in names]
    while left:
        found = left.pop()
        if isinstance(found, str):
            continue
        if type(found).__module__ == "typing" and typing.is_typeddict(found):
            raise _typed_dict_error(tool, found.__name__)
        left += typing.get_args(found)


def _typed_dict_error(tool: str, name: str) -> AgentConfigError:
    return AgentConfigError(
        f"Tool {tool!r}: {name} is a typing.TypedDict, which cannot be read before Python 3.12. "
        "Import TypedDict from typing_extensions."
    )


class Signature:
    """A function as a tool: its parameters for the model, and those for the context and for what
    the user sends in a live run.

    Args:
      func: the function.
      tool: the tool's name, for messages.

    Raises:
      AgentConfigError: a parameter that cannot be passed by name, or a type that does not exist.
    """

    __slots__ = ("context_name", "input_name", "parameters", "tool")

    def __init__(self, func: Callable[..., Any], tool: str) -> None:
        self.tool = tool
        self.context_name: str | None = None
        self.input_name: str | None = None
        self.parameters: list[Parameter] = []
        bound: dict[str, Any] = getattr(func, "keywords", {})
        namespace = getattr(inspect.unwrap(target_of(func)), "__globals__", {})
        for parameter in _parameters_of(func, tool):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.name not in bound:
                self._add_parameter(parameter, namespace)

    def _add_parameter(self, parameter: inspect.Parameter, namespace: dict[str, Any]) -> None:
        name = parameter.name
        if name == CONTEXT_PARAMETER or is_context_name(parameter.annotation):
            self.context_name = name
            return
        annotation = self._resolve_type(name, parameter.annotation, namespace)
        if is_context(annotation):
            self.context_name = name
            return
        if annotation is LiveRequestQueue:
            self.input_name = name
            return
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise AgentConfigError(
                f"Tool {self.tool!r}: parameter {name!r} is positional-only, but a model gives "
                "arguments by name. Wrap the function in one whose parameters have names."
            )
        if name == INPUT_PARAMETER and parameter.annotation is EMPTY:
            # google-adk hides it by its name; without a default it needs a live run.
            self.input_name = name if parameter.default is EMPTY else None
            return
        default, inject = parameter.default, False
        is_model = _becomes_model(parameter.annotation, annotation)
        if isinstance(default, FieldInfo):
            annotation = Annotated[annotation, default]
            inject = not default.is_required()
            default = default.get_default(call_default_factory=True) if inject else EMPTY
        self.parameters.append(Parameter(self.tool, name, annotation, default, inject, is_model))

    def _resolve_type(self, name: str, annotation: Any, namespace: dict[str, Any]) -> Any:
        """Return an annotation as a type, where it is a string or holds one."""
        if annotation is EMPTY:
            return Any
        holder = python_types.SimpleNamespace(__annotations__={name: annotation})
        try:
            return typing.get_type_hints(holder, namespace, include_extras=True)[name]
        except (NameError, AttributeError, SyntaxError) as error:
            raise AgentConfigError(
                f"Tool {self.tool!r}: the type {annotation!r} of parameter {name!r} cannot be "
                f"resolved ({error}). Import it at module level, outside of TYPE_CHECKING blocks."
            ) from error

    def bind_arguments(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        models_only: bool = False,
        reading: ArgumentReading | None = None,
    ) -> dict[str, Any] | ModelMistake:
        """Return the function's keyword arguments (FEATURES rows 141 to 143).

        Unknown arguments are dropped, and values of another type converted where pydantic's lax
        rules allow it.

        Args:
          tool: what the model called, for the answer.
          args: what the model gave.
          models_only: convert only the values of pydantic models, as google-adk does.
          reading: what was read before; the function gets that.

        Returns:
          The arguments, without the context; or the mistake to report to the model.
        """
        values: dict[str, Any] = {}
        missing: list[str] = []
        complaints: list[str] = []
        for parameter in self.parameters:
            name = parameter.name
            if name in args:
                value = args[name]
                if type(value) is not parameter.exact and (parameter.is_model or not models_only):
                    try:
                        if reading is None:
                            value = parameter.convert_value(value)
                        else:
                            value = reading.convert(name, value, parameter.convert_value)
                    except ValidationError as error:
                        expected = type_name(parameter.annotation)
                        complaints.append(describe_mismatch(name, expected, value, error))
                values[name] = value
            elif parameter.default is EMPTY:
                missing.append(name)
            elif parameter.inject_default:
                values[name] = parameter.default
        if missing:
            return missing_arguments(tool, missing)
        if complaints:
            return wrong_arguments(tool, complaints)
        return values

    def read_converted(
        self,
        args: Mapping[str, Any],
        names: Collection[str],
        *,
        models_only: bool = False,
        reading: ArgumentReading | None = None,
    ) -> dict[str, Any]:
        """Return the values of some parameters that are not as the model gave them.

        Args:
          args: what the model gave.
          names: the parameters that matter.
          models_only: as for `bind_arguments`.
          reading: keeps what is read.

        Returns:
          Converted values and defaults, by name; none of those that do not fit.
        """
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            name = parameter.name
            if name not in names:
                continue
            if name not in args:
                if parameter.default is not EMPTY:
                    values[name] = parameter.default
            elif type(args[name]) is not parameter.exact and (
                parameter.is_model or not models_only
            ):
                with suppress(ValidationError):
                    values[name] = (
                        parameter.convert_value(args[name])
                        if reading is None
                        else reading.convert(name, args[name], parameter.convert_value)
                    )
        return values


def _parameters_of(func: Callable[..., Any], tool: str) -> Iterable[inspect.Parameter]:
    try:
        return inspect.signature(func).parameters.values()
    except ValueError as error:
        raise AgentConfigError(
            f"Tool {tool!r}: {func!r} does not tell its parameters, as some built-in functions "
            "do not. Wrap it in a function of your own."
        ) from error


def target_of(func: Callable[..., Any]) -> Any:
    """Return the plain function behind a partial, a bound method or an object with `__call__`."""
    while isinstance(func, functools.partial):
        func = func.func
    if inspect.isroutine(func) or inspect.isclass(func):
        return inspect.unwrap(func) if inspect.isclass(func) else getattr(func, "__func__", func)
    return type(func).__call__


def type_name(annotation: Any) -> str:
    """Return a type as its reader would write it, such as `int` or `list[Place] | None`."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Literal:
        return " | ".join(repr(value) for value in arguments)
    if origin in (Union, python_types.UnionType):
        return " | ".join(type_name(option) for option in arguments)
    if annotation is python_types.NoneType:
        return "None"
    if not isinstance(annotation, type) and origin is None:
        return str(annotation).removeprefix("typing.")
    name = (origin or annotation).__name__
    inner = ", ".join("..." if x is ... else type_name(x) for x in arguments)
    return f"{name}[{inner}]" if inner else name


def _with_integers(given: Any, converted: Any) -> Any:
    """Return a converted value whose floats are integers again where the model gave integers.

    A float parameter takes 200 as 200, as google-adk passes it: texts made of it say "200".
    """
    kind, kind_now = given.__class__, converted.__class__
    if given != converted:
        return converted  # a validator changed the value
    if kind is int and kind_now is float:
        return given
    if kind is list and kind_now is list:
        return [_with_integers(given[at], item) for at, item in enumerate(converted)]
    if kind is dict and kind_now is dict:
        return {key: _with_integers(given[key], item) for key, item in converted.items()}
    return converted


def _exact_type(annotation: Any) -> Any:
    """Return the class whose own instances need no conversion; else EMPTY, which has none."""
    if annotation in ((dict[str, Any]), list[Any]):
        return typing.get_origin(annotation)
    return annotation if isinstance(annotation, type) and annotation in _EXACT else EMPTY


def _becomes_model(written: Any, resolved: Any) -> bool:
    """Return whether google-adk makes pydantic models of a parameter's values.

    It does for a model, a list of one, Optional of both, and a Union of models. It reads Optional
    and Union from the annotation as written: `M | None` (before Python 3.14), Optional["M"]
    and annotations in quotes stay as the model gave them, and a tool may rely on the dict.

    Args:
      written: the annotation.
      resolved: the type that it means.
    """
    kind = resolved
    if typing.get_origin(written) is Union:
        options = [one for one in typing.get_args(written) if one is not python_types.NoneType]
        if len(options) > 1:
            return all(map(_is_model, options))
        kind = options[0]
    elif typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) is list:
        return _is_model(typing.get_args(kind)[0])
    return _is_model(kind)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def is_context_name(annotation: Any) -> bool:
    """Return whether a string that need not resolve, under TYPE_CHECKING, means a context."""
    if not isinstance(annotation, str):
        return False
    names = {part.strip().partition("[")[0].rpartition(".")[2] for part in annotation.split("|")}
    return not names.isdisjoint(_CONTEXT_NAMES) and names <= {*_CONTEXT_NAMES, "None"}


def is_context(annotation: Any) -> bool:
    """Return whether a type is a context: `Context`, `Context[Deps]`, `Context | None`."""
    holds_others = typing.get_origin(annotation) in (Union, python_types.UnionType, Annotated)
    options = typing.get_args(annotation) if holds_others else (annotation,)
    classes = (typing.get_origin(option) or option for option in options)
    return any(isinstance(one, type) and issubclass(one, ReadonlyContext) for one in classes)


def find_context_parameter(func: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that is annotated as a context, or None.

    Unlike in a tool, a parameter that is only named `tool_context` does not count.
    """
    annotations: dict[str, Any] = getattr(func, "__annotations__", {})
    namespace = getattr(inspect.unwrap(func), "__globals__", {})
    for name, annotation in annotations.items():
        if name != "return" and _takes_context(name, annotation, namespace):
            return name
    return None


def _takes_context(name: str, annotation: Any, namespace: dict[str, Any]) -> bool:
    if is_context_name(annotation):
        return True
    holder = python_types.SimpleNamespace(__annotations__={name: annotation})
    try:
        found = typing.get_type_hints(holder, namespace)[name]
    except (NameError, AttributeError, SyntaxError):
        return False  # a type that does not exist when the program runs is no context
    return is_context(found)
