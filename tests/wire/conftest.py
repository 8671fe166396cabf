"""Leaves out the folders whose SDK lives in an environment of its own; `make wire` runs them."""

from tests.wire.environments import elsewhere

collect_ignore = elsewhere()
