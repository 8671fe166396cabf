"""The page in a real browser: each scenario starts a server of its own and drives Chromium."""

from __future__ import annotations

import pytest

from tests.page import browser

OURS = [name for name in browser.SCENARIOS if name != "adk"]


@pytest.fixture(scope="module", autouse=True)
def modules() -> None:
    browser.modules()


@pytest.mark.service
@pytest.mark.parametrize("name", OURS)
def test_scenario(name: str) -> None:
    assert (browser.BUILT / "index.html").is_file(), "Build the page first: `make page`."
    print(browser.play(name))
