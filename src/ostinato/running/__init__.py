"""Parts of the runner: what it sets up, chooses, commits and hands out. `runners.py` puts them
together.
"""
