"""`--db`: what a path and a URL name, which are refused, and that no password is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.hosting.setup_error import SetupError
from ostinato.hosting.store_address import mask_secrets, parse_store
from ostinato.server.settings import ServerSettings


@pytest.mark.parametrize(
    ("db", "kind", "target"),
    [
        ("sessions.db", "file", "sessions.db"),
        ("./ann:b@c/db", "file", "ann:b@c/db"),
        ("a folder/b:c.db", "file", "a folder/b:c.db"),
        ("sqlite:///sessions.db", "file", "sessions.db"),
        ("sqlite:////srv/sessions.db", "file", "/srv/sessions.db"),
        ("sqlite+aiosqlite:///sessions.db", "file", "sessions.db"),
        ("postgresql://ann:pw@host/db", "server", "postgresql+asyncpg://ann:pw@host/db"),
        ("postgres://ann@host:5433/db", "server", "postgresql+asyncpg://ann@host:5433/db"),
        ("PostgreSQL+asyncpg://host/db", "server", "postgresql+asyncpg://host/db"),
        (
            "postgresql://ann@host/db?sslmode=require",
            "server",
            "postgresql+asyncpg://ann@host/db?ssl=require",
        ),
        ("mysql://ann@host/db", "server", "mysql+aiomysql://ann@host/db"),
        ("mariadb+asyncmy://ann@host/db", "server", "mariadb+asyncmy://ann@host/db"),
    ],
)
def test_paths_and_urls_name_stores(db: str, kind: str, target: str) -> None:
    address = parse_store(db)
    assert (address.kind, address.target) == (kind, target)


@pytest.mark.parametrize(
    ("db", "words"),
    [
        ("mongodb://ann:geheim@host/db", "names 'mongodb', which is not a session store"),
        ("postgresql:/ann:geheim@host/db", "begins with 'postgresql:' without '//'"),
        ("postgresql://ann:geheim@host", "names no database"),
        ("sqlite://sessions.db", "has two slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("memory://", "is lost when its process ends"),
        ("agentengine://1", "only `ostinato serve`, `web` and `mcp`"),
        (" ", "--db is empty"),
        ("ann:geheim@127.0.0.1/db", "write postgresql://ann:***@127.0.0.1/db"),
        ("ann:geheim@host:5432/db?ssl=on", "looks like a URL without a scheme"),
    ],
)
def test_what_names_no_store_is_refused(db: str, words: str) -> None:
    with pytest.raises(SetupError) as refused:
        parse_store(db)
    assert words in refused.value.message
    assert "geheim" not in refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:geheim@host/db",
        "postgresql://ann:ge/he@im:geheim@host/db cannot be reached",
        "failed: ('mysql+aiomysql://root:geheim@host:3306/db?charset=utf8',)",
        "postgresql://host/db?user=ann&password=geheim&ssl=require",
        "postgresql://:geheim@host/db",
        "see http://x/a?next=postgresql://ann:geheim@host/db",
    ],
)
def test_passwords_are_masked(text: str) -> None:
    masked = mask_secrets(text)
    assert "geheim" not in masked and "***" in masked and "host" in masked


def test_what_holds_no_password_stays() -> None:
    for text in ("http://127.0.0.1:8000/a", "postgresql://ann@host/db", "a@b: see https://x/@y"):
        assert mask_secrets(text) == text


def test_a_repr_shows_no_password_and_no_token() -> None:
    secret = "postgresql://ann:geheim@host/db"
    assert "geheim" not in repr(parse_store(secret))
    settings = ServerSettings(agents=Path(), db=secret, token="geheim")
    assert "geheim" not in repr(settings)
