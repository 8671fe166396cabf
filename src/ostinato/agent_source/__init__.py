"""The Python program of an agent that files describe: `ostinato generate` writes it."""
