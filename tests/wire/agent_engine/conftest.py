"""Where the tests of this folder have their engine from."""

from tests.wire.agent_engine.fixtures import engine as engine
from tests.wire.agent_engine.fixtures import waits as waits
