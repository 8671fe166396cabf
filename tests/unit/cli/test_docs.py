"""`ostinato docs`: where the site is, what serves it, and what is said without one."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from ostinato.cli import docs
from ostinato.cli.cli_error import CliError
from ostinato.cli.main import main


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "index.html").write_text("<h1>Ostinato</h1>")
    monkeypatch.setattr(docs, "PLACES", (tmp_path / "absent", tmp_path))
    return tmp_path


def test_the_folder_of_the_site_is_printed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "--where"]) == 0
    assert capsys.readouterr().out == f"{site}\n"


def test_without_a_site_the_command_says_what_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "PLACES", (tmp_path / "absent",))
    assert main(["docs"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "make docs-site" in said
    assert "`ostinato docs SessionBusyError`, explains an error" in said


@pytest.mark.parametrize(
    "name", ["SessionBusyError", "sessionbusyerror", "ostinato.errors.SessionBusyError"]
)
def test_an_error_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 0
    title, _, cause, *rest = capsys.readouterr().out.splitlines()
    assert title == "SessionBusyError"
    assert cause.startswith("Cause. Another invocation runs in the session")
    assert any(line.startswith("Remedy. Wait for the first run") for line in rest)


def test_an_unknown_error_is_told_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["docs", "SessionBusy"]) == 2
    assert "Did you mean SessionBusyError?" in capsys.readouterr().err


def test_an_installation_without_the_page_of_errors_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "ERROR_PAGES", ())
    assert main(["docs", "SessionBusyError"]) == 1
    assert "no page of errors" in capsys.readouterr().err


def test_the_site_is_served_on_the_loopback_address_and_nothing_beside_it(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.parent / "secret.txt").write_text("secret")
    with docs.make_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            host, port = server.server_address[:2]
            assert host == "127.0.0.1"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html") as answer:
                assert answer.read() == b"<h1>Ostinato</h1>"
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/../secret.txt")
        finally:
            server.shutdown()
            thread.join()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("options", "opened"), [([], 1), (["--no-browser"], 0)])
def test_the_command_opens_a_browser_and_ends_with_ctrl_c(
    site: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], opened: int
) -> None:
    urls: list[str] = []

    def interrupt(server: ThreadingHTTPServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(docs.webbrowser, "open", urls.append)
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupt)
    assert main(["docs", *options]) == 0
    assert len(urls) == opened
    assert all(url.startswith("http://127.0.0.1:") for url in urls)


def test_a_port_in_use_is_named(site: Path) -> None:
    with docs.make_server(site, 0) as server:
        port = server.server_address[1]
        with pytest.raises(CliError, match=f"Port {port} cannot be used"):
            docs.make_server(site, port)


def test_a_port_that_does_not_exist_is_named(site: Path) -> None:
    with pytest.raises(CliError, match="Port 99999 cannot be used"):
        docs.make_server(site, 99999)
