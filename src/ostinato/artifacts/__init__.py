"""Named, versioned files of an app's users: a port, and services in memory, folder and bucket."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.artifacts.base_artifact_service import ArtifactVersion as ArtifactVersion
    from ostinato.artifacts.base_artifact_service import BaseArtifactService as BaseArtifactService
    from ostinato.artifacts.file_artifact_service import FileArtifactService as FileArtifactService
    from ostinato.artifacts.gcs_artifact_service import GcsArtifactService as GcsArtifactService
    from ostinato.artifacts.in_memory_artifact_service import (
        InMemoryArtifactService as InMemoryArtifactService,
    )

__getattr__, __dir__, __all__ = attach(__name__)
