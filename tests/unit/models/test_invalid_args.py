"""Arguments as a model wrote them: an object, nothing, or text that goes back to the model."""

from __future__ import annotations

import pytest

from ostinato.models.invalid_args import INVALID_ARGS_KEY, call_args


def test_an_object_becomes_the_arguments() -> None:
    assert call_args('{"city": "Rome", "n": [1, null]}') == {"city": "Rome", "n": [1, None]}


@pytest.mark.parametrize("text", [None, "", " \n", "{}"])
def test_nothing_means_no_arguments(text: str | None) -> None:
    assert call_args(text) == {}


HUGE = ["[" * 100_000, '{"n": ' + "1" * 5000 + "}"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"city": "Ro',
        "[]",
        "null",
        '"Rome"',
        "{'city': 1}",
        '{"n": NaN}',
        '{"n": -1e999}',
        *HUGE,
    ],
)
def test_anything_else_is_kept_as_it_came(text: str) -> None:
    assert call_args(text) == {INVALID_ARGS_KEY: text}
