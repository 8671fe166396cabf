"""The approvals example: runs that stop for a person and resume later."""

from . import agent as agent
