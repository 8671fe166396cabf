"""The event planner example: helpers talk with the host until their tasks are done."""

from . import agent as agent
