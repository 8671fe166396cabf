"""The cases that hold for all of OpenAI's formats."""

from tests.wire.openai_cases import *  # noqa: F403
