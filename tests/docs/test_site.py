"""The built site: no dead link, nothing from other machines, a Markdown twin of each page."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docs.site import source_pages
from docs.site.reference_pages import FACES, expand_blocks, strip_citations

ROOT = Path(__file__).resolve().parents[2]
_TARGET = re.compile(r'(?:href|src)="([^"]*)"')
_LOADED = re.compile(r'<(?:script|img|iframe)[^>]+src="([^"]*)"|<link[^>]+rel="stylesheet"[^>]*>')
_MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")
_MARKDOWN_FENCE = re.compile(r"^(`{3,}).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_ID = re.compile(r'\b(?:id|name)="([^"]*)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning of the build is an error."""
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=settings, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def find_dead_links(site: Path) -> list[str]:
    """Return the links of the site that lead nowhere, with their pages."""
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    anchors = {page: set(_ID.findall(text)) for page, text in texts.items()}
    dead: list[str] = []
    for page, text in texts.items():
        for link in set(_TARGET.findall(text)):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or parts.netloc or page.name == "404.html":
                continue
            place = unquote(posixpath.normpath(posixpath.join(page.parent, parts.path)))
            target = page if not parts.path else Path(place)
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                dead.append(f"{page.relative_to(site)}: {link}")
            elif parts.fragment and target.suffix == ".html":
                if unquote(parts.fragment) not in anchors[target]:
                    dead.append(f"{page.relative_to(site)}: {link}")
    return sorted(dead)


@pytest.mark.service
def test_no_link_is_dead(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 80
    assert not find_dead_links(site)


@pytest.mark.service
def test_nothing_is_loaded_from_other_machines(site: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    loaded = {match[0] for text in pages for match in _LOADED.finditer(text)}
    assert loaded
    assert not [tag for tag in loaded if re.search(r'(?:src|href)="(?:https?:)?//', tag)]


@pytest.mark.service
def test_every_page_has_a_markdown_twin_in_the_list_for_agents(site: Path) -> None:
    listed = re.findall(r"^- \[.+?\]\((.+?)\): ", (site / "llms.txt").read_text("utf-8"), re.M)
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    expected = {
        page.removesuffix(".html") for page in pages if not page.startswith(("source/", "404"))
    }
    twins = {path.removesuffix(".md") for path in listed}
    assert {twin.replace("README", "index") for twin in twins} == expected
    for path in listed:
        text = (site / path).read_text(encoding="utf-8")
        assert len(text) > 100 and ":::" not in text


@pytest.mark.service
def test_no_link_of_a_markdown_twin_is_dead(site: Path) -> None:
    dead = [
        f"{page.relative_to(site)}: {link}"
        for page in site.rglob("*.md")
        for link in _MARKDOWN_LINK.findall(_MARKDOWN_FENCE.sub("", page.read_text("utf-8")))
        if not urlsplit(link).scheme and not (page.parent / link.partition("#")[0]).exists()
    ]
    assert (site / "source" / "Dockerfile.md").exists()
    assert not dead


@pytest.mark.service
def test_the_search_knows_the_tutorial_and_the_reference(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"tutorial/01-first-agent.html", "reference/agents.html"} <= places
    assert not [place for place in places if place.startswith("source/")]


@pytest.mark.service
def test_every_public_name_is_described(site: Path) -> None:
    page = (site / "reference" / "runners.html").read_text(encoding="utf-8")
    for word in ("run_async", "resume_open", "session_service", "max_attempts"):
        assert word in page
    for face in FACES:
        assert (site / "reference" / f"{face.removeprefix('ostinato.')}.html").exists()


def test_a_dead_link_and_a_missing_heading_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h2 id="there">B</h2>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="#top">4</a><a href="https://example.org">5</a>'
    )
    found = find_dead_links(tmp_path)
    assert found == ["a.html: #top", "a.html: b.html#gone", "a.html: c.html"]


def test_every_page_is_in_the_navigation() -> None:
    """Or in a folder whose own index leads to it, as the decisions are."""
    listed = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path.parent.name != "decisions"
    }
    assert pages <= listed


def test_links_that_leave_the_documents_lead_to_pages_with_the_source() -> None:
    text = "[a](../src/ostinato/runners.py) [b](models.md) [c](https://x.org) [d](../README.md)"
    assert source_pages.find_outside_links(text, "") == {
        "../src/ostinato/runners.py": "src/ostinato/runners.py",
        "../README.md": "README.md",
    }
    assert source_pages.rewrite_links(text, "").startswith("[a](source/src/ostinato/runners.py.md)")


def test_the_page_of_a_folder_shows_its_readme_and_files() -> None:
    page = source_pages.make_page("examples/weather")
    assert "## agent.py" in page and "def get_weather" in page and "](../" not in page


def test_the_reference_cites_no_specification() -> None:
    text = strip_citations(
        "Run an app (Spec 1 §3, Spec 2 §1). An app (FEATURES row 216). (See it.)"
    )
    assert text == "Run an app. An app. (See it.)"


def test_a_block_of_the_reference_is_written_out_for_agents() -> None:
    text = expand_blocks("## Budget\n\n::: ostinato.errors.ToolTimeoutError\n\nend\n")
    assert "class ToolTimeoutError(DeveloperError, TimeoutError)" in text
    assert "A tool ran longer than" in text and text.endswith("end\n")
