"""The web page: static files that its build placed in this package, if it was built."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

FOLDER = Path(__file__).with_name("page")

HOW_TO_BUILD = (
    "This installation has no page. In a checkout, build it with `make page` (Node 20 or newer); "
    "otherwise install a released wheel, which contains it. `ostinato serve` works without it."
)

_HEADERS = {
    # Only the page's own files, and media of messages.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; media-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
}
_FOR_GOOD = {**_HEADERS, "cache-control": "public, max-age=31536000, immutable"}


def is_built() -> bool:
    """Return whether this package contains a built page."""
    return (FOLDER / "index.html").is_file()


def make_routes(prefix: str) -> list[BaseRoute]:
    """Return the routes of the page, one for each file, or none if it is not built."""
    if not is_built():
        return []
    home = f"{prefix}/page/"

    async def to_page(request: Request) -> Response:
        return RedirectResponse(request.scope.get("root_path", "") + home)

    files = [path for path in sorted(FOLDER.rglob("*")) if path.is_file()]
    return [
        Route(f"{prefix}/", to_page),
        Route(f"{prefix}/page", to_page),
        Route(home, _make_sender(FOLDER / "index.html", _HEADERS)),
        *(
            Route(f"{home}{path.relative_to(FOLDER).as_posix()}", _make_sender(path, _FOR_GOOD))
            for path in files
            if path.name != "index.html"
        ),
    ]


def _make_sender(
    path: Path, headers: dict[str, str]
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def send_file(request: Request) -> Response:
        return FileResponse(path, headers=headers)

    return send_file
