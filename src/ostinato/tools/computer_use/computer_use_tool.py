"""ComputerUseTool: an action of a computer as a tool, in the model's own coordinates."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ... import types
from ...errors import AgentConfigError
from ...models.llm_request import LlmRequest
from ..function_tool import UNCONFIRMED, FunctionTool, make_rejection
from ..model_mistake import ModelMistake, wrong_arguments
from .base_computer import ComputerState

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

_ACROSS, _DOWN = ("x", "destination_x"), ("y", "destination_y")
_HINT = "The model's service asks for your approval of this action on the computer."


class ComputerUseTool(FunctionTool):
    """An action of a computer.

    The model's coordinates are those of a virtual screen, and are turned into pixels. Where the
    model's service marks a call by `safety_decision` as one that needs approval, the user is asked
    first. A screenshot goes to the model as a picture.

    Args:
      func: the action.
      screen_size: width and height of the screen in pixels.
      virtual_screen_size: width and height of the screen that the model thinks it sees.

    Raises:
      AgentConfigError: a size is not a pair of positive numbers.
    """

    returns_media = True

    def __init__(
        self,
        *,
        func: Callable[..., Any],
        screen_size: tuple[int, int],
        virtual_screen_size: tuple[int, int] = (1000, 1000),
    ) -> None:
        super().__init__(func)
        self._screen_size = _checked_size("screen_size", screen_size)
        self._virtual_size = _checked_size("virtual_screen_size", virtual_screen_size)

    def wrap_function(self, func: Callable[..., Any]) -> ComputerUseTool:
        """Return a tool of another function on the same screen."""
        return ComputerUseTool(
            func=func, screen_size=self._screen_size, virtual_screen_size=self._virtual_size
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the action, unless the user has yet to approve it or has rejected it.

        Returns:
          What the action returned as a dict; `image` holds a screenshot, in base64.
        """
        answer = tool_context.tool_confirmation
        if answer is not None and not answer.confirmed:
            return make_rejection(answer)
        decision: Any = args.get("safety_decision")
        if answer is None and isinstance(decision, dict):
            decision = cast("dict[str, Any]", decision)
            if decision.get("decision") == "require_confirmation":
                hint = decision.get("explanation") or _HINT
                tool_context.request_confirmation(hint=str(hint))
                tool_context.actions.skip_summarization = True
                return {"error": UNCONFIRMED}
        result = await self._act(args, tool_context)
        if answer is None or isinstance(result, ModelMistake):
            return result
        wrapped = cast("dict[str, Any]", result) if isinstance(result, dict) else {"result": result}
        return {**wrapped, "safety_acknowledgement": "true"}

    async def _act(self, args: dict[str, Any], tool_context: ToolContext) -> Any:
        pixels, fault = self._in_pixels(args)
        if fault is not None:
            return fault
        result = await super().run_async(args=pixels, tool_context=tool_context)
        return _as_dict(result) if isinstance(result, ComputerState) else result

    def _in_pixels(self, args: dict[str, Any]) -> tuple[dict[str, Any], ModelMistake | None]:
        """Return the arguments with coordinates of the screen; or what is wrong with them."""
        scaled = dict(args)
        for axis, names in enumerate((_ACROSS, _DOWN)):
            for name in names:
                value = args.get(name)
                if name not in args:
                    continue
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    told = f"{name}: a number is needed, not {type(value).__name__}"
                    return args, wrong_arguments(self.name, [told])
                size, virtual = self._screen_size[axis], self._virtual_size[axis]
                scaled[name] = max(0, min(int(value / virtual * size), size - 1))
        return scaled, None

    def split_media(
        self, response: dict[str, Any]
    ) -> tuple[dict[str, Any], list[types.FunctionResponsePart]]:
        """Take the screenshot out of a response, as a picture for the model."""
        image: Any = response.get("image")
        if not isinstance(image, dict):
            return response, []
        image = cast("dict[str, Any]", image)
        data, kind = image.get("data"), image.get("mimetype")
        if not isinstance(data, str) or not isinstance(kind, str):
            return response, []
        try:
            picture = base64.b64decode(data, validate=True)
        except binascii.Error:
            return response, []
        rest = {key: value for key, value in response.items() if key != "image"}
        return rest, [types.FunctionResponsePart.from_bytes(data=picture, mime_type=kind)]

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Change nothing: ComputerUseToolset adds its tools, which the model knows by itself."""
        return


def _as_dict(state: ComputerState) -> dict[str, Any]:
    told: dict[str, Any] = {"url": state.url}
    if state.screenshot:
        data = base64.b64encode(state.screenshot).decode()
        told["image"] = {"mimetype": "image/png", "data": data}
    return told


def _checked_size(name: str, size: Any) -> tuple[int, int]:
    pair: Any = cast("tuple[Any, ...]", size) if isinstance(size, tuple) else ()
    if len(pair) != 2 or not all(isinstance(side, int | float) and side > 0 for side in pair):
        raise AgentConfigError(
            f"ComputerUseTool: {name} is {size!r}, but must be a tuple of width and height, both "
            "more than 0."
        )
    return pair[0], pair[1]
