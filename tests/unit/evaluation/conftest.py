"""Fixtures of the tests of the evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ostinato.evaluation.judge import forget_verdicts
from ostinato.models.registry import LLMRegistry

from .builders import JUDGE, JudgeModel


@pytest.fixture
def judge() -> Iterator[Any]:
    """The judge behind the model names `judge-...`; its answers are set in the test."""
    LLMRegistry.register(JudgeModel)
    forget_verdicts()
    JUDGE.prompts.clear()
    yield JUDGE
    LLMRegistry.unregister(JudgeModel)
    forget_verdicts()
