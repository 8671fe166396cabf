"""What agents with a model have beside themselves; a package for its path, no code of its own."""
