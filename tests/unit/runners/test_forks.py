"""A process that forks in the middle of a run: the child is another owner; the run stays whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, os, sys, threading
from ostinato.agents import LlmAgent, RunConfig
from ostinato.errors import SessionBusyError
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel, call, final_text

NAMES = {"user_id": "ann", "session_id": "one"}
child = 0

def runner(tools, script):
    service = SqliteSessionService(sys.argv[1], synchronous="NORMAL")
    agent = LlmAgent(name="clerk", model=ScriptedModel(script), tools=tools)
    return Runner(
        app_name="desk", agent=agent, session_service=service, auto_create_session=True
    )

async def say(one, text, **options):
    try:
        run = one.run_async(**NAMES, new_message=text, **options)
        return final_text([event async for event in run])
    finally:
        await one.close()
        await one.session_service.close()

async def in_child():
    reject = RunConfig(on_busy="reject")
    try:
        await say(runner([], ["Too early."]), "Hi.", run_config=reject)
    except SessionBusyError:
        print("busy", flush=True)

async def fork() -> str:
    "Fork this process."
    global child
    child = os.fork()
    if child == 0:
        asyncio.run(in_child())
        os._exit(0)
    return "forked" if os.waitpid(child, 0)[1] == 0 else "failed"

print(asyncio.run(say(runner([fork], [call("fork"), "Done."]), "Fork.")), flush=True)

async def after():
    service = SqliteSessionService(sys.argv[1])
    session = await service.get_session(app_name="desk", **NAMES)
    print([r.response for e in session.events for r in e.get_function_responses()])
    await service.close()

asyncio.run(after())
"""


def test_a_child_that_is_forked_within_a_run_is_another_owner(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["busy", "Done.", "[{'result': 'forked'}]"]
