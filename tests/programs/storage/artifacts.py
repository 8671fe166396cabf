"""Artifacts: versions, user files, lists, deletion; in memory."""

import asyncio

from google.adk.artifacts import InMemoryArtifactService
from google.genai import types
from showing import show


async def main():
    service = InMemoryArtifactService()
    place = {"app_name": "a", "user_id": "u", "session_id": "s"}
    for text in ("one", "two"):
        show(
            saved=await service.save_artifact(
                **place, filename="f.txt", artifact=types.Part(text=text)
            )
        )
    part = types.Part.from_bytes(data=b"png", mime_type="image/png")
    show(user=await service.save_artifact(**place, filename="user:face.png", artifact=part))
    show(last=await service.load_artifact(**place, filename="f.txt"))
    show(first=await service.load_artifact(**place, filename="f.txt", version=0))
    show(none=await service.load_artifact(**place, filename="nope"))
    show(keys=await service.list_artifact_keys(**place))
    show(other=await service.list_artifact_keys(app_name="a", user_id="u", session_id="t"))
    show(versions=await service.list_versions(**place, filename="f.txt"))
    await service.delete_artifact(**place, filename="f.txt")
    show(after=await service.list_artifact_keys(**place))


asyncio.run(main())
