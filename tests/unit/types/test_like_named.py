"""Records of google-genai taken in where code asks for a type."""

import copy
from typing import Any, cast

import pytest
from google.genai import types as genai

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.events import Event
from ostinato.models import LlmRequest, LlmResponse
from ostinato.types.like_named import own
from tests.support.optionals import present


def test_a_record_becomes_ours_of_the_same_name() -> None:
    content = own(genai.Content(role="user", parts=[genai.Part(text="Hi")]))
    assert type(content) is types.Content
    assert content == types.Content(role="user", parts=[types.Part(text="Hi")])
    schema = own(
        genai.Schema(type=genai.Type.OBJECT, properties={"a": genai.Schema(type=genai.Type.STRING)})
    )
    assert type(schema) is types.Schema and type(present(schema.properties)["a"]) is types.Schema


def test_the_fields_that_were_given_stay_the_same() -> None:
    theirs = genai.Content(role="user", parts=[genai.Part(text="x")])
    content = own(theirs)
    assert content.model_dump(exclude_unset=True) == {"role": "user", "parts": [{"text": "x"}]}
    assert present(content.parts)[0].model_fields_set == {"text"}
    schema = own(genai.Schema(properties={"a": genai.Schema(title="t")}))
    assert present(schema.properties)["a"].model_fields_set == {"title"}
    again = genai.Content.model_validate(content)  # counts all fields as given
    assert own(again).model_dump(exclude_unset=True) == theirs.model_dump(exclude_unset=True)


@pytest.mark.parametrize("kind", [LlmResponse, Event])
def test_messages_keep_which_fields_were_given(kind: Any) -> None:
    message = kind(
        content=genai.Content(role="user", parts=[genai.Part(text="x")]),
        usage_metadata=genai.GenerateContentResponseUsageMetadata(total_token_count=3),
    )
    assert message.model_dump(exclude_unset=True) == {
        "content": {"parts": [{"text": "x"}], "role": "user"},
        "usage_metadata": {"total_token_count": 3},
    }


def test_requests_keep_which_fields_were_given() -> None:
    request = LlmRequest(
        contents=cast(Any, [genai.Content(role="user", parts=[genai.Part(text="x")])]),
        config=cast(Any, genai.GenerateContentConfig(temperature=1)),
    )
    assert request.model_dump(exclude_unset=True) == {
        "contents": [{"parts": [{"text": "x"}], "role": "user"}],
        "config": {"temperature": 1.0},
    }


def test_a_subclass_keeps_its_class_fields_and_methods() -> None:
    class Mine(genai.Part):
        mark: int = 0

        def describe(self) -> str:
            return f"{self.text} {self.mark}"

    class Named(genai.Content):
        tag: str = ""

    theirs = Named(role="user", parts=[Mine(text="x", mark=1)], tag="zz")
    content = present(Event(author="a", content=cast(Any, theirs)).content)
    assert isinstance(content, types.Content) and isinstance(content, Named)
    assert type(content).__name__ == "Named" and cast(Any, content).tag == "zz"
    part = present(content.parts)[0]
    assert isinstance(part, types.Part) and isinstance(part, Mine)
    assert part.describe() == "x 1" and copy.deepcopy(part).mark == 1
    assert type(own(Mine(text="y"))) is type(part)
    assert not isinstance(types.Part(text="x"), Mine)


def test_a_config_of_a_subclass_reaches_the_request() -> None:
    class Config(genai.GenerateContentConfig):
        mine: str = ""

    agent = LlmAgent(name="a", generate_content_config=cast(Any, Config(mine="x", temperature=0.5)))
    assert isinstance(agent.generate_content_config, Config)
    assert agent.generate_content_config.mine == "x"


def test_a_subclass_is_taken_as_what_it_is_derived_from() -> None:
    assert type(own(genai.UserContent("Hi"))).__name__ == "UserContent"
    assert isinstance(own(genai.UserContent("Hi")), types.Content)


def test_lists_are_read_and_everything_else_is_left() -> None:
    ours = types.Part(text="mine")
    mixed = [genai.Part(text="a"), "b", ours, None]
    assert own(mixed) == [types.Part(text="a"), "b", ours, None]
    assert own(mixed)[2] is ours and type(mixed[0]) is genai.Part
    for value in (None, "text", 1, {"role": "user"}, genai.Type.OBJECT, genai.Part, int):
        assert own(value) is value
