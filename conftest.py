"""Loads the project's own pytest plugins for every test run, wherever it starts."""

from importlib.util import find_spec

pytest_plugins = (
    "tests.no_skips",
    # Environments made for one SDK try no properties.
    *(("tests.properties",) if find_spec("hypothesis") else ()),
    "tests.certificates",
    "tests.collector",
    "tests.temporary_folders",
    "tests.throwaway_postgres",
    "tests.spec.plugin",
)
