"""The scripted model: a BaseLlm of the bound package that gives prepared replies; for the kit."""

import inspect
from typing import Any

_classes: dict[type, type] = {}


class Stream(list):  # type: ignore[type-arg]
    """Several responses to one request."""


def scripted_model_class(base: type) -> type:
    """The scripted subclass of a package's BaseLlm, made once per package."""
    if base not in _classes:
        _classes[base] = _build(base)
    return _classes[base]


def _build(base: Any) -> type:
    class Scripted(base):
        kit: Any = None
        replies: list[Any] = []
        keep: Any = None

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            self.keep(llm_request, stream)
            if not self.replies:
                raise AssertionError("the script has no reply left")
            reply = self.replies.pop(0)
            if callable(reply):
                reply = reply(llm_request)
            if inspect.isawaitable(reply):
                reply = await reply
            for response in reply if isinstance(reply, Stream) else [reply]:
                yield _as_response(self.kit, response)

    return Scripted


def _as_response(kit: Any, reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise reply
    if isinstance(reply, str):
        return kit.text(reply)
    if isinstance(reply, kit.types.Part):
        return kit.reply(reply)
    if isinstance(reply, (list, tuple)):
        return kit.reply(*reply)
    return reply
