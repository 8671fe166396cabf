"""Test kit for agents: models without a network, readable traces, fixed clocks and ids.

`ostinato.testing.plugin` offers them as pytest fixtures.
"""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.testing.cassette import CassetteMismatchError as CassetteMismatchError
    from ostinato.testing.cassette import RecordingModel as RecordingModel
    from ostinato.testing.cassette import ReplayModel as ReplayModel
    from ostinato.testing.clock import FrozenClock as FrozenClock
    from ostinato.testing.clock import SequentialIds as SequentialIds
    from ostinato.testing.conversation import Conversation as Conversation
    from ostinato.testing.crash_report import CrashReport as CrashReport
    from ostinato.testing.crash_runs import ScenarioError as ScenarioError
    from ostinato.testing.crash_runs import crash_everywhere as crash_everywhere
    from ostinato.testing.event_trace import assert_trace as assert_trace
    from ostinato.testing.event_trace import final_text as final_text
    from ostinato.testing.event_trace import tool_calls as tool_calls
    from ostinato.testing.event_trace import trace as trace
    from ostinato.testing.history_guard import HistoryGuard as HistoryGuard
    from ostinato.testing.history_guard import SharedHistoryError as SharedHistoryError
    from ostinato.testing.scenario import Scenario as Scenario
    from ostinato.testing.scripted_model import Chunks as Chunks
    from ostinato.testing.scripted_model import FunctionModel as FunctionModel
    from ostinato.testing.scripted_model import ScriptedModel as ScriptedModel
    from ostinato.testing.scripted_model import ScriptError as ScriptError
    from ostinato.testing.scripted_model import Turn as Turn
    from ostinato.testing.scripted_model import call as call
    from ostinato.testing.scripted_model import chunks as chunks
    from ostinato.testing.scripted_model import thought as thought
    from ostinato.testing.seen_request import SeenRequest as SeenRequest
    from ostinato.testing.simulation.moment import Host as Host
    from ostinato.testing.simulation.moment import Moment as Moment
    from ostinato.testing.simulation.plan import FAULTS as FAULTS
    from ostinato.testing.simulation.plan import Entry as Entry
    from ostinato.testing.simulation.report import SimulationFailure as SimulationFailure
    from ostinato.testing.simulation.report import SimulationReport as SimulationReport
    from ostinato.testing.simulation.report import simulate as simulate

__getattr__, __dir__, __all__ = attach(__name__)
