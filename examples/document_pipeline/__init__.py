"""The document pipeline example: a workflow whose run stops for a person and resumes later."""

from . import agent as agent
