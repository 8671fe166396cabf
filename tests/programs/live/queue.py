"""The LiveRequestQueue alone: contents, blobs, activity signals and its end, in order."""

import asyncio

from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.genai import types
from showing import show


async def main():
    queue = LiveRequestQueue()
    queue.send_content(types.UserContent("hi"))
    queue.send_realtime(types.Blob(data=b"abc", mime_type="audio/pcm"))
    queue.send_activity_start()
    queue.send_activity_end()
    queue.send(LiveRequest(content=types.UserContent("again")))
    queue.close()
    for _ in range(6):
        request = await queue.get()
        show(
            content=request.content,
            blob=request.blob and request.blob.mime_type,
            start=request.activity_start is not None,
            end=request.activity_end is not None,
            close=request.close,
        )


asyncio.run(main())
