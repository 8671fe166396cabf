"""An agent in YAML with tools and callbacks of its own module, and a sub-agent's file."""

import sys
from pathlib import Path

from google.adk.agents import config_agent_utils
from showing import show

files = {
    "desk/__init__.py": "",
    "desk/tools.py": (
        "def roll(sides: int) -> int:\n    '''Rolls.'''\n    return sides\n\n\n"
        "def before(callback_context):\n    return None\n"
    ),
    "desk/root_agent.yaml": (
        "name: desk\n"
        "model: gemini-2.5-flash\n"
        "description: A desk.\n"
        "instruction: |\n  Help {user_name?}.\n"
        "tools:\n  - name: desk.tools.roll\n"
        "before_agent_callbacks:\n  - name: desk.tools.before\n"
        "sub_agents:\n  - config_path: helper.yaml\n"
    ),
    "desk/helper.yaml": "agent_class: LlmAgent\nname: helper\ninstruction: Be short.\n",
}
for name, text in files.items():
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
sys.path.insert(0, str(Path.cwd()))
agent = config_agent_utils.from_config("desk/root_agent.yaml")
show(
    name=agent.name,
    model=agent.model,
    told=agent.instruction,
    tools=[getattr(tool, "name", None) or tool.__name__ for tool in agent.tools],
    subs=[sub.name for sub in agent.sub_agents],
    parent=agent.sub_agents[0].parent_agent is agent,
    callbacks=len(agent.canonical_before_agent_callbacks),
)
for text in ("name: x\nno_such_field: 1\n", "model: gemini-2.5-flash\n"):
    Path("bad.yaml").write_text(text)
    try:
        config_agent_utils.from_config("bad.yaml")
        print("made")
    except ValueError:
        print("refused")
