"""Generation of a Python program from agent files, for `ostinato generate`."""
