"""The approvals example: runs that stop for a person and go on later."""

from . import agent as agent
