"""The fixtures of the command line's tests: a folder of its own, and agents made from text."""

from tests.cli.conftest import home as home
from tests.cli.conftest import make_agent as make_agent
