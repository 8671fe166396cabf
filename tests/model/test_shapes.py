"""Simulations of agents and graphs that ask people: nothing that was answered is passed over."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ostinato.testing import Host, simulate
from tests.model.shapes import SHAPES, make_app


async def rewind(host: Host) -> None:
    said = [event.invocation_id for event in host.events if event.author == "user"]
    if said:
        await host.runner.rewind_async(
            user_id=host.user_id,
            session_id=host.session_id,
            rewind_before_invocation_id=host.choose(said),
        )


@pytest.mark.long
@pytest.mark.parametrize("model", ["own", None], ids=["planned", "by chance"])
@pytest.mark.parametrize("make", SHAPES)
def test_every_answer_is_acted_on(make: Any, model: Any) -> None:
    app = partial(make_app, make)
    simulate(app, seed=500, runs=6, model=model, host_actions={"rewind": rewind}).assert_held()
