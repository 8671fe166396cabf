"""google-adk's own page, unmodified, as its package brings it, clicked through at our server."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bench.setup_peers import interpreter

from tests.page import browser

_WHERE = "import pathlib, google.adk; print(pathlib.Path(google.adk.__file__).parent)"


@pytest.mark.service
def test_its_page_works_with_our_server() -> None:
    browser.modules()
    subprocess.run(
        [sys.executable, str(browser.ROOT / "bench" / "setup_peers.py"), "adk"], check=True
    )
    found = subprocess.run(
        [interpreter("adk"), "-c", _WHERE], check=True, capture_output=True, text=True
    )
    folder = f"{found.stdout.strip().splitlines()[-1]}/cli/browser"
    print(browser.play("adk", OSTINATO_TEST_UI=folder))
