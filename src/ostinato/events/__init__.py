"""Events: face of this package."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.events.event import Event as Event
    from ostinato.events.event import NodeInfo as NodeInfo
    from ostinato.events.event_actions import EventActions as EventActions
    from ostinato.events.event_actions import EventCompaction as EventCompaction
    from ostinato.events.request_input import RequestInput as RequestInput
    from ostinato.events.ui_widget import UiWidget as UiWidget

__getattr__, __dir__, __all__ = attach(__name__)
