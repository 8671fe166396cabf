"""load_web_page: text of a page, its bounds, and every way to where it must not go."""

import gzip
import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ostinato._public_address import is_public
from ostinato.agents import Agent
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.load_web_page import WebPageLoader, load_web_page

PUBLIC = "93.184.215.14"
HTML = "<html><head><title>T</title><style>x{}</style></head><body><p>Hello <b>you</b></p></body>"

# Answers that never end: what comes first, what is repeated, and the seconds between.
DRIPS = {
    "/header": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", 0.01),
    "/no-length": (b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.01),
    "/length": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x", 0.01),
    "/chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.01),
    "/trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 1000, 0.0),
    "/interim": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 0.0),
    "/packed": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", b"\x00\x00\x00\xff\xff" * 1000, 0.0),
}  # fmt: skip


class Site(http.server.ThreadingHTTPServer):
    """A server on the loopback; `pages` are (status, headers, body) by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.seen: list[tuple[str, str]] = []
        self.over = threading.Event()
        self.name = f"127.0.0.1:{self.server_address[1]}"

    def add(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> None:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = status, names, body if isinstance(body, bytes) else body.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers["Host"]))
        if self.path in DRIPS:
            self.drip(*DRIPS[self.path])
            return
        status, headers, body = self.server.pages[self.path]
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            return  # The loader has seen enough.

    def drip(self, begin: bytes, piece: bytes, pause: float) -> None:
        """Send an answer that never ends."""
        self.close_connection = True
        try:
            self.wfile.write(begin)
            while not self.server.over.wait(pause):
                self.wfile.write(piece)
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def load(site: Site, path: str, **options: Any) -> str:
    return WebPageLoader(allowed_servers=[site.name], **options).load_web_page(
        f"http://{site.name}{path}"
    )


def test_the_text_of_a_page(site: Site) -> None:
    site.add("/a", HTML)
    assert load(site, "/a") == "T\nHello you"
    assert site.seen == [("/a", site.name)]


def test_other_texts_stay_as_they_are(site: Site) -> None:
    site.add("/a", '{"a": "<b>"}', Content_Type="application/json; charset=utf-8")
    assert load(site, "/a") == '{"a": "<b>"}'


def test_bytes_are_refused(site: Site) -> None:
    site.add("/a", b"\x89PNG", Content_Type="image/png")
    assert load(site, "/a").startswith("Failed to fetch url")
    assert "image/png" in load(site, "/a")


def test_an_error_status_is_told(site: Site) -> None:
    site.add("/a", "Go away", status=404)
    assert "status 404" in load(site, "/a")


def test_the_path_is_quoted(site: Site) -> None:
    site.add("/a%20b?q=%C3%A9&x=%20", HTML)
    assert load(site, "/a b?q=é&x=%20#part") == "T\nHello you"


def test_redirects_are_followed(site: Site) -> None:
    site.add("/a", "", status=302, Location="/b")
    site.add("/b", "", status=308, Location=f"http://{site.name}/c")
    site.add("/c", HTML)
    assert load(site, "/a") == "T\nHello you"


@pytest.mark.parametrize("path", ["/\ud800", "/?\udfff", "/a\x00b"])
def test_odd_characters_in_a_path_are_a_result(site: Site, path: str) -> None:
    site.add("/a%00b", "fine")
    assert load(site, path).startswith(("Failed to fetch url", "fine"))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Encoding": "gzip"}, b"no gzip"),
        ({"Content-Encoding": "gzip"}, gzip.compress(b"a" * 100, mtime=0)[:30]),
        ({"Content-Encoding": "br"}, b"a"),
        ({"Transfer-Encoding": "chunked"}, b"zz\r\n"),
        ({"Transfer-Encoding": "chunked"}, b"ffffffffffffffffff\r\na"),
        ({"Content-Length": "-1"}, b"a"),
        ({"Content-Length": "many"}, b"a"),
        ({"Content-Type": "text/html; charset=punycode"}, b"a"),
        ({"Content-Type": "text/html; charset=\u00e9"}, b"a"),
        ({"Content-Type": ";;;"}, b"a"),
    ],
)
def test_odd_answers_are_results(site: Site, headers: dict[str, str], body: bytes) -> None:
    site.pages["/a"] = 200, headers, body
    assert load(site, "/a", seconds=30.0).startswith(("Failed to fetch url", "a"))


def test_redirects_end(site: Site) -> None:
    site.add("/a", "", status=302, Location="/a")
    assert "more than 3 redirects" in load(site, "/a", redirects=3)
    assert len(site.seen) == 4


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "//10.0.0.1/",
        "http://168.63.129.16/",
        "http://[",
        "//[",
        "http://example.com:x/",
        "http://[::1]:99999999999/",
        "https://",
        "http://.example.com/",
        "data:text/html,a",
        "about:blank",
        "http://user:word@example.com/",
    ],
)
def test_no_redirect_leads_inside(site: Site, target: str) -> None:
    site.add("/a", "", status=302, Location=target)
    assert load(site, "/a").startswith("Failed to fetch url")
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://0x7f.0.0.1/",
        "http://127.0.0.1./",
        "http://168.63.129.16/",
        "http://192.0.0.192/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127\u3002\uff10.0.1/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fe80::1%25lo]/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://localhost/",
        "http://localhost./",
        "http://a.LOCALHOST/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "https://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "example.com",
        "http://",
        "http:///path",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://user:word@example.com/",
        "http://exa mple.com/",
        "http://[::1",
        "http://[",
        "http://[v1.x]/",
        "http://[::1]:x/",
        "http://example.com:\u0662/",
        "http://.example.com/",
        "http://a..example.com/",
        "https://./",
        "http://\ud800.com/",
        "//example.com/",
        "http:example.com",
        "data:text/html,a",
        "http://" + "a" * 300 + ".com/",
        "",
    ],
)
def test_what_is_never_asked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*args: Any, **options: Any) -> Any:
        raise AssertionError(f"it connected to {args}")

    monkeypatch.setattr(socket, "create_connection", connect)
    assert load_web_page(url).startswith("Failed to fetch url")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        (PUBLIC, True),
        ("2606:4700:4700::1111", True),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::808:808", True),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b:1::1", False),
        ("2002:7f00:1::", False),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("::127.0.0.1", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("240.0.0.1", False),
        ("0.1.2.3", False),
        ("168.63.129.16", False),
        ("168.63.129.17", True),
        ("::ffff:168.63.129.16", False),
        ("64:ff9b::a83f:8110", False),
        ("192.0.0.8", False),
        ("192.0.0.10", False),
        ("192.0.0.192", False),
        ("192.88.99.1", False),
        ("100.100.100.200", False),
        ("::", False),
        ("::ffff:0:7f00:1", False),
        ("2001:db8::1", False),
        ("2001:20::1", False),
        ("2002:808:808::", False),
        ("3fff::1", False),
        ("4000::1", False),
        ("5f00::1", False),
        ("100::1", False),
        ("fd00:ec2::254", False),
        ("2606:4700::5efe:a00:1", False),
        ("2606:4700::200:5efe:7f00:1", False),
        ("no address", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


class Names:
    """Stands for the resolver: answers each lookup with the next list of addresses."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.lookups: list[str] = []

    def __call__(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        self.lookups.append(host)
        return [(0, 0, 0, "", (address, port)) for address in self.answers.pop(0)]


@pytest.fixture
def dialled(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Connections go to the site, whatever address is dialled; the list says which was."""
    found: list[Any] = []
    connect: Any = socket.create_connection
    real = site.server_address[:2]

    def dial(address: Any, *args: Any, **options: Any) -> Any:
        found.append(address)
        lookup, socket.getaddrinfo = socket.getaddrinfo, _real_lookup
        try:
            return connect(real, *args, **options)
        finally:
            socket.getaddrinfo = lookup

    monkeypatch.setattr(socket, "create_connection", dial)
    return found


_real_lookup = socket.getaddrinfo


def test_a_name_that_changes_its_mind_gains_nothing(
    site: Site, dialled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", names)
    site.add("/a", HTML)
    assert load_web_page("http://evil.example:8080/a") == "T\nHello you"
    assert names.lookups == ["evil.example"]
    assert dialled == [(PUBLIC, 8080)]
    assert site.seen == [("/a", "evil.example:8080")]


def test_each_hop_is_looked_up_and_checked(
    site: Site, dialled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", names)
    site.add("/a", "", status=302, Location="/b")
    site.add("/b", HTML)
    assert "does not lead to a public address" in load_web_page("http://evil.example/a")
    assert names.lookups == ["evil.example", "evil.example"]
    assert dialled == [(PUBLIC, 80)]


def test_one_private_address_among_others_is_enough(
    dialled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Names([PUBLIC, "10.0.0.1"]))
    assert "public address" in load_web_page("http://evil.example/")
    assert dialled == []


def test_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert "nowhere.example cannot be found" in load_web_page("http://nowhere.example/")


def test_the_certificate_has_to_be_the_names(
    dialled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []

    class Context:
        def set_alpn_protocols(self, protocols: list[str]) -> None:
            assert protocols == ["http/1.1"]

        def wrap_socket(self, sock: Any, *, server_hostname: str, **options: Any) -> Any:
            checked.append(server_hostname)
            sock.close()
            raise ssl.SSLCertVerificationError("not the name's")

    monkeypatch.setattr(ssl, "create_default_context", Context)
    monkeypatch.setattr(socket, "getaddrinfo", Names([PUBLIC]))
    assert "SSLCertVerificationError" in load_web_page("https://shop.example/")
    assert checked == ["shop.example"]
    assert dialled == [(PUBLIC, 443)]


def test_proxies_are_not_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://{site.name}")
    monkeypatch.setenv("HTTP_PROXY", f"http://{site.name}")
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: (_ for _ in ()).throw(OSError))
    monkeypatch.setattr(socket, "getaddrinfo", Names([PUBLIC]))
    assert "connection failed" in load_web_page("http://shop.example/")
    assert site.seen == []


def test_the_allow_list_is_exact(site: Site) -> None:
    site.add("/a", HTML)
    port = site.server_address[1]
    for allowed in ([], ["127.0.0.1"], [f"127.0.0.1:{port + 1}"], [f"localhost:{port}"]):
        answer = WebPageLoader(allowed_servers=allowed).load_web_page(f"http://{site.name}/a")
        assert "public address" in answer
    assert site.seen == []


def test_long_pages_are_cut(site: Site) -> None:
    site.add("/a", "<p>" + "word " * 100_000)
    answer = load(site, "/a", body_bytes=1000)
    assert answer.startswith("word word")
    assert len(answer) < 1100
    assert answer.endswith("[The page is longer; this is its beginning.]")
    answer = load(site, "/a", characters=50)
    assert len(answer) < 120 and "The page is longer" in answer


def test_packed_pages_are_unpacked_within_bounds(site: Site) -> None:
    site.add("/a", gzip.compress(HTML.encode()), Content_Encoding="gzip")
    site.add("/bomb", gzip.compress(b"a" * 50_000_000), Content_Encoding="gzip")
    site.add("/broken", b"no gzip", Content_Encoding="gzip")
    site.add("/other", b"x", Content_Encoding="br")
    assert load(site, "/a") == "T\nHello you"
    assert len(load(site, "/bomb", body_bytes=1000)) < 1100
    assert "connection failed" in load(site, "/broken")
    assert "packed the page as br" in load(site, "/other")


@pytest.mark.parametrize("path", DRIPS)
def test_a_server_that_never_ends_its_answer_is_given_up(site: Site, path: str) -> None:
    # The HTTP parser bounds trailers before the time is over.
    reason = "connection failed" if path == "/trailers" else "no answer within 0.05 seconds"
    assert reason in load(site, path, seconds=0.05)


@pytest.mark.parametrize("url", [None, 5, b"http://example.com/", ["http://example.com/"]])
def test_an_address_that_is_no_text_is_a_result(url: Any) -> None:
    assert load_web_page(url).startswith("Failed to fetch url: the address has to be a text")


def test_failures_are_short(site: Site) -> None:
    long = "a" * 60_000
    site.add("/type", "x", Content_Type=f"image/{long}")
    site.add("/packing", "x", Content_Encoding=long)
    site.add("/away", "", status=302, Location=f"/{long}")
    for path in ("/type", "/packing", "/away", f"/{long}"):
        answer = load(site, path)
        assert answer.startswith("Failed") and len(answer) < 600
    assert len(load_web_page(f"http://{long}.example/")) < 600


@pytest.mark.parametrize("url", ["http://evil.example\\@127.0.0.1/", "http:\\\\127.0.0.1/"])
def test_an_address_with_a_backslash_is_refused(url: str) -> None:
    assert "backslash" in load_web_page(url)


async def test_a_run_loads_a_page(site: Site) -> None:
    site.add("/a", HTML)
    loader = WebPageLoader(allowed_servers=[site.name])
    model = ScriptedModel([call("load_web_page", url=f"http://{site.name}/a"), "Read."])
    talk = Conversation(Agent(name="root", model=model, tools=[loader.load_web_page]))
    await talk.say("Read")
    assert model.requests[1].function_responses[0].response == {"result": "T\nHello you"}
