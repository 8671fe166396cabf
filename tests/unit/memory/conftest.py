"""An engine for the tests of the Memory Bank."""

from tests.wire.agent_engine.fixtures import engine as engine
from tests.wire.agent_engine.fixtures import waits as waits
