"""Simulations of agents and graphs that ask people: nothing that was answered is passed over."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ostinato.testing import simulate
from tests.model.model import rewind
from tests.model.shapes import SHAPES, make_app


@pytest.mark.long
@pytest.mark.parametrize("model", ["own", None], ids=["planned", "by chance"])
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("make", SHAPES)
def test_every_answer_is_acted_on(make: Any, resumable: bool, model: Any) -> None:
    app = partial(make_app, make, resumable=resumable)
    simulate(app, seed=500, runs=6, model=model, host_actions={"rewind": rewind}).assert_held()
