"""Refuses to build a wheel or an sdist without the page that `ostinato web` shows."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/ostinato/server/page/index.html")


class PageHook(BuildHookInterface):
    """Looks for the built page; an editable install needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fail where the page is missing and nobody asked for a build without it."""
        if version == "editable" or os.environ.get("OSTINATO_WITHOUT_PAGE"):
            return
        if not (Path(self.root) / PAGE).exists():
            raise SystemExit(
                "The page of `ostinato web` is not built. Run `make page` (Node 20 or newer) and "
                "build again, or set OSTINATO_WITHOUT_PAGE=1 to build without it."
            )
