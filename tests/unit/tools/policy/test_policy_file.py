"""Policy files: what they say, what is wrong with them and where, and the tests that they hold."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ostinato.errors import AgentFileError, AgentFileNotFoundError
from ostinato.tools.policy import ToolRequest, load_policy
from ostinato.tools.policy.policy_file import read_policy_file

GOOD = """\
version: 1
default: deny
rules:
  - id: read
    tool: [read_*, list_*]
    verdict: allow
  - id: pay
    tool: pay
    args:
      /amount: {gt: 100}
      /currency: EUR
    verdict: ask
    grants: [session, 24h]
    same: [/to]
    message: Large payments need approval.
tests:
  - tool: read_file
    expect: allow
  - name: large
    tool: pay
    args: {amount: 500, currency: EUR}
    expect: ask
    rule: pay
"""


def write(folder: Path, text: str, name: str = "policy.yaml") -> Path:
    file = folder / name
    file.write_text(dedent(text), encoding="utf-8")
    return file


def test_a_file_is_read_and_its_tests_pass(tmp_path: Path) -> None:
    found = read_policy_file(write(tmp_path, GOOD))
    assert [rule.id for rule in found.policy.rules] == ["read", "pay"]
    assert found.policy.decide(ToolRequest("delete", {})).verdict == "deny"
    assert len(found.tests) == 2 and found.run_tests() == []


def test_a_test_that_fails_names_its_line_and_what_decided(tmp_path: Path) -> None:
    text = GOOD.replace("expect: allow", "expect: deny").replace("rule: pay", "rule: read")
    faults = read_policy_file(write(tmp_path, text)).run_tests()
    assert len(faults) == 2
    assert "policy.yaml, line 17: expected deny, but rule 'read' says allow" in faults[0]
    assert "line 19: test 'large': expected rule 'read' to decide, but rule 'pay' does" in faults[1]


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        (
            "rules:\n  - id: a\n    verdict: deny\n    tols: x\n",
            4,
            "rules[0].tols",
            "no such field",
        ),
        ("rule: []\n", 1, "rule", "no such field"),
        ("version: 2\n", 1, "version", "1"),
        ("version: true\n", 1, "version", "integer"),
        ("version: 1.0\n", 1, "version", "integer"),
        ("version: '1'\n", 1, "version", "integer"),
        ("rules:\n  - id: a\n    verdict: maybe\n", 3, "rules[0].verdict", "'allow'"),
        ("rules:\n  - verdict: deny\n", 2, "rules[0].id", "required"),
        (
            "rules:\n  - id: a\n    verdict: deny\n    args:\n      /n: {gt: lots}\n",
            5,
            "rules[0].args./n.gt",
            "number",
        ),
        (
            "rules:\n  - id: a\n    verdict: deny\n    args:\n      n: 1\n",
            5,
            "rules[0].args.n",
            "no JSON pointer",
        ),
        (
            "rules:\n  - id: a\n    verdict: deny\n    args:\n      /n: {gt: 5, lt: 3}\n",
            5,
            "rules[0].args./n",
            "no number is between",
        ),
        (
            "rules:\n  - {id: a, verdict: deny}\n  - {id: a, verdict: deny, tool: x}\n",
            3,
            "rules[1].id",
            "two rules have the id 'a'",
        ),
        (
            "rules:\n  - {id: a, verdict: deny}\n  - id: b\n    tool: x\n    verdict: ask\n",
            5,
            "rules[1].verdict",
            "never decides",
        ),
        (
            "rules:\n  - id: a\n    verdict: deny\n    tool: [y, '!y']\n",
            4,
            "rules[0].tool",
            "fit nothing",
        ),
        ("include: [gone.yaml]\n", 1, "include[0]", "no such file"),
        ("include: [policy.yaml]\n", 1, "include[0]", "include each other"),
        ("rules: [\n", 2, "", "not YAML"),
        ("tests:\n  - {tool: x}\n", 2, "tests[0].expect", "required"),
    ],
)
def test_a_fault_is_named_with_file_line_and_field(
    tmp_path: Path, text: str, line: int, field: str, problem: str
) -> None:
    with pytest.raises(AgentFileError, match=problem) as caught:
        load_policy(write(tmp_path, text))
    assert caught.value.file.endswith("/policy.yaml")
    assert (caught.value.line, caught.value.field) == (line, field)
    assert str(caught.value).startswith(caught.value.file)


def test_a_file_without_fields_is_no_policy(tmp_path: Path) -> None:
    for text in ("- a\n", "", "deny\n"):
        with pytest.raises(AgentFileError, match="a policy is made of fields"):
            load_policy(write(tmp_path, text))


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    text = "rules:\n  - {id: a, verdict: x}\n  - {id: b, verdict: y}\n"
    with pytest.raises(AgentFileError) as caught:
        load_policy(write(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentFileNotFoundError):
        load_policy(tmp_path / "gone.yaml")


def test_included_files_add_their_rules_and_the_strictest_default(tmp_path: Path) -> None:
    (tmp_path / "teams").mkdir()
    write(tmp_path, "default: deny\nrules: [{id: base, verdict: allow, tool: x}]\n", "base.yaml")
    write(tmp_path, "include: [../base.yaml]\n", "teams/one.yaml")
    policy = load_policy(write(tmp_path, "default: allow\ninclude: [base.yaml, teams/one.yaml]\n"))
    assert [rule.id for rule in policy.rules] == ["base"]
    assert policy.default == "deny"


def test_a_cycle_names_the_files(tmp_path: Path) -> None:
    write(tmp_path, "include: [c.yaml]\n", "b.yaml")
    write(tmp_path, "rules: []\ninclude:\n  - a.yaml\n", "c.yaml")
    with pytest.raises(AgentFileError, match=r"a\.yaml -> b\.yaml -> c\.yaml -> a\.yaml") as caught:
        load_policy(write(tmp_path, "include: [b.yaml]\n", "a.yaml"))
    assert (caught.value.file.split("/")[-1], caught.value.line) == ("c.yaml", 3)


def test_a_conflict_with_an_included_file_is_named_in_its_own_file(tmp_path: Path) -> None:
    write(tmp_path, "rules: [{id: a, verdict: deny, tool: x}]\n", "base.yaml")
    text = "include: [base.yaml]\nrules:\n  - {id: b, verdict: allow, tool: x}\n"
    with pytest.raises(AgentFileError, match=r"policy\.yaml, line 3.*about the same calls"):
        load_policy(write(tmp_path, text))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("source: mcp", "write 'mcp:*'"),
        ("source: agent", "write 'agent:*'"),
        ("source: 'function:x'", "write 'function'"),
        ("source: 'openapi:api'", "write 'openapi:api/*'"),
        ("source: 'skill:x'", "write 'skill:x/*'"),
        ("source: 'skill:x/y.sh'", "write 'skill:x/scripts/y.sh'"),
        ("source: '!mcp'", "write 'mcp:*'"),
        ("tool: '[z-a]'", "fits nothing"),
        ("user: ['x', '!a[z-a]*']", "fits nothing"),
        ("args: {/a: {exists: false}, /a/b: {gt: 5}}", "take one of them out"),
        ("state: {/a/b: 5, /a: {exists: false}}", "take one of them out"),
    ],
)
def test_what_can_never_fit_is_refused(tmp_path: Path, fields: str, told: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(f"version: 1\nrules:\n  - id: a\n    verdict: deny\n    {fields}\n")
    with pytest.raises(AgentFileError) as caught:
        load_policy(file)
    assert told in str(caught.value) and caught.value.line == 5
    assert (caught.value.field or "").startswith(f"rules[0].{fields.partition(':')[0]}")


@pytest.mark.parametrize(
    "fields",
    [
        *("source: '*'", "source: 'm*'", "source: 'mcp:*'", "source: 'openapi:*'"),
        *("source: 'openapi:api/get /x'", "source: 'skill:x/scripts/*'", "source: 'skill:x*'"),
        *("tool: '[a-z]*'", "tool: '[!a]'", "args: {/a: {exists: false}, /ab: {gt: 5}}"),
        "args: {/a: {exists: false}, /a/b: {not_equals: 5}}",
    ],
)
def test_what_may_fit_is_taken(tmp_path: Path, fields: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(f"version: 1\nrules:\n  - id: a\n    verdict: deny\n    {fields}\n")
    assert load_policy(file).rules
