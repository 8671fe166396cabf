"""Loaders of agents, for programs that serve them."""

from ..._absences import refuse_absent

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here
