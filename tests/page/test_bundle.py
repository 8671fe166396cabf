"""The built page: small, whole, and nothing in it comes from another machine; the wheel has it."""

from __future__ import annotations

import gzip
import re
import zipfile
from pathlib import Path

import pytest

from tests.page import wheel, wire_types
from tests.page.browser import BUILT

MOST = 150_000  # bytes, gzipped, of what the browser loads at first

# Addresses that name an XML vocabulary or a page to read; nothing is fetched from them.
_NAMES = (
    "http://www.w3.org/",
    # in the errors of libraries
    "https://github.com/markedjs/marked",
    "https://github.com/highlightjs/highlight.js/",
)

_URL = re.compile(rb"(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s\"'`)\\]*", re.IGNORECASE)


@pytest.fixture
def files() -> dict[str, bytes]:
    found = {path.relative_to(BUILT).as_posix(): path.read_bytes() for path in BUILT.rglob("*.*")}
    assert "index.html" in found, "Build the page first: `make page`."
    return found


def first_load(files: dict[str, bytes]) -> set[str]:
    """Return the files that the browser loads at once, and not when they are needed."""
    waiting = re.findall(rb'(?:src|href)="\./([^"]+)"', files["index.html"])
    found = {"index.html"}
    while waiting:
        name = waiting.pop().decode()
        if name in found:
            continue
        found.add(name)
        imports = re.findall(rb"""(?:^|[;}])import(?:[^"'()`]*from)?["']\./([^"']+)""", files[name])
        waiting += [b"assets/" + one for one in imports]
    return found


@pytest.mark.service
def test_the_first_load_is_small(files: dict[str, bytes]) -> None:
    sizes = {name: len(gzip.compress(data)) for name, data in files.items()}
    first = first_load(files)
    print(f"{sum(sizes[name] for name in first)} bytes gzipped, {sum(sizes.values())} in all")
    assert sum(sizes[name] for name in first) <= MOST
    later = {name.split("/")[-1].split("-")[0].split(".")[0] for name in files if name not in first}
    assert later == {"dagre", "highlight", "math", "microphone"}


@pytest.mark.service
def test_it_asks_no_other_machine(files: dict[str, bytes]) -> None:
    found = [url.decode() for data in files.values() for url in _URL.findall(data)]
    assert [url for url in found if not url.startswith(_NAMES)] == []


@pytest.mark.service
def test_it_brings_no_fonts_and_no_code_in_its_html(files: dict[str, bytes]) -> None:
    assert not [name for name in files if name.endswith((".woff", ".woff2", ".ttf", ".otf"))]
    assert b"@font-face" not in b"".join(files.values())
    assert re.findall(rb"<script(?![^>]*\bsrc=)", files["index.html"]) == []


@pytest.mark.service
def test_the_wheel_has_all_of_it(tmp_path: Path, files: dict[str, bytes]) -> None:
    built = wheel.build(tmp_path)
    assert wheel.missing(built) == []
    with zipfile.ZipFile(built) as inside:
        for name, data in files.items():
            assert inside.read(f"ostinato/server/page/{name}") == data


def test_a_wheel_without_the_page_is_found_out(tmp_path: Path) -> None:
    empty = tmp_path / "empty.whl"
    with zipfile.ZipFile(empty, "w") as inside:
        inside.writestr("ostinato/__init__.py", "")
    assert wheel.missing(empty) == ["index.html", "assets/*.js", "assets/*.css"]


def test_the_types_are_those_of_the_openapi_document() -> None:
    assert wire_types.FILE.read_text(encoding="utf-8") == wire_types.render(), (
        "Write them anew: python -m tests.page.wire_types"
    )
