"""Hooks of the site's build: links to the source, diagrams, and Markdown for coding agents."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from docs.site import reference_pages, source_pages  # noqa: E402
from docs.site.diagram import draw_diagram  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

_MERMAID = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_TWINS: dict[str, tuple[str, str]] = {}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the reference, and those of the linked source files."""
    _TWINS.clear()  # `mkdocs serve` builds again in the same process
    pages = dict(reference_pages.make_pages())
    for file in list(files.documentation_pages()):
        folder = str(Path(file.src_uri).parent).replace(".", "", 1)
        for place in source_pages.find_outside_links(file.content_string, folder).values():
            pages[source_pages.page_of(place)] = source_pages.make_page(place)
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links that leave the documents, and draw the diagrams."""
    uri = page.file.src_uri
    folder = uri.rpartition("/")[0]
    if not uri.startswith("source/"):
        markdown = source_pages.rewrite_links(markdown, folder)
    title = _TITLE.search(markdown)
    _TWINS[uri] = (title[1] if title else uri, reference_pages.expand_blocks(markdown))
    return _MERMAID.sub(lambda match: f"\n<div>{draw_diagram(match[1])}</div>\n", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Leave out the numbers of the specification, which readers of the reference do not have."""
    is_reference = page.file.src_uri.startswith("reference/")
    return reference_pages.strip_citations(html) if is_reference else html


def on_post_build(config: Any) -> None:
    """Write the Markdown of each page beside it, and the list of them for coding agents."""
    site = Path(config["site_dir"])
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", ""]
    folder = None
    for uri in sorted(_TWINS, key=lambda uri: (uri.rpartition("/")[0], uri)):
        title, text = _TWINS[uri]
        place = site / uri
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if uri.startswith("source/"):
            continue
        if folder != uri.rpartition("/")[0]:
            folder = uri.rpartition("/")[0]
            lines += ["", f"## {folder or 'Pages'}", ""]
        lines.append(f"- [{title}]({uri}): {_summarize(text)}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _summarize(text: str) -> str:
    """Return the first sentence below the title."""
    body = re.sub(r"^---\n.*?^---\n|^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", body):
        words = " ".join(paragraph.split())
        if words and words[0] not in "#|`<-:!":
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
            return re.split(r"(?<=[.:])\s", words)[0]
    return ""
