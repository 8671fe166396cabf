"""Sessions of users and apps: lists, ids, orders, states across them, deletions, copies."""

import asyncio

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai import types
from showing import show


async def main():
    service = InMemorySessionService()
    for app, user, id in (("a", "u", "1"), ("a", "u", "2"), ("a", "v", "3"), ("b", "u", "4")):
        session = await service.create_session(
            app_name=app, user_id=user, session_id=id, state={f"user:{id}": id, f"app:{id}": id}
        )
        show(made=[session.app_name, session.user_id, session.id], state=session.state)
    for app, user in (("a", "u"), ("a", None), ("b", "u"), ("c", "u")):
        listed = await service.list_sessions(app_name=app, user_id=user)
        show(
            app=app,
            user=user,
            ids=sorted(one.id for one in listed.sessions),
            states=[one.state for one in sorted(listed.sessions, key=lambda one: one.id)],
            events=[len(one.events) for one in listed.sessions],
        )
    made = await service.create_session(app_name="a", user_id="u")
    blank = await service.create_session(app_name="a", user_id="u", session_id="  ")
    padded = await service.create_session(app_name="a", user_id="u", session_id=" x ")
    show(made=len(made.id), blank=len(blank.id), padded=padded.id)
    one = await service.get_session(app_name="a", user_id="u", session_id="1")
    one.state["local"] = True
    await service.append_event(one, Event(author="user", content=types.UserContent("hi")))
    again = await service.get_session(app_name="a", user_id="u", session_id="1")
    show(local=again.state.get("local"), events=len(again.events))
    show(moved=again.last_update_time >= one.events[0].timestamp)
    await service.delete_session(app_name="a", user_id="u", session_id="no such")
    await service.delete_session(app_name="a", user_id="u", session_id="1")
    show(left=(await service.get_session(app_name="a", user_id="u", session_id="2")).state)
    gone = await service.get_session(app_name="a", user_id="v", session_id="2")
    show(of_another=gone)


asyncio.run(main())
