"""Which google-genai the tests of this folder run with."""

import sys
from importlib.metadata import version

from tests.wire.environments import PLACE


def test_each_environment_has_its_own_version_of_the_sdk() -> None:
    expected = "2" if sys.prefix == str(PLACE / "genai2") else "3"
    assert version("google-genai").partition(".")[0] == expected
