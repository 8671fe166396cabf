"""BaseComputer: the port of computers with a screen; ComputerState, what the screen shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

Direction = Literal["up", "down", "left", "right"]


class ComputerEnvironment(StrEnum):
    """What a computer-use model operates."""

    ENVIRONMENT_UNSPECIFIED = "ENVIRONMENT_UNSPECIFIED"
    ENVIRONMENT_BROWSER = "ENVIRONMENT_BROWSER"


class ComputerState(BaseModel):
    """What a computer shows after an action.

    Attributes:
      screenshot: the screen as PNG.
      url: address of the page that is shown.
    """

    screenshot: bytes = None  # type: ignore[assignment]  # as google-adk declares it
    url: str | None = None


class BaseComputer(ABC):
    """A computer with a screen, such as a browser. Coordinates are pixels of its screen.

    The model knows the actions by these names. Each returns what the screen shows then.
    """

    async def prepare(self, tool_context: ToolContext) -> None:
        """Get ready for an action; called before each one.

        Args:
          tool_context: context of the call; its state lasts beyond an invocation.
        """
        return

    @abstractmethod
    async def screen_size(self) -> tuple[int, int]:
        """Return width and height of the screen in pixels."""

    @abstractmethod
    async def open_web_browser(self) -> ComputerState:
        """Open the browser."""

    @abstractmethod
    async def click_at(self, x: int, y: int) -> ComputerState:
        """Click at a place of the page.

        Args:
          x: pixels from the left.
          y: pixels from the top.
        """

    @abstractmethod
    async def hover_at(self, x: int, y: int) -> ComputerState:
        """Move the pointer to a place of the page, as for a menu that opens then.

        Args:
          x: pixels from the left.
          y: pixels from the top.
        """

    @abstractmethod
    async def type_text_at(
        self,
        x: int,
        y: int,
        text: str,
        press_enter: bool = True,
        clear_before_typing: bool = True,
    ) -> ComputerState:
        """Type a text at a place of the page.

        Args:
          x: pixels from the left.
          y: pixels from the top.
          text: what to type.
          press_enter: press Enter afterwards.
          clear_before_typing: remove what stands there first.
        """

    @abstractmethod
    async def scroll_document(self, direction: Direction) -> ComputerState:
        """Scroll the whole page.

        Args:
          direction: up, down, left or right.
        """

    @abstractmethod
    async def scroll_at(
        self, x: int, y: int, direction: Direction, magnitude: int
    ) -> ComputerState:
        """Scroll what lies at a place of the page.

        Args:
          x: pixels from the left.
          y: pixels from the top.
          direction: up, down, left or right.
          magnitude: how far.
        """

    @abstractmethod
    async def wait(self, seconds: int) -> ComputerState:
        """Wait for work of the page to end.

        Args:
          seconds: how long.
        """

    @abstractmethod
    async def go_back(self) -> ComputerState:
        """Show the previous page of the history."""

    @abstractmethod
    async def go_forward(self) -> ComputerState:
        """Show the next page of the history."""

    @abstractmethod
    async def search(self) -> ComputerState:
        """Show the home page of a search engine."""

    @abstractmethod
    async def navigate(self, url: str) -> ComputerState:
        """Show a page.

        Args:
          url: its address.
        """

    @abstractmethod
    async def key_combination(self, keys: list[str]) -> ComputerState:
        """Press keys together, such as control and c.

        Args:
          keys: their names.
        """

    @abstractmethod
    async def drag_and_drop(
        self, x: int, y: int, destination_x: int, destination_y: int
    ) -> ComputerState:
        """Drag what lies at a place of the page to another.

        Args:
          x: pixels from the left.
          y: pixels from the top.
          destination_x: pixels from the left.
          destination_y: pixels from the top.
        """

    @abstractmethod
    async def current_state(self) -> ComputerState:
        """Return what the screen shows."""

    async def initialize(self) -> None:
        """Start the computer; called before its first use."""
        return

    async def close(self) -> None:
        """Release what the computer holds."""
        return

    @abstractmethod
    async def environment(self) -> ComputerEnvironment:
        """Return what the model is told that it operates."""
