"""The analyst example: an agent that runs code over a table."""

from . import agent as agent
