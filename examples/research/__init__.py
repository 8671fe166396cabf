"""The research example: a pipeline of sequential, parallel and loop agents."""

from . import agent as agent
