"""The command `ostinato docs`: opens the documentation site, or explains an error."""

from __future__ import annotations

import argparse
import re
import webbrowser
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .cli_error import FAILED, USAGE, CliError

_PACKAGE = Path(__file__).resolve().parents[1]
# In a wheel that contains the site, and in a checkout after `make docs-site`.
PLACES = (_PACKAGE / "site", _PACKAGE.parents[1] / "build" / "site")
# In a wheel, and in a checkout.
_ERRORS = Path("troubleshooting", "errors.md")
ERROR_PAGES = (_PACKAGE / "errors" / _ERRORS.name, _PACKAGE.parents[1] / "docs" / _ERRORS)


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line on the terminal for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


class _SiteServer(ThreadingHTTPServer):
    # A page loads more files at once than the five connections that wait by default.
    request_queue_size = 64


def find_site() -> Path | None:
    """Return the folder of the built site, or None if there is no site."""
    return next((place for place in PLACES if (place / "index.html").exists()), None)


def explain_error(name: str) -> str:
    """Return the cause and the remedy of an error, as plain text.

    Args:
      name: an error class of Ostinato, in any case.

    Raises:
      CliError: no error has this name, or the page of errors is missing.
    """
    page = next((place for place in ERROR_PAGES if place.exists()), None)
    if page is None:
        raise CliError("This installation has no page of errors. Install Ostinato again.", FAILED)
    pieces = re.split(r"^## (\w+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    known = {one.lower(): one for one in sections}
    found = known.get(name.lower().rpartition(".")[2])
    if found is None:
        near = get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {known[near[0]]}?" if near else ""
        raise CliError(f"No error of Ostinato is called {name!r}.{hint}", USAGE)
    text = re.sub(r"\[([^][]{1,200})\]\([^()]{1,200}\)", r"\1", sections[found].strip())
    return f"{found}\n\n{text.replace('**', '')}"


def make_server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of the site on the loopback address; port 0 chooses a free one.

    Raises:
      CliError: the port cannot be used.
    """
    handler = partial(_QuietHandler, directory=str(site))
    try:
        return _SiteServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CliError(
            f"Port {port} cannot be used: {reason}. Choose another one with --port.", FAILED
        ) from error


def main(args: argparse.Namespace) -> int:
    """Serve the site and open it in a browser, until Ctrl-C; or print its folder, or an error.

    Raises:
      CliError: there is no site, the port cannot be used, or no error has the name.
    """
    if args.error is not None:
        print(explain_error(args.error))
        return 0
    site = find_site()
    if site is None:
        raise CliError(
            "This installation has no documentation site. `ostinato docs ERROR`, such as "
            "`ostinato docs SessionBusyError`, explains an error without it, and Python's help() "
            "describes every public name. The pages are Markdown files in the folder docs of "
            "Ostinato's sources; `make docs-site` builds the site there.",
            FAILED,
        )
    if args.where:
        print(site)
        return 0
    with make_server(site, args.port) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/index.html"
        print(f"The documentation is at {url} until Ctrl-C.", flush=True)
        if not args.no_browser:
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
