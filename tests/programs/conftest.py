"""Leaves the programs of pytest style to `play.py`: they import google.adk."""

collect_ignore_glob = ["*/test_*.py"]
