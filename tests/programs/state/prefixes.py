"""State with the prefixes app:, user: and temp:, over sessions and users."""

import asyncio

from google.adk.events import Event, EventActions
from google.adk.sessions import InMemorySessionService
from showing import show


async def main():
    service = InMemorySessionService()
    one = await service.create_session(
        app_name="a",
        user_id="u",
        session_id="one",
        state={"app:x": 1, "user:y": 2, "z": 3, "temp:t": 4},
    )
    show(created=one.state)
    event = Event(
        author="agent",
        invocation_id="i",
        actions=EventActions(state_delta={"app:x": 10, "user:y": 20, "z": 30, "temp:t": 40}),
    )
    await service.append_event(one, event)
    show(given=one.state, stored_delta=one.events[0].actions.state_delta)
    for user, id in (("u", "one"), ("u", "two"), ("v", "three")):
        session = await service.get_session(app_name="a", user_id=user, session_id=id)
        if session is None:
            session = await service.create_session(app_name="a", user_id=user, session_id=id)
        show(user=user, id=id, state=session.state)
    listed = await service.list_sessions(app_name="a", user_id="u")
    show(listed=sorted(session.id for session in listed.sessions))
    await service.delete_session(app_name="a", user_id="u", session_id="one")
    show(gone=await service.get_session(app_name="a", user_id="u", session_id="one"))
    partial = await service.append_event(session, Event(author="a", partial=True))
    show(partial=partial.partial, events=len(session.events))


asyncio.run(main())
