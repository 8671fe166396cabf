"""Every style and explode writes what the tables of OpenAPI 3.1.1 §4.8.12.6 show."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.tools.openapi.param_styles import ParamStyle, to_text

EMPTY, TEXT, LIST = "", "blue", ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}

# Style, explode, and what is written for empty, string, array and object; None: not applicable.
PATHS = [
    ("simple", False, "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    (
        "matrix",
        False,
        ";color",
        ";color=blue",
        ";color=blue,black,brown",
        ";color=R,100,G,200,B,150",
    ),
    (
        "matrix",
        True,
        ";color",
        ";color=blue",
        ";color=blue;color=black;color=brown",
        ";R=100;G=200;B=150",
    ),
]
QUERIES = [
    (
        "form",
        False,
        "color=",
        "color=blue",
        "color=blue,black,brown",
        "color=R,100,G,200,B,150",
    ),
    (
        "form",
        True,
        "color=",
        "color=blue",
        "color=blue&color=black&color=brown",
        "R=100&G=200&B=150",
    ),
    (
        "spaceDelimited",
        False,
        None,
        None,
        "color=blue%20black%20brown",
        "color=R%20100%20G%20200%20B%20150",
    ),
    (
        "pipeDelimited",
        False,
        None,
        None,
        "color=blue%7Cblack%7Cbrown",
        "color=R%7C100%7CG%7C200%7CB%7C150",
    ),
    ("deepObject", True, None, None, None, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
]


def cases(table: list[Any]) -> list[Any]:
    return [
        pytest.param(style, explode, value, wanted, id=f"{style}-{explode}-{type(value).__name__}")
        for style, explode, *row in table
        for value, wanted in zip((EMPTY, TEXT, LIST, OBJECT), row, strict=True)
        if wanted is not None
    ]


def join(pairs: list[tuple[str, str]], mark: str = "&") -> str:
    return mark.join(f"{name}={text}" for name, text in pairs)


@pytest.mark.parametrize(("style", "explode", "value", "wanted"), cases(PATHS))
def test_paths_are_written_as_the_table_shows(
    style: str, explode: bool, value: Any, wanted: str
) -> None:
    assert ParamStyle("color", "path", style, explode).write_text(value) == wanted


@pytest.mark.parametrize(("style", "explode", "value", "wanted"), cases(QUERIES))
def test_queries_are_written_as_the_table_shows(
    style: str, explode: bool, value: Any, wanted: str
) -> None:
    assert join(ParamStyle("color", "query", style, explode).write_pairs(value)) == wanted


@pytest.mark.parametrize(("style", "explode", "value", "wanted"), cases(PATHS[:2]))
def test_headers_are_written_as_the_table_shows(
    style: str, explode: bool, value: Any, wanted: str
) -> None:
    assert ParamStyle("color", "header", style, explode).write_text(value) == wanted


@pytest.mark.parametrize(
    ("style", "explode", "value", "wanted"),
    [
        ("form", False, TEXT, "color=blue"),
        ("form", False, LIST, "color=blue,black,brown"),
        ("form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("cookie", True, LIST, "color=blue; color=black; color=brown"),
        ("cookie", True, OBJECT, "R=100; G=200; B=150"),
        ("cookie", False, "a b%", "color=a b%"),
    ],
)
def test_cookies_are_written_as_the_table_shows(
    style: str, explode: bool, value: Any, wanted: str
) -> None:
    assert join(ParamStyle("color", "cookie", style, explode).write_pairs(value), "; ") == wanted


@pytest.mark.parametrize(
    ("location", "wanted"),
    [("query", "form"), ("cookie", "form"), ("path", "simple"), ("header", "simple")],
)
def test_each_location_has_its_default_style(location: str, wanted: str) -> None:
    default, named = ParamStyle("a", location), ParamStyle("a", location, wanted)
    write = "write_pairs" if wanted == "form" else "write_text"
    assert getattr(default, write)(OBJECT) == getattr(named, write)(OBJECT)
    # Only form explodes by default.
    exploded = ParamStyle("a", location, wanted, wanted == "form")
    assert getattr(default, write)(OBJECT) == getattr(exploded, write)(OBJECT)


@pytest.mark.parametrize(
    ("location", "style"),
    [("query", "simple"), ("query", "matrix"), ("path", "form"), ("header", "deepObject")],
)
def test_a_style_of_another_location_is_refused(location: str, style: str) -> None:
    with pytest.raises(ValueError, match=f"'color' has the style '{style}'"):
        ParamStyle("color", location, style)


def test_values_are_encoded_and_delimiters_are_not() -> None:
    style = ParamStyle("a b", "query", "form", False)
    assert join(style.write_pairs(["x,y", "ä&="])) == "a%20b=x%2Cy,%C3%A4%26%3D"
    assert ParamStyle("p", "path").write_text("a/b?c#d") == "a%2Fb%3Fc%23d"
    assert ParamStyle("h", "header").write_text("a b/c") == "a b/c"


def test_reserved_characters_stay_where_the_document_allows_them() -> None:
    style = ParamStyle("u", "query", allow_reserved=True)
    assert join(style.write_pairs("https://x/y?z=1 2")) == "u=https://x/y?z=1%202"


def test_reserved_characters_that_end_a_value_are_encoded_all_the_same() -> None:
    """OpenAPI 3.1.1 takes them out of `allowReserved`: a value would add or drop parameters."""
    style = ParamStyle("u", "query", allow_reserved=True)
    assert join(style.write_pairs("a#b&c=d+[e]")) == "u=a%23b%26c=d%2B%5Be%5D"
    exploded = ParamStyle("u", "query", explode=True, allow_reserved=True)
    assert join(exploded.write_pairs({"x=1&y": "b"})) == "x%3D1%26y=b"
    joined = ParamStyle("u", "query", explode=False, allow_reserved=True)
    assert join(joined.write_pairs(["a,b", "c/d"])) == "u=a%2Cb,c/d"
    cookie = ParamStyle("u", "cookie", allow_reserved=True)
    assert join(cookie.write_pairs("a; b=c,d"), "; ") == "u=a%3B%20b=c%2Cd"
    matrix = ParamStyle("u", "path", "matrix", allow_reserved=True)
    assert matrix.write_text("a;admin=1") == ";u=a%3Badmin=1"


@pytest.mark.parametrize("value", ["a; admin=1", "a\nb", "Zoë", {"a=b": "c"}, ["a", "b;c"]])
def test_cookie_that_would_be_another_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="The cookie parameter 'sid' cannot be sent"):
        ParamStyle("sid", "cookie", "cookie").write_pairs(value)


def test_reserved_characters_in_a_path_do_not_end_it() -> None:
    style = ParamStyle("name", "path", allow_reserved=True)
    assert style.write_text("projects/a:b?c#d") == "projects/a:b%3Fc%23d"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("a%20b", "a%20b"), ("50%", "50%25"), ("%2", "%252"), ("%GG%c3%A4", "%25GG%c3%A4")],
)
def test_escapes_of_a_value_stay_where_reserved_characters_do(value: str, wanted: str) -> None:
    """RFC 6570 §3.2.3: triplets pass, any other percent sign is encoded."""
    for explode in (True, False):
        style = ParamStyle("u", "query", explode=explode, allow_reserved=True)
        assert style.write_pairs(value) == [("u", wanted)]
        assert style.write_pairs([value]) == [("u", wanted)]
    assert ParamStyle("u", "path", allow_reserved=True).write_text(value) == wanted
    assert ParamStyle("u", "query").write_pairs("a%20b") == [("u", "a%2520b")]


def test_deep_objects_nest() -> None:
    value = {"a": {"b": [1, {"c": True}]}, "none": None}
    pairs = ParamStyle("f", "query", "deepObject").write_pairs(value)
    assert join(pairs).replace("%5B", "[").replace("%5D", "]") == "f[a][b][0]=1&f[a][b][1][c]=true"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(True, "true"), (False, "false"), (0, "0"), (5.0, "5"), (1.5, "1.5"), (None, ""), ("x", "x")],
)
def test_values_are_written_as_in_json(value: Any, wanted: str) -> None:
    assert to_text(value) == wanted
