"""The JSON schema for editors takes what is read, and marks what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.agents.agent_config import build_json_schema
from ostinato.utils.yaml_utils import load_yaml_file

jsonschema = pytest.importorskip("jsonschema", reason="the dev extra brings it")
FILES = Path(__file__).parents[2] / "golden" / "yaml" / "golden_desk"


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema.Draft7Validator(build_json_schema())


def test_files_that_are_read_fit(validator: Any) -> None:
    files = [one for one in FILES.glob("**/*.yaml") if not one.name.startswith("bad_")]
    assert len(files) >= 15
    for file in files:
        assert not list(validator.iter_errors(load_yaml_file(file))), file.name


def test_files_that_are_refused_for_their_fields_do_not_fit(validator: Any) -> None:
    refused = [
        "unknown_key", "no_instruction", "no_name", "field_of_another_class", "unknown_setting",
        "list", "empty",
    ]  # fmt: skip
    for name in refused:
        assert list(validator.iter_errors(load_yaml_file(FILES / f"bad_{name}.yaml"))), name
    for said in ({"agent_class": "Nowhere"}, {"tools": ["google_search"]}):
        assert list(validator.iter_errors({"name": "a", "instruction": "i", **said})), said


def test_each_field_is_explained() -> None:
    fields = build_json_schema()["$defs"]["LlmAgentConfig"]["properties"]
    assert all("description" in field for field in fields.values())
