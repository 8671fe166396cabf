"""Renews the pictures of the documents from those that the scenarios take of today's page.

python -m tests.page.pictures          plays the scenarios, 6 minutes on two cores
python -m tests.page.pictures --kept   takes what the last run of the tests has left
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tests.page import browser

IMAGES = browser.ROOT / "docs" / "images"
AFTERNOON = browser.ROOT / "build" / "afternoon"
MOST = 1_500_000  # bytes of all pictures

# Picture of the documents -> the scenario that takes it, and where.
PICTURES = {
    "page-answer": ("looks", browser.SHOTS / "looks-answer-light-1440.png"),
    "page-results-dark": ("looks", browser.SHOTS / "looks-chat-dark-1440.png"),
    "page-finder": ("looks", browser.SHOTS / "looks-find-light-1024.png"),
    "page-narrow": ("looks", browser.SHOTS / "looks-chat-light-390.png"),
    "page-start-dark-narrow": ("looks", browser.SHOTS / "looks-start-dark-390.png"),
    "page-evaluation": ("evaluation", browser.SHOTS / "evaluation-failed.png"),
    "page-traceback": ("tracebacks", browser.SHOTS / "tracebacks-tool.png"),
    "page-effects-narrow": ("afternoon", AFTERNOON / "effects-light-390.png"),
    "page-approval-narrow": ("afternoon", AFTERNOON / "chat-asks-light-390.png"),
    "page-timeline": ("afternoon", AFTERNOON / "timeline-light-1440.png"),
}


def renew(kept: bool) -> int:
    """Copy the pictures; return the bytes of all that the documents show.

    Args:
      kept: whether no scenario is played.

    Raises:
      AssertionError: a scenario failed.
      FileNotFoundError: a picture has not been taken.
    """
    if not kept:
        browser.modules()
        for scenario in sorted({scenario for scenario, _ in PICTURES.values()}):
            browser.play(scenario)
    for name, (_, file) in PICTURES.items():
        shutil.copyfile(file, IMAGES / f"{name}.png")
    return size_of_all()


def size_of_all() -> int:
    """Return the bytes of all pictures of the page."""
    return sum(one.stat().st_size for one in Path(IMAGES).glob("page-*.png"))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kept", action="store_true", help="play nothing")
    size = renew(parser.parse_args().kept)
    print(f"{len(PICTURES)} pictures renewed; all have {size:,} bytes of {MOST:,} at most.")
    return 0 if size <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
