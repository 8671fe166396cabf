"""google-adk's DatabaseSessionService behind lines of JSON: `python peer.py URL` in its own
environment. Each line asks for one thing and gets one line back. Imports nothing of Ostinato.
"""

import asyncio
import json
import sys

from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService

OWNER = {"app_name": "app", "user_id": "ann"}


def told(session):
    """A session as JSON."""
    if session is None:
        return None
    return {
        "state": session.state,
        "updated": session.last_update_time,
        "events": [
            e.model_dump(mode="json", by_alias=True, exclude_none=True) for e in session.events
        ],
    }


class Peer:
    """Answers the questions."""

    def __init__(self, url):
        self.service = DatabaseSessionService(url)
        self.loaded = None

    async def create(self, id, state):
        return told(await self.service.create_session(**OWNER, session_id=id, state=state))

    async def get(self, id):
        return told(await self.service.get_session(**OWNER, session_id=id))

    async def load(self, id):
        self.loaded = await self.service.get_session(**OWNER, session_id=id)

    async def append(self, event):
        await self.service.append_event(self.loaded, Event.model_validate(event))

    async def ids(self):
        found = await self.service.list_sessions(**OWNER)
        return sorted(session.id for session in found.sessions)

    async def delete(self, id):
        await self.service.delete_session(**OWNER, session_id=id)


async def main():
    """Answer until the questions end."""
    peer = Peer(sys.argv[1])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        question = json.loads(line)
        try:
            answer = {"answer": await getattr(peer, question.pop("do"))(**question)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    if hasattr(peer.service, "close"):
        await peer.service.close()


asyncio.run(main())
