"""GeminiEndpoint: where a request to Gemini goes, on the Developer API or on Vertex AI."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .wire.faults import Unsendable

_DEVELOPER = "https://generativelanguage.googleapis.com"
# Regions that have a host of their own form.
_MULTI_REGIONS = ("us", "eu")
_FORBIDDEN = re.compile(r"\.\.|[?&#]")


@dataclass(frozen=True, slots=True)
class GeminiEndpoint:
    """A place of the API.

    Attributes:
      base_url: scheme, host and the start of the path.
      version: the API's version; None if the base URL names it.
      on_vertex: whether Vertex AI is there.
      project: the project on Google Cloud; None for an API key without one.
      location: the project's region.
      is_gateway: whether the base URL is the whole URL of all requests.
    """

    base_url: str
    version: str | None
    on_vertex: bool = False
    project: str | None = None
    location: str | None = None
    is_gateway: bool = False

    @property
    def parent(self) -> str:
        """What resources of the project are below; empty without a project."""
        if not self.on_vertex or not (self.project and self.location):
            return ""
        return f"projects/{self.project}/locations/{self.location}/"

    def url(self, path: str) -> str:
        """Return the URL of a path below the version."""
        if self.is_gateway:
            return self.base_url
        if self.on_vertex and not path.startswith("projects/"):
            path = self.parent + path
        steps = (self.base_url.rstrip("/"), self.version, path)
        return "/".join(step for step in steps if step)

    def model_url(self, model: str, method: str) -> str:
        """Return the URL of a method of a model."""
        return self.url(f"{self.model_path(model)}:{method}")

    def model_path(self, model: str) -> str:
        """Return a model's name as a path.

        Raises:
          Unsendable: it is empty, or leads elsewhere.
        """
        if not model or _FORBIDDEN.search(model):
            raise Unsendable(f"to a model named {model!r}. Set the model's plain name.")
        if not self.on_vertex:
            return model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
        if model.startswith(("projects/", "models/", "publishers/")):
            return model
        publisher, slash, name = model.partition("/")
        if not slash:
            publisher, name = "google", model
        return f"publishers/{publisher}/models/{name}"

    def full_model_path(self, model: str) -> str:
        """Return a model's name as caches and live sessions want it: with its project."""
        path = self.model_path(model)
        if not self.on_vertex or path.startswith("projects/"):
            return path
        if path.startswith("models/"):
            path = f"publishers/google/{path}"
        return self.parent + path

    def cache_path(self, name: str) -> str:
        """Return a cache's name as a path."""
        if _FORBIDDEN.search(name):
            raise Unsendable(f"with a cache named {name!r}.")
        path = name if "/" in name else f"cachedContents/{name}"
        return path if path.startswith("projects/") else self.parent + path

    @property
    def live_url(self) -> str:
        """The URL of live sessions."""
        scheme, _, rest = self.base_url.rstrip("/").partition("://")
        socket = "ws" if scheme.lower() == "http" else "wss"
        if self.is_gateway:
            return f"{socket}://{rest}"
        service = (
            "google.cloud.aiplatform.{}.LlmBidiService/BidiGenerateContent"
            if self.on_vertex
            else "google.ai.generativelanguage.{}.GenerativeService.BidiGenerateContent"
        )
        return f"{socket}://{rest}/ws/{service.format(self.version or 'v1')}"


def developer_endpoint(base_url: str | None, version: str | None) -> GeminiEndpoint:
    """Return the place of the Developer API."""
    return GeminiEndpoint(base_url or _DEVELOPER, version)


def vertex_endpoint(
    base_url: str | None, version: str | None, project: str | None, location: str | None
) -> GeminiEndpoint:
    """Return the place of Vertex AI.

    Args:
      base_url: the place, if it is not Google's own.
      version: the API's version.
      project: the project; None if an API key stands for it.
      location: its region.
    """
    if base_url is None:
        if project is None or location in (None, "global"):
            base_url = "https://aiplatform.googleapis.com"
        elif location in _MULTI_REGIONS:
            base_url = f"https://aiplatform.{location}.rep.googleapis.com"
        else:
            base_url = f"https://{location}-aiplatform.googleapis.com"
    return GeminiEndpoint(base_url, version, True, project, location)
