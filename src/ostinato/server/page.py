"""The page: the files that its build left in this package, served as they are; without a build
there is none, and `HOW_TO_BUILD` says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

FOLDER = Path(__file__).with_name("page")

HOW_TO_BUILD = (
    "This checkout holds no built page. Build it with `make page` (Node 20 or newer), or install "
    "the wheel, which has it; `ostinato serve` needs none."
)

_HEADERS = {
    # Nothing but the page's own files, and what it shows of messages.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; media-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
}
_FOR_GOOD = {**_HEADERS, "cache-control": "public, max-age=31536000, immutable"}


def is_built() -> bool:
    """Tell whether this package holds a built page."""
    return (FOLDER / "index.html").is_file()


def routes(prefix: str) -> list[BaseRoute]:
    """Return the routes of the page, one for each of its files; none where it is not built."""
    if not is_built():
        return []
    home = f"{prefix}/page/"

    async def to_page(request: Request) -> Response:
        return RedirectResponse(home)

    files = [path for path in sorted(FOLDER.rglob("*")) if path.is_file()]
    return [
        Route(f"{prefix}/", to_page),
        Route(f"{prefix}/page", to_page),
        Route(home, _sender(FOLDER / "index.html", _HEADERS)),
        *(
            Route(f"{home}{path.relative_to(FOLDER).as_posix()}", _sender(path, _FOR_GOOD))
            for path in files
            if path.name != "index.html"
        ),
    ]


def _sender(
    path: Path, headers: dict[str, str]
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def send(request: Request) -> Response:
        return FileResponse(path, headers=headers)

    return send
