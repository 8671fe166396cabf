"""Spans around the functions of a program: what they record of a call, and their wrapper.

AutoTracingPlugin decides which functions are wrapped. OpenTelemetry loads at the first wrapper.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._log import get_logger
from .._optional import need
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ._redaction import HIDDEN, is_secret_name, redacted_text

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

logger = get_logger(__name__)

DEFAULT_MAX_REPR_LEN = 4096
DEFAULT_MAX_RECORDED_YIELDS = 16
WRAPPED_ATTR = "_adk_auto_tracing_wrapped"
_MARGIN = 1_024  # characters beyond those shown that are looked at for secrets
NamedArg: TypeAlias = tuple[str, str]

_is_describing: ContextVar[bool] = ContextVar("is_describing", default=False)


@dataclass(frozen=True)
class Caps:
    """Limits of what a span records.

    Attributes:
      max_repr_len: the most characters of one value.
      max_recorded_yields: the most values of one generator.
    """

    max_repr_len: int = DEFAULT_MAX_REPR_LEN
    max_recorded_yields: int = DEFAULT_MAX_RECORDED_YIELDS


class StreamResult:
    """What a generator has yielded: the first items, and how many there were.

    Args:
      items: the first items.
      caps: the limits.
      total: the number of all items.
    """

    def __init__(self, items: Sequence[Any], caps: Caps, total: int) -> None:
        self._items, self._caps, self._total = items, caps, total

    def __repr__(self) -> str:
        text = f"{self._total} items yielded"
        if self._items:
            shown = ", ".join(safe_repr(item, self._caps) for item in self._items)
            text += f"; first {len(self._items)}: [{shown}]"
        more = self._total - len(self._items)
        return f"<generator: {text}{f' ... + {more} more' if more > 0 else ''}>"


def tracer_will_record(tracer: Tracer) -> bool:
    """Return whether spans of a tracer can be recorded: it is not OpenTelemetry's no-op."""
    return not isinstance(tracer, need("opentelemetry.trace", extra="otel").NoOpTracer)


def public_slot_names(cls: type) -> set[str]:
    """Return the public names in `__slots__` of a class and its bases."""
    names: set[str] = set()
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    return {name for name in names if not name.startswith("_")}


def safe_repr(value: Any, caps: Caps) -> str:
    """Return a bounded `repr` of any value without what looks like a secret; it never raises.

    An object without a `__repr__` of its own is described by its public fields, a context of a run
    by its type.

    Args:
      value: anything.
      caps: the limits.
    """
    return _write_safely(value, lambda: _describe(value, caps.max_repr_len))


def safe_message(exc: BaseException, caps: Caps) -> str:
    """Return a bounded text of an exception without what looks like a secret; it never raises."""
    return _write_safely(exc, lambda: _redact_head(str(exc), caps.max_repr_len))


def _write_safely(value: Any, write: Callable[[], str]) -> str:
    token = _is_describing.set(True)
    try:
        return write()
    except Exception as error:  # boundary: the value's own __repr__
        logger.debug("repr() of a %s failed: %s", type(value).__name__, type(error).__name__)
        return f"<unrepr-able {type(value).__name__}: {type(error).__name__}>"
    finally:
        _is_describing.reset(token)


def _describe(value: Any, most: int) -> str:
    kind = cast("type[Any]", type(value))
    if issubclass(kind, (InvocationContext, ReadonlyContext)):
        return f"<{kind.__name__}>"  # its repr holds the session with all its events
    if kind.__repr__ is not object.__repr__:
        return _redact_repr(value, most)
    fields: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    fields |= {
        name: getattr(value, name) for name in public_slot_names(kind) if hasattr(value, name)
    }
    shown: list[str] = []
    room = most
    for name, field in fields.items():
        if room > 0 and not name.startswith("_"):
            text = HIDDEN if is_secret_name(name) else _redact_repr(field, most)
            shown.append(f"{name}={text}")
            room -= len(shown[-1])
    if not shown:
        return f"<{kind.__name__}>"
    return _cut(f"<{kind.__name__} fields={{{', '.join(shown)}}}>", most)


def _redact_repr(value: Any, most: int) -> str:
    if type(value) in (str, bytes, bytearray) and len(value) > most + _MARGIN:
        return _redact_head(repr(value[: most + _MARGIN + 1]), most, len(value))
    return _redact_head(repr(value), most)


def _redact_head(text: str, most: int, length: int = 0) -> str:
    """Return the beginning of a text without secrets; the rest costs nothing.

    Args:
      text: the text, or its beginning.
      most: characters that are returned; a note says how many more there are.
      length: that of the whole text if `text` is its beginning.
    """
    if len(text) <= most + _MARGIN:
        return _cut(redacted_text(text), most)
    # A secret that the cut has made unrecognizable lies in the margin, which is not shown.
    head = redacted_text(text[: most + _MARGIN])
    head = head[: max(0, len(head) - _MARGIN)]
    return f"{head[:most]}...[{max(length, len(text)) - min(most, len(head))} more chars]"


def _cut(text: str, most: int) -> str:
    rest = len(text) - most
    return text if rest <= 0 else f"{text[:most]}...[{rest} more chars]"


def display_name_for(fn: Callable[..., Any]) -> str:
    """Return a function's name, with its class's name if it has one."""
    return ".".join(fn.__qualname__.split(".")[-2:])


def positional_param_names(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's positional parameters; none if they cannot be known."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(parameter.name for parameter in parameters if parameter.kind in kinds)


def name_value_pairs(
    param_names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any], caps: Caps
) -> list[NamedArg]:
    """Return the names and texts of a call's arguments, without the first `self` or `cls`.

    Args:
      param_names: names of the positional parameters; further arguments are named by their place.
      args, kwargs: the arguments.
      caps: the limits.
    """
    names = [*param_names, *(f"arg{place}" for place in range(len(param_names), len(args)))]
    given = list(zip(names, args, strict=False))
    if given and given[0][0] in ("self", "cls"):
        given = given[1:]
    return [
        (name, HIDDEN if is_secret_name(name) else safe_repr(value, caps))
        for name, value in [*given, *kwargs.items()]
    ]


def record_io_on_span(
    span: Span,
    pairs: Sequence[NamedArg],
    result: Any,
    exc: BaseException | None,
    caps: Caps,
) -> None:
    """Write a call's arguments, and its result or exception, to a span.

    Args:
      span: the span.
      pairs: names and texts of the arguments.
      result: what the call returned; not written if there is an exception.
      exc: what the call raised.
      caps: the limits.
    """
    for name, text in pairs:
        span.set_attribute(f"adk.fn.arg.{name}", text)
    if exc is None:
        span.set_attribute("adk.fn.return", safe_repr(result, caps))
        return
    span.set_attribute("adk.fn.exc_type", type(exc).__name__)
    span.set_attribute("adk.fn.exc_repr", safe_repr(exc, caps))


class _TracedCall:
    """The span of one call. It is the current span only while the function's own code runs.

    Args:
      name: the span's name.
      names: of the positional parameters.
      args, kwargs: the arguments.
      tracer: makes the span.
      caps: the limits.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tracer: Tracer,
        caps: Caps,
    ) -> None:
        self._span = tracer.start_span(name)
        self._is_recorded = self._span.is_recording() and not _is_describing.get()
        self._pairs = name_value_pairs(names, args, kwargs, caps) if self._is_recorded else []
        self._caps = caps
        self._seen: list[Any] = []
        self._total = 0

    def enter(self) -> AbstractContextManager[Any]:
        """Return a context manager that makes the span the current one."""
        use_span = need("opentelemetry.trace", extra="otel").use_span
        return use_span(self._span, record_exception=False, set_status_on_exception=False)

    def note(self, item: Any) -> Any:
        """Return an item of a stream, which counts as yielded."""
        self._total += 1
        if len(self._seen) < self._caps.max_recorded_yields:
            self._seen.append(item)
        return item

    def end(self, result: Any = None, exc: BaseException | None = None) -> None:
        """End the span with the call's result or exception."""
        if self._is_recorded:
            record_io_on_span(self._span, self._pairs, result, exc, self._caps)
        if isinstance(exc, Exception):
            self._note_exception(exc)
        self._span.end()

    def _note_exception(self, exc: Exception) -> None:
        """Write an exception's event and status as OpenTelemetry does, but without secrets."""
        trace = need("opentelemetry.trace", extra="otel")
        message = safe_message(exc, self._caps)
        stack = "".join(traceback.format_tb(exc.__traceback__))
        module, name = type(exc).__module__, type(exc).__qualname__
        attributes = {
            "exception.type": name if module == "builtins" else f"{module}.{name}",
            "exception.message": message,
            "exception.stacktrace": f"{redacted_text(stack)}{name}: {message}",
            "exception.escaped": "False",
        }
        self._span.add_event("exception", attributes)
        self._span.set_status(
            trace.Status(trace.StatusCode.ERROR, f"{type(exc).__name__}: {message}")
        )

    def end_stream(self) -> None:
        """End the span of a generator with what it yielded."""
        self.end(StreamResult(self._seen, self._caps, self._total))

    @contextmanager
    def end_on_error(self) -> Generator[None]:
        """End the span if the code of a `with` block raises."""
        try:
            yield
        except BaseException as exc:  # boundary: the program's function; it is raised again
            self.end(exc=exc)
            raise


def build_tracing_wrapper(fn: Callable[..., Any], tracer: Tracer, caps: Caps) -> Callable[..., Any]:
    """Return a function of the same kind that makes a span of each call.

    Args:
      fn: a function, coroutine function, generator function or async generator function.
      tracer: makes the spans.
      caps: the limits.
    """
    name, names = display_name_for(fn), positional_param_names(fn)

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _TracedCall:
        return _TracedCall(name, names, args, kwargs, tracer, caps)

    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_describing.get():  # the repr of an argument calls the program's functions, too
            return fn(*args, **kwargs)
        traced = begin(args, kwargs)
        with traced.end_on_error(), traced.enter():
            result = fn(*args, **kwargs)
        traced.end(result)
        return result

    async def call_async(*args: Any, **kwargs: Any) -> Any:
        traced = begin(args, kwargs)
        with traced.end_on_error(), traced.enter():
            result = await fn(*args, **kwargs)
        traced.end(result)
        return result

    if inspect.isasyncgenfunction(fn):
        traced: Any = _wrap_async_generator(fn, begin)
    elif inspect.isgeneratorfunction(fn):
        traced = _wrap_generator(fn, begin)
    else:
        traced = call_async if inspect.iscoroutinefunction(fn) else call
    wrapper = functools.wraps(fn)(traced)
    setattr(wrapper, WRAPPED_ATTR, True)
    return cast("Callable[..., Any]", wrapper)


_Begin: TypeAlias = "Callable[[tuple[Any, ...], dict[str, Any]], _TracedCall]"


def _wrap_generator(fn: Callable[..., Any], begin: _Begin) -> Callable[..., Any]:
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        traced, items = begin(args, kwargs), fn(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, items)
        with traced.end_on_error():
            while True:
                with traced.enter():
                    try:
                        item = traced.note(step())
                    except StopIteration as stop:
                        returned = stop.value
                        break
                try:
                    step = functools.partial(items.send, (yield item))
                except GeneratorExit:
                    items.close()
                    raise
                except BaseException as exc:  # boundary: the consumer; it goes to the generator
                    step = functools.partial(items.throw, exc)
        traced.end_stream()
        return returned

    return stream


def _wrap_async_generator(fn: Callable[..., Any], begin: _Begin) -> Callable[..., Any]:
    async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        traced, items = begin(args, kwargs), fn(*args, **kwargs)
        step: Callable[[], Any] = items.__anext__
        with traced.end_on_error():
            while True:
                with traced.enter():
                    try:
                        item = traced.note(await step())
                    except StopAsyncIteration:
                        break
                try:
                    step = functools.partial(items.asend, (yield item))
                except GeneratorExit:
                    await items.aclose()
                    raise
                except BaseException as exc:  # boundary: the consumer; it goes to the generator
                    step = functools.partial(items.athrow, exc)
        traced.end_stream()

    return stream
