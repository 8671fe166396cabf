"""ModelCapabilities: what a model can do. Adapters and users' models say it, the flow reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What may be put into a request to a model (FEATURES A.27 X13).

    The defaults are those of a model that nothing is known of: nothing is refused on its behalf,
    and nothing rare is expected of it.

    Attributes:
      structured_output: answers in JSON that follows a schema, by itself.
      structured_output_with_tools: does so in a request that offers tools, too.
      tools: calls functions; without it, calls are written into the text.
      parallel_calls: asks for several calls in one response.
      thinking: thinks aloud, in parts marked as thoughts.
      caching: a prefix of the request can be cached by the provider.
      images: takes images.
      audio: takes sound.
      files: takes PDFs and other files.
      live: has a two-way connection.
      tool_search: the most deferred tools that the provider's own search is worth; 0 if it has none
        or the adapter does not use it.
    """

    structured_output: bool = True
    structured_output_with_tools: bool = False
    tools: bool = True
    parallel_calls: bool = True
    thinking: bool = False
    caching: bool = False
    images: bool = True
    audio: bool = True
    files: bool = True
    live: bool = False
    tool_search: int = 0
