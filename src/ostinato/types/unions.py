"""The looser types that configs accept where a record is meant."""

import types as python_types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, InstanceOf, PlainValidator

from ostinato.types.content import Content, Part
from ostinato.types.files import File
from ostinato.types.schema import Schema
from ostinato.types.speech import SpeechConfig
from ostinato.types.tool import FunctionDeclaration, Tool

Fields = dict[str, Any]

PartUnion = str | File | Part
PartListUnion = list[PartUnion] | PartUnion
ContentUnion = Content | str | File | Part | list[PartUnion]
ContentListUnion = ContentUnion | list[ContentUnion] | list[Content]
SpeechConfigUnion = str | SpeechConfig
ToolUnion = Tool | Callable[..., Any]

PartUnionDict = PartUnion | Fields
PartListUnionDict = list[PartUnionDict] | PartUnionDict
ContentUnionDict = ContentUnion | Fields | list[PartUnionDict]
ContentListUnionDict = ContentUnionDict | list[ContentUnionDict]
SpeechConfigUnionDict = SpeechConfigUnion | Fields
ToolUnionDict = ToolUnion | Fields
ToolListUnionDict = list[ToolUnionDict]

ContentDict = PartDict = ToolDict = FunctionDeclarationDict = SchemaDict = Fields
GenerateContentConfigDict = HttpOptionsDict = FunctionCallDict = FunctionResponseDict = Fields
ContentOrDict = Content | Fields
PartOrDict = Part | Fields
ToolOrDict = Tool | Fields
FunctionDeclarationOrDict = FunctionDeclaration | Fields
SchemaOrDict = Schema | Fields


def _schema_source(value: Any) -> Any:
    """Accept what a response schema can be made of; a Literal of strings becomes an enum."""
    if get_origin(value) is Literal:
        return Enum("Choices", {str(choice): choice for choice in get_args(value)})
    return value


def _tool_list(value: Any) -> Any:
    """Turn dicts and google-genai's tools into Tools; leave callables and sessions unchanged."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"tools must be a list, not {type(value).__name__}")
    return [_tool(item) for item in cast(list[Any], value)]


def _tool(item: Any) -> Any:
    foreign = isinstance(item, BaseModel) and type(item).__name__ == "Tool"
    if isinstance(item, Mapping) or (foreign and not isinstance(item, Tool)):
        return Tool.model_validate(item)
    return item


if TYPE_CHECKING:
    SchemaUnion = (
        dict[Any, Any] | type | Schema | python_types.GenericAlias | python_types.UnionType
    )
    ToolListUnion = list[ToolUnion]
else:
    SchemaUnion = Annotated[
        dict[Any, Any]
        | InstanceOf[type]
        | Schema
        | InstanceOf[python_types.GenericAlias]
        | InstanceOf[python_types.UnionType]
        | InstanceOf[type(Union[int, str])],
        BeforeValidator(_schema_source),
    ]
    ToolListUnion = Annotated[list[Any], PlainValidator(_tool_list)]
SchemaUnionDict = SchemaUnion | Fields
