"""get_session with a config: the last events only, and those after a time."""

import asyncio

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from showing import show


async def main():
    service = InMemorySessionService()
    session = await service.create_session(app_name="a", user_id="u", session_id="s")
    for number in range(1, 6):
        event = Event(
            author="user", content=types.UserContent(str(number)), timestamp=float(number)
        )
        await service.append_event(session, event)
    place = {"app_name": "a", "user_id": "u", "session_id": "s"}
    for config in (
        None,
        GetSessionConfig(num_recent_events=2),
        GetSessionConfig(num_recent_events=0),
        GetSessionConfig(after_timestamp=3.0),
        GetSessionConfig(after_timestamp=2.0, num_recent_events=1),
    ):
        got = await service.get_session(**place, config=config)
        show(texts=[event.content.parts[0].text for event in got.events], last=got.last_update_time)
    try:
        await service.create_session(**place)
    except Exception as error:
        show(twice=type(error).__name__)


asyncio.run(main())
