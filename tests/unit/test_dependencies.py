"""What the extras of the distribution may install."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_stolen_releases_of_litellm_are_excluded(version: str) -> None:
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    litellm = Requirement(extras["litellm"][0])
    assert litellm.name == "litellm" and version not in litellm.specifier
