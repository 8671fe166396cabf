"""LlmRequest: everything one model call needs. Processors and tools fill it in, adapters read
it.
"""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from .. import types
from .._log import get_logger
from ..types.deferred_type import deferred_type
from ..types.like_named import own
from ..types.record_template import RecordTemplate
from .cache_metadata import CacheMetadata
from .context_cache_config import ContextCacheConfig

if TYPE_CHECKING:
    from ..types import GenerateContentConfig, LiveConnectConfig
else:
    GenerateContentConfig = deferred_type("GenerateContentConfig")
    LiveConnectConfig = deferred_type("LiveConnectConfig")
logger = get_logger(__name__)

#: How the ids begin that calls are given here, where their model gave none.
CLIENT_ID_PREFIX = "adk-"


class ToolLike(Protocol):
    """What a request needs of a tool; `ostinato.tools.base_tool.BaseTool` is one."""

    name: str
    description: str
    is_long_running: bool

    def _get_declaration(self) -> "types.FunctionDeclaration | None": ...


class LlmRequest(BaseModel):
    """A request to a model (Spec 2 Appendix C).

    `contents` is a fresh list of Contents that are shared with the session's history: an adapter
    must not edit them, and calls `own_contents()` where it has to.

    Attributes:
      model: the model's name.
      contents: the conversation, oldest first.
      config: generation settings, system instruction and tool declarations.
      live_connect_config: settings of a live connection.
      tools_dict: the tools by name; never serialised.
      cache_config: context-cache settings of the app.
      cache_metadata: what is known about a cache that may serve this request.
      cacheable_contents_token_count: prompt tokens of the previous request.
      previous_interaction_id: id of the provider-side interaction to continue.
      deferred_tools: names of declared functions that the model is told of only once its provider's
        own search finds them; never serialised. Adapters without such a search never get any.
      trimmed: what the context policy left out of `contents`, for the span of the call; None
        without a policy; never serialised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    model: str | None = None
    contents: list[types.Content] = Field(default_factory=list[types.Content])
    config: GenerateContentConfig = Field(default_factory=lambda: types.GenerateContentConfig())
    live_connect_config: LiveConnectConfig = Field(
        default_factory=lambda: types.LiveConnectConfig()
    )
    tools_dict: SkipValidation[dict[str, Any]] = Field(default_factory=dict, exclude=True)
    cache_config: ContextCacheConfig | None = None
    cache_metadata: CacheMetadata | None = None
    cacheable_contents_token_count: int | None = None
    previous_interaction_id: str | None = None
    deferred_tools: SkipValidation[frozenset[str]] = Field(default=frozenset(), exclude=True)
    trimmed: SkipValidation[dict[str, Any] | None] = Field(default=None, exclude=True)

    def own_contents(self) -> list[types.Content]:
        """Replace `contents` by a deep copy that the caller may edit, and return it."""
        self.contents = copy.deepcopy(self.contents)
        return self.contents

    def append_instructions(self, instructions: list[str] | types.Content) -> list[types.Content]:
        """Append text to the system instruction (Spec 2 Appendix C).

        If that is no text, nothing is appended to it, and a warning is logged.

        Args:
          instructions: texts, joined with a blank line; or a Content whose texts are appended and
            whose other parts become user contents that the text refers to.

        Returns:
          The user contents that were added; empty for texts.

        Raises:
          TypeError: `instructions` is neither.
        """
        contents: list[types.Content] = []
        if _are_texts(instructions):  # asked first: each step appends several
            texts = instructions
        elif isinstance(instructions := own(instructions), types.Content):
            texts, contents = _texts_and_references(instructions)
            self.contents.extend(contents)
        else:
            raise TypeError("append_instructions takes a list of str or a Content")
        if texts:
            added = "\n\n".join(texts)
            present: Any = self.config.system_instruction
            if present and not isinstance(present, str):
                logger.warning(
                    "config.system_instruction is a %s and not a str, so this text is not appended "
                    "to it: %.200s",
                    type(present).__name__,
                    added,
                )
                return contents
            self.config.system_instruction = f"{present}\n\n{added}" if present else added
        return contents

    def append_tools(self, tools: Sequence[ToolLike]) -> None:
        """Add tools and their declarations (Spec 2 §3.9).

        Declarations go into the one `types.Tool` that holds function declarations; tools without a
        declaration are left out. A tool replaces one of its name, whose declaration is dropped.
        """
        declared: dict[str, types.FunctionDeclaration] = {}
        replaced: set[Any] = set()
        for tool in tools:
            declaration = own(tool._get_declaration())  # pyright: ignore[reportPrivateUsage]
            if declaration is not None:
                if tool.name in self.tools_dict:
                    replaced.add(declaration.name)
                declared[tool.name] = declaration
                self.tools_dict[tool.name] = tool
        declarations = [*declared.values()]
        if not declarations:
            return
        present: list[Any] = own(self.config.tools or [])
        for index, entry in enumerate(present):
            if isinstance(entry, types.Tool) and entry.function_declarations:
                kept = entry.function_declarations
                if replaced:
                    kept = [one for one in kept if one.name not in replaced]
                # A copy: the one that is there may be shared with other requests.
                present[index] = entry.model_copy(
                    update={"function_declarations": [*kept, *declarations]}
                )
                break
        else:
            present.append(types.Tool(function_declarations=declarations))
        self.config.tools = present

    def set_output_schema(self, output_schema: Any = None, *, base_model: Any = None) -> None:
        """Ask for JSON that follows a schema (Spec 2 Appendix C).

        Args:
          output_schema: a pydantic model, a generic alias such as `list[Model]`, a dict or a
            Schema.
          base_model: older name of the same argument.

        Raises:
          ValueError: neither argument is given.
        """
        schema = output_schema if output_schema is not None else base_model
        if schema is None:
            raise ValueError("set_output_schema needs output_schema")
        self.config.response_schema = schema
        self.config.response_mime_type = "application/json"


REQUEST_TEMPLATE = RecordTemplate(
    LlmRequest,
    default_factories={
        "config": RecordTemplate(lambda: types.GenerateContentConfig()).create,
        "live_connect_config": RecordTemplate(lambda: types.LiveConnectConfig()).create,
    },
)
"""Makes empty requests; each step needs one."""


def _are_texts(value: Any) -> TypeGuard[list[str]]:
    if value.__class__ is not list:
        return False
    return all([item.__class__ is str or isinstance(item, str) for item in value])


def _texts_and_references(content: types.Content) -> tuple[list[str], list[types.Content]]:
    """Split a Content into instruction texts and user contents that stand for its other parts."""
    texts: list[str] = []
    contents: list[types.Content] = []
    for part in content.parts or []:
        if part.text:
            texts.append(part.text)
            continue
        if part.inline_data is not None:
            kind, what = "inline_data", part.inline_data.display_name or part.inline_data.mime_type
        elif part.file_data is not None:
            kind, what = "file_data", part.file_data.display_name or part.file_data.file_uri
        else:
            continue
        reference = f"{kind}_{len(contents)}"
        texts.append(f"[Reference to {kind}: {reference} ({what})]")
        contents.append(
            types.Content(
                role="user", parts=[types.Part(text=f"Referenced {kind}: {reference}"), part]
            )
        )
    return texts, contents
