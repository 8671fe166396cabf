"""Requests as Gemini's API reads them: settings, tools and system instruction as JSON. The Gemini
adapter, its caches and its live connections build their requests with these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

from ... import types
from ..request_text import declared_functions
from .faults import Unsendable
from .gemini_schema import gemini_schema
from .reading import fields_of, items_of

Json = dict[str, Any]

#: What Gemini takes as the name of a function.
FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")

# Settings that stand beside the generation settings in a request, by their names there.
_BESIDE = {
    "system_instruction": "systemInstruction",
    "safety_settings": "safetySettings",
    "tools": "tools",
    "tool_config": "toolConfig",
    "labels": "labels",
    "cached_content": "cachedContent",
    "service_tier": "serviceTier",
    "model_armor_config": "modelArmorConfig",
    "continuation_token": "continuationToken",
    "generation_output_config": "outputConfig",
    "store": "store",
}
# Settings of the client, which the service never sees.
_UNSENT = (
    "http_options",
    "should_return_http_response",
    "automatic_function_calling",
    "automatic_continuation",
)
# Fields that only one of the two services takes.
_VERTEX_ONLY = (
    "generationConfig.routingConfig",
    "generationConfig.modelConfig",
    "generationConfig.audioTimestamp",
    "generationConfig.responseSchema.additionalProperties",
    "generationConfig.imageConfig.personGeneration",
    "generationConfig.imageConfig.prominentPeople",
    "generationConfig.imageConfig.imageOutputOptions",
    "modelArmorConfig",
    "outputConfig",
    "encryption_spec",
    "safetySettings.method",
    "tools.retrieval",
    "tools.enterpriseWebSearch",
    "tools.parallelAiSearch",
    "tools.exaAiSearch",
    "tools.googleSearch.blockingConfidence",
    "tools.googleSearch.excludeDomains",
    "tools.googleMaps.groundingTypes",
    "tools.googleMaps.authConfig.apiKeyConfig",
    "tools.googleMaps.authConfig.authType",
    "tools.googleMaps.authConfig.googleServiceAccountConfig",
    "tools.googleMaps.authConfig.httpBasicAuthConfig",
    "tools.googleMaps.authConfig.oauthConfig",
    "tools.googleMaps.authConfig.oidcConfig",
    "toolConfig.functionCallingConfig.streamFunctionCallArguments",
)
_DEVELOPER_ONLY = (
    "generationConfig.enableEnhancedCivicAnswers",
    "store",
    "tools.fileSearch",
    "toolConfig.includeServerSideToolInvocations",
)


def _grow_tree(paths: Iterable[str]) -> Json:
    """Return paths as nested dicts, by name; an empty one is the end of a path."""
    tree: Json = {}
    for path in paths:
        branch = tree
        for name in path.split("."):
            branch = branch.setdefault(name, {})
    return tree


_VERTEX_ONLY_TREE = _grow_tree(_VERTEX_ONLY)
_DEVELOPER_ONLY_TREE = _grow_tree(_DEVELOPER_ONLY)


def refused_function_names(config: types.GenerateContentConfig) -> Iterator[str]:
    """Yield the names of declared functions that Gemini would refuse."""
    for declaration in declared_functions(config):
        if not FUNCTION_NAME.fullmatch(declaration.name or ""):
            yield declaration.name or ""


def request_body(
    config: types.GenerateContentConfig, contents: Sequence[Json], *, developer: bool
) -> Json:
    """Return the body of a request for content.

    Args:
      config: the settings.
      contents: the contents as JSON; they are shared and not edited.
      developer: whether the Gemini Developer API gets it, which takes no labels.

    Raises:
      Unsendable: the service does not take one of the settings.
    """
    body: Json = {"contents": contents}
    generation: Json = {}
    for name in config.model_fields_set:
        value = getattr(config, name)
        if value is None or name in _UNSENT or (developer and name == "labels"):
            continue
        if name in _BESIDE:
            body[_BESIDE[name]] = setting_json(name, value)
        else:
            _put_generation_setting(generation, name, value)
    if generation:
        body["generationConfig"] = generation
    refuse_foreign_fields(body, developer=developer)
    if config.http_options is not None:
        merge_extra_body(body, config.http_options.extra_body)
    return body


def cache_body(config: types.CreateCachedContentConfig, *, developer: bool) -> Json:
    """Return the body of a request for a context cache, without the model.

    Raises:
      Unsendable: the service does not take one of the settings.
    """
    body: Json = {}
    for name in config.model_fields_set - {"http_options"}:
        if (value := getattr(config, name)) is None:
            continue
        if name == "kms_key_name":
            body["encryption_spec"] = {"kmsKeyName": value}
        else:
            body[camel_name(name)] = setting_json(name, value)
    refuse_foreign_fields(body, developer=developer)
    return body


def _put_generation_setting(generation: Json, name: str, value: Any) -> None:
    made = setting_json(name, value)
    if name == "model_selection_config":
        generation["modelConfig"] = made
    elif name == "image_config":
        generation["imageConfig"] = _image_settings(made)
    else:
        generation[camel_name(name)] = made


def setting_json(name: str, value: Any) -> Any:
    """Return a setting as JSON."""
    match name:
        case "system_instruction":
            return instruction_content(value)
        case "tools":
            return tools_json(value)
        case "response_schema":
            return gemini_schema(value)
        case "response_json_schema" if isinstance(value, type):
            return TypeAdapter[Any](value).json_schema()
        case "speech_config":
            return speech_json(value)
        case _:
            return plain_json(value)


def refuse_foreign_fields(body: Json, *, developer: bool) -> None:
    """Raise Unsendable for the first field of a request that only the other service takes."""
    if path := _find_foreign(body, _VERTEX_ONLY_TREE if developer else _DEVELOPER_ONLY_TREE):
        service = "Vertex AI" if developer else "the Gemini Developer API"
        raise Unsendable(
            f"{path}: only {service} has it. Change generate_content_config or the tools."
        )


def _find_foreign(value: Any, tree: Json) -> str:
    """Return the path of the first field of a tree that a value holds, or ''."""
    if not tree:
        return "."
    for item in items_of(value):
        if found := _find_foreign(item, tree):
            return found
    fields = fields_of(value)
    for name in fields.keys() & tree.keys():
        if found := _find_foreign(fields[name], tree[name]):
            return f"{name}.{found}".rstrip(".")
    return ""


def merge_extra_body(body: Json, extra: Mapping[str, Any] | None) -> None:
    """Put further fields into a body; objects are merged, all else is replaced."""
    for name, value in (extra or {}).items():
        known = body.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            merged = dict(cast(Json, known))
            merge_extra_body(merged, cast(Mapping[str, Any], value))
            body[name] = merged
        else:
            body[name] = value


def instruction_content(value: Any) -> Json:
    """Return a system instruction, in any of its forms, as a content."""
    if isinstance(value, types.Content):
        return plain_json(value)
    if isinstance(value, Mapping) and "parts" in value:
        return plain_json(types.Content.model_validate(value))
    pieces: Iterable[Any] = cast(list[Any], value) if isinstance(value, (list, tuple)) else [value]
    return {"parts": [_part(piece) for piece in pieces], "role": "user"}


def _part(piece: Any) -> Json:
    if isinstance(piece, str):
        return {"text": piece}
    if isinstance(piece, types.File):
        return {"fileData": {"fileUri": piece.uri, "mimeType": piece.mime_type}}
    if isinstance(piece, Mapping):
        piece = types.Part.model_validate(piece)
    return plain_json(piece)


def tools_json(tools: Iterable[Any]) -> list[Json]:
    """Return tools as JSON: those of the service first, then all functions in one.

    Raises:
      Unsendable: one of them is a function of Python, or of an unknown kind.
    """
    made: list[Json] = []
    functions: list[Any] = []
    for tool in tools:
        found = _tool(tool)
        functions += items_of(found.pop("functionDeclarations", None))
        if found:
            made.append(found)
    return [*made, {"functionDeclarations": functions}] if functions else made


def _tool(tool: Any) -> Json:
    if isinstance(tool, types.Tool):
        return plain_json(tool)
    schema: Any = getattr(tool, "inputSchema", None) or getattr(tool, "input_schema", None)
    name: object = getattr(tool, "name", None)
    if isinstance(schema, dict) and isinstance(name, str):  # a tool as MCP describes it
        words: Json = {"name": name, "parametersJsonSchema": schema}
        if said := getattr(tool, "description", None):
            words["description"] = said
        return {"functionDeclarations": [words]}
    raise Unsendable(
        f"the tool {getattr(tool, '__name__', None) or type(tool).__name__!r} in the settings. "
        "Give functions and MCP sessions to the agent's `tools`, or declare them in a types.Tool."
    )


def speech_json(value: Any) -> Json:
    """Return a voice, or its name alone, as JSON."""
    if isinstance(value, str):
        return {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": value}}}
    return plain_json(value)


def _image_settings(made: Json) -> Json:
    """Return settings of images with the file's type and quality where the service looks."""
    output = {
        "mimeType": made.pop("outputMimeType", None),
        "compressionQuality": made.pop("outputCompressionQuality", None),
    }
    output = {name: value for name, value in output.items() if value is not None}
    if output:
        made.setdefault("imageOutputOptions", output)
    return made


def plain(value: Any) -> Any:
    """Return records, or a list with some, as dicts under Python's names; all else stays."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, list):
        return [plain(item) for item in cast(list[Any], value)]
    return value


def plain_json(value: Any) -> Any:
    """Return a record, or what holds some, as JSON values under the service's names."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return to_jsonable_python(value, by_alias=True, exclude_none=True, bytes_mode="base64")


def camel_name(name: str) -> str:
    """Return a field's name as the service spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
