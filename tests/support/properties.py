"""How properties are tried: as long as it takes. Hypothesis would fail an example that took 200 ms,
and one that was slow to make, which on a busy machine any may be. `make test` tries fewer."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.support.tries import tries

_usual = settings()
settings.register_profile(
    "unhurried",
    _usual,
    deadline=None,
    max_examples=tries(_usual.max_examples),
    suppress_health_check=[*_usual.suppress_health_check, HealthCheck.too_slow],
)
settings.load_profile("unhurried")
