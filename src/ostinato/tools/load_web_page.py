"""load_web_page: the text of a page of the public web, for models."""

from __future__ import annotations

from collections.abc import Iterable

from .web.page_fetch import FetchBounds, FetchFailed, Page, cut_text, fetch_page
from .web.page_text import decode, page_text

_HTML = ("text/html", "application/xhtml+xml", "")
_TEXT = ("text/", "application/json", "application/xml")
_TEXT_SUFFIXES = ("+json", "+xml")


class WebPageLoader:
    """Loads pages within bounds; its `load_web_page` is a tool (RELIABILITY, "SSRF").

    Only public addresses are asked: the name is resolved once per redirect, all its addresses are
    checked, and the connection goes to a checked address, so a name that changes later does no
    harm. Proxy settings are not read.

    Args:
      allowed_servers: "host:port" of servers that may be asked although they are not public.
      seconds: wall time for a page with its redirects, without name lookups.
      body_bytes: size of a page; the rest is cut off.
      characters: length of the text that is returned; the rest is cut off.
      redirects: how many are followed.
    """

    def __init__(
        self,
        *,
        allowed_servers: Iterable[str] = (),
        seconds: float = 20.0,
        body_bytes: int = 2_000_000,
        characters: int = 100_000,
        redirects: int = 5,
    ) -> None:
        self._allowed = frozenset(allowed_servers)
        self._bounds = FetchBounds(seconds=seconds, body_bytes=body_bytes, redirects=redirects)
        self._characters = characters

    def load_web_page(self, url: str) -> str:
        """Load a page of the web and return its text.

        Args:
          url: address of the page, beginning with http:// or https://.
        """
        # The model chooses the argument, so its type is not certain.
        if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            return "Failed to fetch url: the address has to be a text."
        try:
            text, is_cut = self._extract_text(
                fetch_page(url, bounds=self._bounds, allowed=self._allowed)
            )
        except FetchFailed as error:
            return f"Failed to fetch url: {cut_text(url)}: {error}."
        text = text.replace("\0", "\ufffd")  # not every store can keep it
        if len(text) > self._characters:
            text, is_cut = text[: self._characters], True
        return f"{text}\n[The page is longer; this is its beginning.]" if is_cut else text

    def _extract_text(self, page: Page) -> tuple[str, bool]:
        media_type = page.content_type.partition(";")[0].strip().lower()
        if media_type in _HTML:
            return page_text(decode(page.body, page.content_type)), page.is_cut
        if media_type.startswith(_TEXT) or media_type.endswith(_TEXT_SUFFIXES):
            return decode(page.body, page.content_type), page.is_cut
        raise FetchFailed(f"it is not text but {cut_text(media_type)}")


_default = WebPageLoader()


def load_web_page(url: str) -> str:
    """Load a page of the web and return its text.

    Args:
      url: address of the page, beginning with http:// or https://.
    """
    return _default.load_web_page(url)
