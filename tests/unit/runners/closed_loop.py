"""A program that closes an event loop in the middle of a tool, and talks on in new ones.

    python -m tests.unit.runners.closed_loop sessions.db

Prints the answer of another owner of the session, then that of the same one, and ends at once:
Python cannot tidy up what a closed loop has left.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ostinato.testing import call, final_text
from tests.unit.runners.owners import Owner


def main() -> None:
    """Run the program."""
    path = Path(sys.argv[1])
    one, two = Owner(path), Owner(path)
    begun = asyncio.Event()

    async def work() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def work_again() -> str:
        return "done"

    work_again.__name__ = "work"
    ours = one.talk([call("work")], [work])
    loop = asyncio.new_event_loop()
    task = loop.create_task(ours.say("first"))
    loop.run_until_complete(begun.wait())
    loop.close()

    async def talk_on() -> None:
        theirs = two.talk(["Resumed.", "To the next."], [work_again])
        print(final_text(await theirs.say("next")))
        again = one.talk(["Here too."], [work_again])
        print(final_text(await again.say("again")), flush=True)

    asyncio.run(talk_on())
    del task
    os._exit(0)


if __name__ == "__main__":
    main()
