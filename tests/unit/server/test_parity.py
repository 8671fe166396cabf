"""Our answers beside those of google-adk's own server, recorded in `parity/answers.json`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.unit.server.conftest import Serve
from tests.unit.server.parity.steps import STEPS, Labels, body_of

ANSWERS = json.loads((Path(__file__).parent / "parity" / "answers.json").read_text())["answers"]

# Where we answer otherwise, and how.
OTHERWISE: dict[str, tuple[int, str]] = {
    "run without message": (400, "google-adk calls the model on what is there already"),
    "create again": (409, "same status; the body is typed"),
}
# What the runtime of google-adk 2.13 writes into events and that of 2.3.0, which ours is like, does
# not: paths of nodes, empty sets of long-running calls, and one id for all parts of a response.
RUNTIME = {"nodeInfo", "longRunningToolIds"}
# Keys that one of the two leaves out or fills otherwise: texts for people, versions, places.
LOOSE = {"detail", "error", "version", "package", "language_version", "canonicalUri", "hint"}


def comparable(value: Any) -> Any:
    """Leave out what is not held to be the same."""
    if isinstance(value, dict):
        left_out = LOOSE | RUNTIME | ({"id"} if value.get("partial") else set())
        return {k: comparable(v) for k, v in value.items() if k not in left_out}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    return value


def relabelled(value: Any) -> Any:
    """Number the labels of ids within one answer; put lists of sessions in one order."""
    if isinstance(value, list) and all("lastUpdateTime" in str(one) for one in value):
        value = sorted(value, key=lambda one: one["id"])
    numbers: dict[str, str] = {}
    text = re.sub(
        r"#\d+", lambda m: numbers.setdefault(m[0], f"@{len(numbers)}"), json.dumps(value)
    )
    return json.loads(text)


async def test_every_route_answers_as_google_adk_s_server_does(serve: Serve) -> None:
    labels, found, wanted = Labels(), {}, {}
    async with serve(developer=True) as served:
        for name, method, path, body in STEPS:
            headers = {} if body is None else {"content-type": "application/json"}
            content = body if isinstance(body, str | None) else json.dumps(body)
            answer = await served.client.request(method, path, content=content, headers=headers)
            kind = answer.headers.get("content-type", "").partition(";")[0]
            recorded = ANSWERS[name]
            if answer.status_code >= 400:
                assert set(answer.json()) == {"detail", "error"}, name
                assert set(answer.json()["error"]) == {"type", "message"}, name
            status, _ = OTHERWISE.get(name, (recorded["status"], ""))
            assert answer.status_code == status, (name, answer.text)
            if name in OTHERWISE or status >= 400:
                continue
            assert kind == recorded["type"], name
            found[name] = comparable(body_of(kind, answer.text, labels))
            wanted[name] = comparable(recorded["body"])
    assert len(wanted) > 35
    for name, value in wanted.items():
        assert relabelled(found[name]) == relabelled(value), name
