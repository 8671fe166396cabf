"""One worker of `tests.fuzz.run`: a server of its own, and cases for each of its operations, those
of A2A and MCP too, which protocols.py describes.

    python -m tests.fuzz.attack CASES SEED

Half of the cases name what exists, for a path of chance alone gets no further than a 404.
"""

from __future__ import annotations

import collections
import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .protocols import PROTOCOLS, paths

AGENTS = Path(__file__).parent / "agents"
PATIENCE = 60.0  # seconds
KNOWN = {"app": "desk", "user": "ann", "session": "s", "name": "kept.txt", "version": "0"}
FIELDS = {"appName": "desk", "userId": "ann", "sessionId": "s"}
SHOWN = 10
ROUNDS = 5
EVERY_CHECK: list[Any] = list(HealthCheck)


class Attack:
    """Cases against one server; counts the answers and keeps those that are wrong."""

    def __init__(self, base: str, seed_: int) -> None:
        self._base = base
        self._seed = seed_
        self._http = requests.Session()
        self._task = ""
        self.answers: collections.Counter[int] = collections.Counter()
        self.wrong: list[str] = []

    def prepare(self) -> None:
        """Put the session that is named into place again; it may have been deleted."""
        place = f"{self._base}/apps/desk/users/ann/sessions/s"
        if self._http.get(place).status_code == 404:
            self._http.post(place, json={})
            message = {"role": "user", "parts": [{"text": "hi"}]}
            self._http.post(f"{self._base}/run", json={**FIELDS, "newMessage": message})
        if not self._task:
            message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
            sent = {"message": {**message, "contextId": FIELDS["sessionId"]}}
            version = {"a2a-version": "1.0"}
            path = f"{self._base}/a2a/desk/message:send"
            self._task = self._http.post(path, json=sent, headers=version).json()["task"]["id"]

    def operation(self, operation: Any, cases: int) -> None:
        """Send an operation so many cases, valid and invalid ones."""
        modes = schemathesis.GenerationMode
        made = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])

        self._seed += 1_000_000

        @seed(self._seed)
        @settings(
            max_examples=cases,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=EVERY_CHECK,
        )
        @given(made, st.sampled_from(("nothing", "path", "all", "all")))
        def attack(case: Any, known: str) -> None:
            self._send(case, known)

        attack()

    def _send(self, case: Any, known: str) -> None:
        if known != "nothing" and isinstance(case.path_parameters, dict):
            case.path_parameters.update(
                {name: KNOWN[name] for name in case.path_parameters if name in KNOWN}
            )
            if "task" in case.path_parameters:
                case.path_parameters["task"] = self._task
        if known == "all" and isinstance(case.body, dict):
            case.body.update({name: value for name, value in FIELDS.items() if name in case.body})
            self._name_task(case.body.get("params", case.body), "id")
            self._name_task(case.body.get("message"), "taskId")
        if case.path.endswith("/events/stream"):  # without it the stream goes on for ever
            case.query = {**(case.query or {}), "until": "idle"}
        if sum(self.answers.values()) % 50 == 0:
            self.prepare()
        try:
            answer = case.call(base_url=self._base, session=self._http, timeout=PATIENCE)
        except Exception as error:  # boundary: no answer is a finding, whatever the reason
            self.answers[0] += 1
            self._note(case, f"no answer: {error!r}")
            return
        self.answers[answer.status_code] += 1
        if answer.status_code >= 500 or (answer.status_code >= 400 and not _is_typed(answer)):
            self._note(case, f"{answer.status_code}: {answer.text[:300]}")

    def _name_task(self, told: Any, field: str) -> None:
        """Name the task and the context that exist, where one of each is named."""
        if isinstance(told, dict):
            known = {field: self._task, "contextId": FIELDS["sessionId"]}
            told.update({name: value for name, value in known.items() if name in told})
            self._name_task(told.get("message"), "taskId")

    def _note(self, case: Any, what: str) -> None:
        self.wrong.append(f"{what}\n  {case.as_curl_command()[:2000]}")


def _is_typed(answer: Any) -> bool:
    try:
        told = json.loads(answer.content)
        if answer.request.path_url.startswith(PROTOCOLS):  # which have forms of their own
            return "error" in told
        return {"detail", "error"} == set(told)
    except (ValueError, TypeError):
        return answer.request.method == "HEAD"


def main(cases: int, seed_: int) -> int:
    """Run one server and its cases; return 1 where an answer was wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log.txt").open("wb") as log:
        command = [sys.executable, "-m", "ostinato", "serve", str(AGENTS), "--port", "0"]
        server = subprocess.Popen(
            [*command, "--grace", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None, Path(folder, "log.txt").read_text()
            attack = Attack(found[0], seed_)
            attack.prepare()
            document = requests.get(f"{found[0]}/openapi.json", timeout=PATIENCE).json()
            document["paths"].update(paths())
            schema = schemathesis.openapi.from_dict(document)
            operations = [one.ok() for one in schema.get_all_operations()]
            for _ in range(ROUNDS):  # operations without parameters have few cases
                left = cases - sum(attack.answers.values())
                for operation in operations if left > 0 else ():
                    attack.operation(operation, -(-left // len(operations)))
        finally:
            server.terminate()
            server.wait(30)
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(attack.answers.items()))
    print(f"seed {seed_}: {sum(attack.answers.values())} cases, {counts}", flush=True)
    for one in attack.wrong[:SHOWN]:
        print(one, flush=True)
    if len(attack.wrong) > SHOWN:
        print(f"... and {len(attack.wrong) - SHOWN} more", flush=True)
    return 1 if attack.wrong or sum(attack.answers.values()) < cases else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
