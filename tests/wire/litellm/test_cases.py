"""The cases that hold for all of OpenAI's formats."""

import pytest

from tests.wire.openai_cases import *  # noqa: F403

pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM's own: it uses what others deprecate
