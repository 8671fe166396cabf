"""The page as it is served: its files, their headers, no token for them; none that is not built."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.cli.main import main
from ostinato.server import page
from tests.unit.server.conftest import Serve


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    folder.joinpath("index.html").write_text("<!doctype html><title>Ostinato</title>")
    folder.joinpath("assets", "index-1.js").write_text("export {};")
    monkeypatch.setattr(page, "FOLDER", folder)
    return folder


async def test_the_page_is_served_below_its_path(serve: Serve, built: Path) -> None:
    async with serve(page=True, url_prefix="/ai") as served:
        home = await served.ask("GET", "/ai/page/")
        assert home.status_code == 200
        assert home.headers["content-security-policy"].startswith("default-src 'none'")
        assert home.headers["cache-control"] == "no-cache"
        script = await served.ask("GET", "/ai/page/assets/index-1.js")
        assert "immutable" in script.headers["cache-control"]
        assert (await served.ask("GET", "/ai/")).headers["location"] == "/ai/page/"
        assert (await served.ask("GET", "/ai/page/assets/../index.html")).status_code in (200, 404)
        assert (await served.ask("GET", "/ai/page/none.js")).status_code == 404


async def test_its_files_need_no_token_but_everything_else_does(serve: Serve, built: Path) -> None:
    async with serve(page=True, token="s3cret") as served:
        assert (await served.ask("GET", "/page/")).status_code == 200
        assert (await served.ask("GET", "/page/assets/index-1.js")).status_code == 200
        assert (await served.ask("GET", "/list-apps")).status_code == 401


async def test_serve_has_no_page(serve: Serve, built: Path) -> None:
    async with serve(page=False) as served:
        assert (await served.ask("GET", "/page/")).status_code == 404


def test_a_checkout_without_a_built_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path / "none")
    assert page.make_routes("") == []
    assert main(["web", str(tmp_path)]) == 1
    assert "make page" in capsys.readouterr().err


def test_a_folder_that_holds_no_page_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["web", str(tmp_path), "--ui-dir", str(tmp_path / "none")]) != 0
    assert "--ui-dir" in capsys.readouterr().err
