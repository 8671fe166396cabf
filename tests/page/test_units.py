"""The unit tests of the page's parts, which Vitest runs."""

from __future__ import annotations

import subprocess

import pytest

from tests.page.browser import ROOT

PAGE = ROOT / "page"


@pytest.mark.service
def test_units() -> None:
    assert (PAGE / "node_modules").is_dir(), "Build the page first: `make page`."
    done = subprocess.run(
        ["npm", "test", "--silent"], cwd=PAGE, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
