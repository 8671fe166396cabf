"""The live conversations that are held with google-adk's server and with ours. Standard library and
websockets only: the recorder runs it in google-adk's environment."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

PLACE = "app_name=speaker&user_id=ann&session_id=s"
CLOSE = {"close": True}


def say(text: str) -> dict[str, Any]:
    """Return the request with a message."""
    return {"content": {"role": "user", "parts": [{"text": text}]}}


OPTIONS = (
    "proactive_audio=true&enable_affective_dialog=true&enable_session_resumption=true"
    "&save_live_blob=false"
)

# name: query, frames
TALKS: dict[str, tuple[str, list[Any]]] = {
    "words": (PLACE, [say("hi")]),
    "close": (PLACE, [say("hi"), CLOSE]),
    "sound": (PLACE, [{"blob": {"mime_type": "audio/pcm", "data": "AAAA"}}]),
    "sound, camelCase and url-safe": (
        PLACE,
        [{"blob": {"mimeType": "audio/pcm", "data": "-_-_"}}],
    ),
    "activity": (PLACE, [{"activity_start": {}}, {"activity_end": {}}]),
    "settings": (f"{PLACE}&modalities=TEXT&{OPTIONS}", [say("config")]),
    "default settings": (PLACE, [say("config")]),
    "both modalities": (f"{PLACE}&modalities=TEXT&modalities=AUDIO", [say("config")]),
    "nothing said": (PLACE, [{}, say("hi")]),
    "model fails": (PLACE, [say("boom")]),
    "no session": (PLACE.replace("id=s", "id=nobody"), []),
    "unknown app": (PLACE.replace("speaker", "nobody"), []),
    "no user": ("app_name=speaker&session_id=s", []),
    "unknown modality": (f"{PLACE}&modalities=SMELL", []),
    "option that is none": (f"{PLACE}&proactive_audio=perhaps", []),
    "evil origin": (PLACE, []),
    "evil host": (PLACE, []),
    "not JSON": (PLACE, ["hello", say("hi")]),
    "not an object": (PLACE, ["[]", say("hi")]),
    "wrong type": (PLACE, [{"content": 5}, say("hi")]),
    "NaN": (PLACE, ['{"blob": NaN}', say("hi")]),
    "half a character": (PLACE, [say("\ud800"), say("hi")]),
    "bytes": (PLACE, [b"\x00\x01", say("hi")]),
}


async def converse(name: str, port: int, patience: float | None) -> dict[str, Any]:
    """Hold one conversation; return what was said, and how it ended.

    Args:
      name: the conversation.
      port: where the server is.
      patience: seconds without an event after which it is left; None for no limit.
    """
    query, frames = TALKS[name]
    host = "evil.example" if name == "evil host" else "127.0.0.1"
    origin: Any = "http://evil.example" if name == "evil origin" else None
    found: dict[str, Any] = {"said": [], "close": None}
    try:
        async with connect(
            f"ws://{host}:{port}/run_live?{query}", host="127.0.0.1", port=port, origin=origin
        ) as socket:
            for frame in frames:
                await socket.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))
            turns = sum(isinstance(frame, dict) and frame not in (CLOSE, {}) for frame in frames)
            if CLOSE in frames or turns != len([f for f in frames if f != {}]) or not frames:
                turns = 0
            try:
                await _hear(socket, found["said"], turns, patience)
            except ConnectionClosed as closed:
                received = closed.rcvd
                found["close"] = None if received is None else [received.code, received.reason]
                found["broken"] = received is None
    except InvalidStatus as refused:
        found["refused"] = refused.response.status_code
    return found


async def _hear(
    socket: ClientConnection, said: list[Any], turns: int, patience: float | None
) -> None:
    """Read events until so many turns are complete; with 0, until the other side closes."""
    heard = 0
    while not turns or heard < turns:
        try:
            event = json.loads(await asyncio.wait_for(socket.recv(), patience))
        except TimeoutError:
            return
        if event.get("turnComplete"):
            heard += 1
        parts = event.get("content", {}).get("parts", ())
        said += [[event["author"], part.get("text", "")] for part in parts]
