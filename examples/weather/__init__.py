"""The weather example: tools that read and write state."""

from . import agent as agent
