"""How properties are tried: as long as it takes. Hypothesis would fail an example that took 200 ms,
and one that was slow to make, which on a busy machine any may be."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_usual = settings()
settings.register_profile(
    "unhurried",
    _usual,
    deadline=None,
    suppress_health_check=[*_usual.suppress_health_check, HealthCheck.too_slow],
)
settings.load_profile("unhurried")
