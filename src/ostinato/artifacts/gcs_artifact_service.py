"""GcsArtifactService: the name; Google Cloud Storage is not built yet."""

from .._later_on import NotBuilt


class GcsArtifactService(
    NotBuilt, part="the services of Google Cloud", instead="FileArtifactService(root_dir=...)"
):
    """Artifacts in a bucket of Google Cloud Storage."""
