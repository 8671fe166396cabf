"""Artifacts kept in a folder: for one machine, or several that share a file system."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ostinato._absences import refuse_absent
from ostinato.artifacts._address import check_text
from ostinato.artifacts._artifact_folder import ArtifactFolder
from ostinato.artifacts._stored_artifacts import StoredArtifactService
from ostinato.errors import InputValidationError

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


class FileArtifactService(StoredArtifactService):
    """Keeps each version in a folder of its own, which appears whole or not at all.

    A version is on the disk, name and all, before its number is returned. A killed process leaves
    no half version behind; several processes may write at once. All work on files runs in threads.
    Methods raise StoreError where the folder cannot be used; its message names no other folder.
    """

    def __init__(self, root_dir: Path | str) -> None:
        """Use `root_dir` (`~` is expanded), and make it if it is not there.

        Raises:
            InputValidationError: `root_dir` is empty or no path.
            StoreError: it cannot be made, or is not a folder.
        """
        if not str(root_dir) or "\0" in str(root_dir):
            raise InputValidationError(
                f"FileArtifactService needs a folder; root_dir is {str(root_dir)[:40]!r}. Give a "
                "path such as './artifacts'."
            )
        self.root_dir = Path(root_dir).expanduser().resolve()
        self._folder = self._store = ArtifactFolder(self.root_dir)

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Remove all artifacts of a user.

        Args:
            app_name: the app; None for all apps.
            user_id: the user.

        Returns:
            How many there were.
        """
        check_text(user_id, "user_id")  # an id that is refused today may have files from before
        check_text(app_name or user_id, "app_name")
        return await asyncio.to_thread(self._folder.remove_user, app_name, user_id)
