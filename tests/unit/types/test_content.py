"""Contents and parts: short forms, helpers, JSON, copies."""

import copy
import pickle
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ostinato import types

JSON: dict[str, Any] = {"exclude_none": True, "by_alias": True}


def every_kind() -> types.Content:
    part = types.Part
    picture = types.FunctionResponsePart.from_bytes(data=b"\xfb\xff", mime_type="image/png")
    return types.Content(
        role="user",
        parts=[
            part(text="a", thought=True, thought_signature=b"\xff\xfe"),
            part.from_function_call(name="f", args={"x": [1, None, "ü"]}),
            part.from_function_response(name="f", response={"r": 1}, parts=[picture]),
            part.from_bytes(
                data=b"1", mime_type="image/png", media_resolution="media_resolution_low"
            ),
            part.from_uri(file_uri="gs://a/b.png"),
            part(video_metadata=types.VideoMetadata(fps=2.0, start_offset="1s")),
            part.from_executable_code(code="print(1)", language=types.Language.PYTHON),
            part.from_code_execution_result(outcome=types.Outcome.OUTCOME_OK, output="1"),
        ],
    )


def test_json_comes_back_equal() -> None:
    content = every_kind()
    text = content.model_dump_json(**JSON)
    assert types.Content.model_validate_json(text) == content
    assert types.Content.model_validate_json(text).model_dump_json(**JSON) == text
    assert types.Content.model_validate(content.model_dump()) == content
    assert '"thoughtSignature":"__4="' in text  # url-safe, padded as google-genai pads it
    assert '"data":"-_8="' in text  # also where the type was built late


def test_json_is_camel_case_with_enum_values() -> None:
    part = types.Part.from_code_execution_result(outcome=types.Outcome.OUTCOME_OK, output="1")
    expected = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    assert part.model_dump(mode="json", **JSON) == expected


def test_copies_and_pickles_are_equal_and_apart() -> None:
    content = every_kind()
    for twin in (
        copy.deepcopy(content),
        content.model_copy(deep=True),
        pickle.loads(pickle.dumps(content)),
    ):
        assert twin == content
        assert twin.parts is not content.parts
    assert content.model_copy().parts is content.parts


def test_positional_part() -> None:
    file = types.File(uri="gs://a/b", mime_type="text/plain")
    assert types.Part("hi") == types.Part(text="hi")
    assert types.Part({"text": "hi"}) == types.Part(text="hi")
    assert types.Part(types.Part(text="hi")).model_fields_set == {"text"}
    assert types.Part(file).file_data == types.FileData(file_uri="gs://a/b", mime_type="text/plain")
    with pytest.raises(ValueError, match="not both"):
        types.Part("hi", text="ho")
    with pytest.raises(ValueError, match="int"):
        types.Part(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="MIME"):
        types.Part(types.File(uri="gs://a/b"))


@pytest.mark.parametrize("kind", [types.UserContent, types.ModelContent])
def test_content_with_a_role(kind: type[types.UserContent]) -> None:
    role = {"UserContent": "user", "ModelContent": "model"}[kind.__name__]
    content = kind(["a", types.Part(text="b")])
    assert (content.role, [p.text for p in content.parts or []]) == (role, ["a", "b"])
    assert kind("a").parts == [types.Part(text="a")]
    assert kind.model_validate_json(content.model_dump_json(**JSON)) == content
    assert isinstance(content, types.Content)
    with pytest.raises(ValueError, match="needs parts"):
        kind([])


def test_uri_without_a_known_ending_needs_its_type() -> None:
    with pytest.raises(ValueError, match="mime_type="):
        types.Part.from_uri(file_uri="gs://a/b")
    with pytest.raises(ValueError, match="mime_type="):
        types.FunctionResponsePart.from_uri(file_uri="gs://a/b")
    answer = types.FunctionResponsePart.from_uri(
        file_uri="gs://a/b.png", display_name="p"
    ).file_data
    assert answer and (answer.mime_type, answer.display_name) == ("image/png", "p")
    data = types.Part.from_uri(file_uri="gs://a/b", mime_type="x/y").file_data
    assert data == types.FileData(file_uri="gs://a/b", mime_type="x/y")


def test_as_image() -> None:
    image = types.Part.from_bytes(data=b"1", mime_type="image/png").as_image()
    assert image == types.Image(image_bytes=b"1", mime_type="image/png")
    assert types.Part.from_bytes(data=b"1", mime_type="text/plain").as_image() is None
    assert types.Part(text="a").as_image() is None


def test_unknown_fields_are_refused_with_their_place() -> None:
    with pytest.raises(ValidationError, match=r"parts\.0\.zz"):
        types.Content.model_validate({"parts": [{"zz": 1}]})
    late = {"parts": [{"functionResponse": {"parts": [{"zz": 1}]}}]}
    with pytest.raises(ValidationError, match=r"parts\.0\.functionResponse\.parts\.0\.zz"):
        types.Content.model_validate(late)


def test_enums_ignore_case_and_keep_what_is_new() -> None:
    assert types.FinishReason("stop") is types.FinishReason.STOP
    assert str(types.Type.STRING) == "Type.STRING"
    with pytest.warns(UserWarning, match="NEWER"):
        new = types.FinishReason("NEWER")
    assert (new.value, new.name) == ("NEWER", "NEWER")
    assert "NEWER" not in types.FinishReason.__members__
    with pytest.raises(ValueError, match="3"):
        types.FinishReason(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = types.Candidate.model_validate({"finishReason": "NEWER"})
        assert found.model_dump(mode="json", **JSON) == {"finishReason": "NEWER"}
        result = types.CodeExecutionResult.model_validate_json('{"outcome":"NEWER"}')
    assert result.model_dump_json(**JSON) == '{"outcome":"NEWER"}'  # and it does not warn
    assert pickle.loads(pickle.dumps(types.Outcome.OUTCOME_OK)) is types.Outcome.OUTCOME_OK


def test_repr_names_only_what_is_set() -> None:
    assert repr(types.Part(text="a")) == "Part(text='a')"


scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
parts = st.one_of(
    st.builds(types.Part, text=st.text(), thought=st.none() | st.booleans()),
    st.builds(lambda d: types.Part.from_bytes(data=d, mime_type="a/b"), st.binary()),
    st.builds(
        lambda n, a: types.Part.from_function_call(name=n, args=a),
        st.text(),
        st.dictionaries(st.text(), values, max_size=3),
    ),
)


@given(st.lists(parts, max_size=4), st.none() | st.text())
def test_any_content_survives_json(found: list[types.Part], role: str | None) -> None:
    content = types.Content(parts=found, role=role)
    assert types.Content.model_validate_json(content.model_dump_json(**JSON)) == content


def test_a_user_content_equals_the_content_of_the_same_parts_and_role() -> None:
    plain = types.Content(role="user", parts=[types.Part(text="hi")])
    assert types.UserContent("hi") == plain
    assert plain == types.UserContent("hi")
    assert types.UserContent("hi") == types.UserContent("hi")
    assert types.UserContent("hi") != types.ModelContent("hi")
    assert plain != types.UserContent("ho")
    assert plain != types.Part(text="hi")


def test_a_subclass_of_content_with_fields_of_its_own_equals_no_plain_content() -> None:
    class Signed(types.Content):
        signature: str = "s"

    assert Signed(role="user") != types.Content(role="user")
    assert Signed(role="user") == Signed(role="user")
