"""The difference between what agents are given at two commits, as data and as Markdown."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from typing import Any, cast

from ..markup import escape_html, fence, quote, quote_cell
from ..report import EvaluationReport
from ..report_files import format_markdown as format_evaluation
from .replay_report import ReplayReport
from .replay_report import format_markdown as format_replay

_ASPECTS = ("model", "instructions", "tools", "schemas", "settings", "error")
_LONGEST_DIFF = 400

Rendered = dict[str, dict[str, Any]]
"""What `render_agents` returns: the request of each agent by its name."""


@dataclass(slots=True)
class AgentChange:
    """What differs in the request of an agent.

    Attributes:
      name: the agent.
      kind: `new`, `removed` or `changed`.
      aspects: what differs: model, instructions, tools, schemas, settings, error.
      tools: tools that are new, gone or changed, such as `+ refund`, `- find`, `~ pay`.
      diff: the lines of a unified diff.
    """

    name: str
    kind: str
    aspects: list[str] = field(default_factory=list[str])
    tools: list[str] = field(default_factory=list[str])
    diff: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class BehaviourReport:
    """What differs between two commits for one app.

    Attributes:
      agent: the path of the app's agent.
      changes: the agents that changed.
      unchanged: the names of the others.
      touched: whether files in the agent's folder changed.
      evaluation: the cases at the new commit, compared with the old one; None if none ran.
      gone_sets: the files of eval sets that only the old commit has.
      replay: recorded invocations at both commits; None if none ran.
    """

    agent: str
    changes: list[AgentChange]
    unchanged: list[str]
    touched: bool = False
    evaluation: EvaluationReport | None = None
    gone_sets: list[str] = field(default_factory=list[str])
    replay: ReplayReport | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the behaviour may have changed."""
        return self.touched or bool(self.changes)


def compare_rendered(before: Rendered, after: Rendered) -> tuple[list[AgentChange], list[str]]:
    """Return the agents that changed, and the names of the others.

    Args:
      before, after: the requests of both commits.
    """
    changes: list[AgentChange] = []
    unchanged: list[str] = []
    for name in sorted({*before, *after}):
        if name not in before:
            changes.append(AgentChange(name, "new", diff=_diff({}, after[name])))
        elif name not in after:
            changes.append(AgentChange(name, "removed"))
        elif before[name] == after[name]:
            unchanged.append(name)
        else:
            old, new = before[name], after[name]
            aspects = [one for one in _ASPECTS if old.get(one) != new.get(one)]
            changes.append(
                AgentChange(name, "changed", aspects, _compare_tools(old, new), _diff(old, new))
            )
    return changes, unchanged


def _compare_tools(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    old, new = _tools_by_name(before), _tools_by_name(after)
    return [
        *(f"+ {name}" for name in new if name not in old),
        *(f"- {name}" for name in old if name not in new),
        *(f"~ {name}" for name in new if name in old and old[name] != new[name]),
    ]


def _tools_by_name(rendered: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tool in cast(list[Any], rendered.get("tools", [])):
        name: Any = cast(dict[str, Any], tool).get("name") if isinstance(tool, dict) else None
        found[json.dumps(tool) if name is None else str(name)] = tool
    return found


def _diff(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for aspect in _ASPECTS:
        old, new = _lines_of(before.get(aspect)), _lines_of(after.get(aspect))
        if old != new:
            found = list(difflib.unified_diff(old, new, aspect, aspect, lineterm="", n=2))
            lines += found
    return lines


def _lines_of(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines()
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True).splitlines()


def format_behaviour(title: str, reports: list[BehaviourReport]) -> str:
    """Return reports as Markdown, for a pull request.

    Args:
      title: what is compared, such as `main..HEAD`.
      reports: a report for each app.
    """
    lines = [f"## Behaviour of agents, {quote(title)}", ""]
    for report in reports:
        lines += [f"### {quote(report.agent)}", "", *_format_changes(report)]
        if report.gone_sets:
            gone = ", ".join(map(quote, report.gone_sets))
            lines += [f"Eval sets that are gone, and did not run: {gone}.", ""]
        if report.evaluation is not None:
            lines += [_demote(format_evaluation(report.evaluation)), ""]
        if report.replay is not None:
            lines += [_demote(format_replay(report.replay)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _demote(markdown: str) -> str:
    """Return a report with headings below those of an app."""
    return re.sub(r"^#{1,3} ", "#### ", markdown.strip(), flags=re.MULTILINE)


def _format_changes(report: BehaviourReport) -> list[str]:
    if not report.changes:
        state = "though files in the folder changed" if report.touched else "and no file changed"
        return [f"The request of every agent is the same, {state}.", ""]
    lines = ["| agent | what changed | tools |", "|---|---|---|"]
    for one in report.changes:
        what = ", ".join(one.aspects) or one.kind
        tools = ", ".join(map(quote_cell, one.tools))
        lines.append(f"| {quote_cell(one.name)} | {what} | {tools} |")
    lines.append("")
    if report.unchanged:
        lines += [f"Unchanged: {', '.join(map(quote, report.unchanged))}.", ""]
    for one in report.changes:
        if one.diff:
            name = " ".join(escape_html(one.name).split())
            lines += _fold(f"<code>{name}</code>: request before and after", one.diff)
    return lines


def _fold(summary: str, diff: list[str]) -> list[str]:
    shown = diff[:_LONGEST_DIFF]
    if len(diff) > len(shown):
        shown = [*shown, f"... {len(diff) - len(shown)} more lines"]
    return [
        f"<details><summary>{summary}</summary>",
        "",
        *fence("\n".join(shown), "diff"),
        "",
        "</details>",
        "",
    ]
