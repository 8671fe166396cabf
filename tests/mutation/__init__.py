"""Mutation testing of the core: `make mutants`; not part of the test suite."""
