"""Loads the project's own pytest plugins for every test run, wherever it starts."""

from importlib.util import find_spec

pytest_plugins = (
    "tests.support.no_skips",
    # Environments made for one SDK try no properties.
    *(("tests.support.properties",) if find_spec("hypothesis") else ()),
    "tests.support.certificates",
    "tests.support.collector",
    "tests.support.quick_cases",
    "tests.support.temporary_folders",
    "tests.support.throwaway_postgres",
    "tests.spec.plugin",
)
