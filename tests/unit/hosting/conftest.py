"""The fixtures of the command line's tests: a folder of its own, and agents made from text."""

from tests.unit.cli.conftest import home as home
from tests.unit.cli.conftest import loaded as loaded
from tests.unit.cli.conftest import make_agent as make_agent
