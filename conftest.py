"""Loads the project's own pytest plugins for every test run, wherever it starts."""

pytest_plugins = ("tests.no_skips", "tests.throwaway_postgres", "tests.spec.plugin")
