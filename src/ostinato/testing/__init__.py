"""A kit for tests of agents: models that need no network, readable traces, clocks and ids that
stand still. The pytest fixtures of `ostinato.testing.plugin` are made of it.
"""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.testing.cassette import CassetteMismatchError, RecordingModel, ReplayModel
    from ostinato.testing.clock import FrozenClock, SequentialIds
    from ostinato.testing.conversation import Conversation
    from ostinato.testing.function_model import FunctionModel
    from ostinato.testing.history_guard import HistoryGuard, SharedHistoryError
    from ostinato.testing.scripted_model import ScriptedModel, ScriptError
    from ostinato.testing.seen_request import SeenRequest
    from ostinato.testing.trace import assert_trace, final_text, tool_calls, trace
    from ostinato.testing.turn import Chunks, Turn, call, chunks, thought

__getattr__, __dir__, __all__ = attach(__name__)
