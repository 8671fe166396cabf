"""ContextCacheConfig and CacheMetadata: bounds, defaults, and the provider's notation."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import _clock, types
from ostinato.agents.context_cache_config import ContextCacheConfig
from ostinato.models.cache_metadata import CacheMetadata
from ostinato.testing.clock import FrozenClock


@pytest.mark.spec(212)
def test_a_bare_config_has_the_specified_defaults() -> None:
    config = ContextCacheConfig()
    assert (config.cache_intervals, config.ttl_seconds, config.min_tokens) == (10, 1800, 0)
    assert config.create_http_options is None
    assert config.ttl_string == "1800s"


@pytest.mark.spec(212)
@pytest.mark.parametrize(
    "fields",
    [
        {"cache_intervals": 1},
        {"cache_intervals": 100},
        {"ttl_seconds": 1},
        {"min_tokens": 0},
        {"create_http_options": types.HttpOptions(timeout=1000)},
    ],
)
def test_values_at_the_bounds_are_taken(fields: dict[str, Any]) -> None:
    config = ContextCacheConfig(**fields)
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.spec(212)
@pytest.mark.parametrize(
    "fields",
    [
        {"cache_intervals": 0},
        {"cache_intervals": 101},
        {"ttl_seconds": 0},
        {"ttl_seconds": -1},
        {"min_tokens": -1},
        {"ttl": 60},
    ],
)
def test_values_beyond_the_bounds_and_unknown_fields_are_refused(fields: dict[str, Any]) -> None:
    (name,) = fields
    with pytest.raises(ValidationError, match=name):
        ContextCacheConfig(**fields)


@pytest.mark.spec(212)
def test_a_config_says_what_it_holds() -> None:
    options = types.HttpOptions(timeout=1234, headers={"Authorization": "secret"})
    config = ContextCacheConfig(
        cache_intervals=5, ttl_seconds=60, min_tokens=7, create_http_options=options
    )
    assert config.ttl_string == "60s"
    for said in (
        "cache_intervals=5",
        "60s",
        "min_tokens=7",
        "create_http_options=(headers, timeout)",
    ):
        assert said in str(config)
    assert "secret" not in str(config)
    assert "create_http_options=None" in str(ContextCacheConfig())


@pytest.mark.parametrize("name", ["contents_count", "invocations_used"])
def test_counts_are_not_negative(name: str) -> None:
    active = {"cache_name": "c", "expire_time": 10.0, "invocations_used": 0, "contents_count": 0}
    assert getattr(CacheMetadata(fingerprint="f", **active), name) == 0
    with pytest.raises(ValidationError, match=name):
        CacheMetadata(fingerprint="f", **{**active, name: -1})


def test_a_cache_says_in_one_line_what_a_log_needs() -> None:
    cache = CacheMetadata(
        fingerprint="0123456789abcdef",
        contents_count=7,
        cache_name="projects/p/locations/l/cachedContents/c1",
        expire_time=1000.0 + 90.0,
        invocations_used=3,
    )
    with _clock.replace_sources(time=FrozenClock(1000.0)):
        assert str(cache) == "cache c1: used 3 times, 7 contents, 1.5 minutes left"
    print_only = CacheMetadata(fingerprint="0123456789abcdef", contents_count=2)
    assert str(print_only) == "no cache: fingerprint 01234567, 2 contents"


def test_an_active_cache_is_known_by_name_end_and_use_together() -> None:
    CacheMetadata(fingerprint="f", contents_count=1)
    whole = {"cache_name": "c", "expire_time": 10.0, "invocations_used": 1}
    assert CacheMetadata(fingerprint="f", contents_count=1, **whole).cache_name == "c"
    for left_out in whole:
        some = {k: v for k, v in whole.items() if k != left_out}
        with pytest.raises(ValidationError, match="together"):
            CacheMetadata(fingerprint="f", contents_count=1, **some)


@pytest.mark.parametrize(("left", "soon"), [(119.0, True), (121.0, False)])
def test_a_cache_ends_soon_in_its_last_two_minutes(left: float, soon: bool) -> None:
    clock = FrozenClock(1000.0)
    cache = CacheMetadata(
        fingerprint="f",
        contents_count=1,
        cache_name="c",
        expire_time=1000.0 + left,
        invocations_used=1,
    )
    with _clock.replace_sources(time=clock):
        assert cache.expire_soon is soon
