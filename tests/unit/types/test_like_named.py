"""Records of google-genai taken in where code asks for a type."""

from google.genai import types as genai

from ostinato import types
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


def test_a_subclass_is_taken_as_what_it_is_derived_from() -> None:
    class Mine(genai.Part):
        mark: int = 0

    assert own(Mine(text="x", mark=1)) == types.Part(text="x")
    assert type(own(genai.UserContent("Hi"))).__name__ == "UserContent"
    assert isinstance(own(genai.UserContent("Hi")), types.Content)


def test_lists_are_read_and_everything_else_is_left() -> None:
    ours = types.Part(text="mine")
    mixed = [genai.Part(text="a"), "b", ours, None]
    assert own(mixed) == [types.Part(text="a"), "b", ours, None]
    assert own(mixed)[2] is ours and type(mixed[0]) is genai.Part
    for value in (None, "text", 1, {"role": "user"}, genai.Type.OBJECT, genai.Part, int):
        assert own(value) is value
