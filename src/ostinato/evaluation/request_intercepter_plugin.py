"""google-adk's module of this name has no public names; `run_observer` does its work here."""
