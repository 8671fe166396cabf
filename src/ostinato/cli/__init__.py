"""The command line: `ostinato run|create|sessions|doctor`. Nothing below imports it."""
