"""FileArtifactService: files on disk, with versions and metadata."""

import asyncio

from google.adk.artifacts import FileArtifactService
from google.genai import types
from showing import show


async def main():
    service = FileArtifactService(root_dir="files")
    place = {"app_name": "a", "user_id": "u", "session_id": "s"}
    for data in (b"one", b"two"):
        part = types.Part.from_bytes(data=data, mime_type="text/plain")
        show(saved=await service.save_artifact(**place, filename="d/f.txt", artifact=part))
    loaded = await service.load_artifact(**place, filename="d/f.txt", version=0)
    show(first=loaded.inline_data.data.decode(), type=loaded.inline_data.mime_type)
    await service.save_artifact(
        **place, filename="user:t.txt", artifact=types.Part(text="text"), custom_metadata={"k": 1}
    )
    show(keys=await service.list_artifact_keys(**place))
    version = await service.get_artifact_version(**place, filename="user:t.txt")
    show(version=version.version, type=version.mime_type, custom=version.custom_metadata)
    show(all=len(await service.list_artifact_versions(**place, filename="d/f.txt")))
    show(none=await service.load_artifact(**place, filename="nope"))
    for name in ("../up.txt", "/root.txt", ".."):
        try:
            await service.save_artifact(**place, filename=name, artifact=types.Part(text="x"))
            print(name, "is saved")
        except Exception:
            print(name, "is refused")
    await service.delete_artifact(**place, filename="d/f.txt")
    show(after=await service.list_artifact_keys(**place))


asyncio.run(main())
