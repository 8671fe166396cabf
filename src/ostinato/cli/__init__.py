"""The command line of Ostinato."""
