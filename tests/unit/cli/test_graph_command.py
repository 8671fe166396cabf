"""`ostinato graph`: the diagram of an agent's workflows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.cli.main import main

FLOW = """
from ostinato.agents import SequentialAgent
from ostinato.workflow import START, Workflow

def a(node_input): ...

flow = Workflow(name="flow", edges=[(START, a)])
root_agent = SequentialAgent(name="line", sub_agents=[flow])
"""


def test_the_workflow_within_an_agent_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drawn_flow.py"
    file.write_text(FLOW)
    assert main(["graph", str(file)]) == 0
    assert capsys.readouterr().out == ('flowchart TD\n  START([START])\n  a["a"]\n  START --> a\n')


def test_an_agent_without_a_workflow_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "no_flow.py"
    file.write_text("from ostinato.agents import Agent\nroot_agent = Agent(name='lone')\n")
    assert main(["graph", str(file)]) == 1
    assert "has no workflow" in capsys.readouterr().err
