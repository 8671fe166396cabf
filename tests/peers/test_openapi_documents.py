"""The published documents of Stripe, Kubernetes and GitHub are read whole."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from ostinato.tools.openapi_tool import OpenAPIToolset

from .environments import set_up

pytestmark = pytest.mark.service


@pytest.mark.parametrize(
    ("name", "operations", "argument"),
    [
        ("stripe.com.json", 452, ("post_customers", "email")),
        ("kubernetes.io.json", 845, ("create_core_v1_namespaced_pod", "namespace")),
        ("api.github.com.json", 845, ("issues_create", "title")),
    ],
)
def test_each_operation_becomes_a_tool(
    name: str, operations: int, argument: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    text = (set_up("openapi") / name).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    methods = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
    found = sum(len(methods & item.keys()) for item in document["paths"].values())
    with caplog.at_level(logging.WARNING):
        tools = OpenAPIToolset(spec_str=text).tools
    assert len(tools) == found == operations
    assert len({tool.name for tool in tools}) == operations
    told = [one for one in caplog.records if one.name.startswith("ostinato.tools")]
    assert not told
    by_name = {tool.name: tool for tool in tools}
    assert argument[1] in by_name[argument[0]].make_arguments_schema()["properties"]
    for tool in tools:
        declaration = tool._get_declaration()
        assert len(json.dumps(declaration.parameters_json_schema)) < 200_000
