"""A crew: real `ostinato worker` processes on one store, an agent for them, and a look at the store
from outside.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

from ostinato.agents import LlmAgent
from ostinato.events import Event
from ostinato.hosting.command_runners import store_of
from ostinato.runners import Runner
from ostinato.sessions.store.durable_store import Lease, Place
from tests.support.databases import execute
from tests.unit.flows.kit import unanswered
from tests.unit.workers.gate import DEADLINE, Gate

APP, USER = "desk", "ann"

AGENT = '''
import asyncio, json, os, signal

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.models import BaseLlm
from ostinato.models.llm_response import LlmResponse


async def report(kind, text):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["GATE_PORT"]))
    try:
        line = json.dumps({"kind": kind, "text": text, "pid": os.getpid()})
        writer.write(line.encode() + b"\\n")
        await writer.drain()
        await reader.readline()
    finally:
        writer.close()


async def pay(what: str) -> str:
    """Pay."""
    await report("pay", what)
    return "paid"


class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response is not None:
            part = types.Part(text="Paid.")
        else:
            await report("model", last.text)
            if last.text.startswith("poison"):
                os.kill(os.getpid(), signal.SIGKILL)
            if last.text.startswith("fail"):
                raise ValueError("no luck")
            if last.text.startswith("pay"):
                call = types.FunctionCall(name="pay", args={"what": last.text})
                part = types.Part(function_call=call)
            else:
                part = types.Part(text=f"Answer to {last.text}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = LlmAgent(name="root", model=Model(model="gate"), tools=[pay])
'''


class Worker:
    """A worker process, and the lines it has written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid = process.pid
        self.lines: list[str] = []
        self._news = asyncio.Condition()
        self._ended = False
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            async with self._news:
                self.lines.append(line.decode().rstrip())
                self._news.notify_all()
        async with self._news:
            self._ended = True
            self._news.notify_all()

    async def line(self, *words: str) -> str:
        """Wait for a line with all these words."""

        def found() -> list[str]:
            return [line for line in self.lines if all(word in line for word in words)]

        async with asyncio.timeout(DEADLINE), self._news:
            await self._news.wait_for(lambda: found() or self._ended)
        assert found(), f"it ended without a line of {words}:\n" + "\n".join(self.lines)
        return found()[0]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; return its exit code."""
        async with asyncio.timeout(DEADLINE):
            code = await self.process.wait()
            await self._reader
        return code

    async def kill(self) -> None:
        """Kill it where it still runs, and wait for its end."""
        if self.process.returncode is None:
            self.process.kill()
        await self.ended()


class Crew:
    """Workers on one store.

    Args:
      db: what `--db` names.
      folder: where the agent is made.
      gate: where the agent reports.
      options: further arguments of each worker.
    """

    def __init__(self, db: str, folder: Path, gate: Gate, *options: str) -> None:
        self.db = db
        self.gate = gate
        self.service, _ = store_of(db)
        agent = LlmAgent(name="root", model="offline")
        self.runner = Runner(
            agent=agent, app_name=APP, session_service=self.service, auto_create_session=True
        )
        self.path = folder / APP
        self.path.mkdir()
        (self.path / "agent.py").write_text(AGENT, "utf-8")
        self._folder = folder
        self._options = options
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Crew:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        await self.runner.close()
        await self.service.close()

    async def hire(self, *options: str) -> Worker:
        """Start a worker, and wait until it has started.

        Its leases last longer than any test: one ends because `expire` ends it, or its owner died.
        """
        command = ["-m", "ostinato", "worker", str(self.path), "--db", self.db]
        worker = await self.start(*command, "--lease", "600", *self._options, *options)
        await worker.line("working for")
        return worker

    async def start(self, *arguments: str) -> Worker:
        """Start a Python program beside the agent's folder."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            cwd=self._folder,
            env={**os.environ, "GATE_PORT": str(self.gate.port)},
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        worker = Worker(process)
        self._stack.push_async_callback(worker.kill)
        return worker

    async def submit(self, session: str, text: str, **options: Any) -> str:
        return await self.runner.submit(
            user_id=USER, session_id=session, new_message=text, **options
        )

    async def said(self, session: str) -> list[str]:
        """What users and agents said, in order; checks that the log is sound."""
        log = await self.log(session)
        assert len({event.id for event in log}) == len(log)
        assert unanswered(log) == []
        return [
            part.text
            for event in log
            for part in (event.content.parts if event.content else None) or ()
            if part.text
        ]

    async def log(self, session: str) -> list[Event]:
        found = await self.service.get_session(app_name=APP, user_id=USER, session_id=session)
        assert found is not None
        return list(found.events)

    async def lease(self, session: str) -> Lease:
        found = await self.service.lease(Place(APP, USER, session))
        assert found is not None
        return found

    async def move_leases(self) -> None:
        """Make the leases look as if their owners' processes were on another machine."""
        await self._change(f"UPDATE {self._leases} SET process = 'elsewhere|boot|ns|1|1'")

    async def expire(self) -> None:
        """End the time of all leases and taken messages; nobody may be renewing them."""
        await self._change(
            f"UPDATE {self._leases} SET expires = 0", "UPDATE ostinato_inbox SET expires = 0"
        )

    async def renewed(self, session: str) -> None:
        """Wait until a lease has just been renewed: its owner writes nothing for a while."""
        async with asyncio.timeout(DEADLINE):
            left = (await self.lease(session)).left
            while (now := (await self.lease(session)).left) <= left:
                left = now

    async def put_to_sleep(self, worker: Worker, session: str) -> None:
        """Stop a worker that holds a session, at a time when it does not hold the store as well."""
        while True:
            await self.renewed(session)
            worker.send(signal.SIGSTOP)
            if await self._is_free():
                return
            worker.send(signal.SIGCONT)

    async def _is_free(self) -> bool:
        """Tell whether somebody else can write; a server's locks are of rows alone."""
        if "://" in self.db:
            return True
        with closing(sqlite3.connect(self.db, timeout=0.5, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            db.execute("ROLLBACK")
        return True

    @property
    def _leases(self) -> str:
        return "ostinato_sessions" if "://" in self.db else "ostinato_lease"

    async def _change(self, *statements: str) -> None:
        if "://" in self.db:
            await asyncio.to_thread(execute, self.db, *statements)
            return
        with closing(sqlite3.connect(self.db)) as db, db:
            for statement in statements:
                db.execute(statement)

    async def idle(self) -> None:
        """Wait until nothing waits and nothing is open."""
        async with asyncio.timeout(DEADLINE):
            while await self.service.waiting_places(APP) or await self.service.open_leases(APP):
                await asyncio.to_thread(lambda: None)
