"""The travel desk example: a question goes to the agent that knows the answer."""

from . import agent as agent
