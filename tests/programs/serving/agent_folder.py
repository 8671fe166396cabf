"""An agent folder with relative imports and a .env file, loaded by AgentLoader."""

import os
from pathlib import Path

from google.adk.cli.utils.agent_loader import AgentLoader
from showing import show

folder = Path("agents")
files = {
    "desk/__init__.py": "from . import agent\n",
    "desk/agent.py": (
        "import os\n"
        "from google.adk.agents import Agent\n"
        "from .tools.clock import clock\n"
        "root_agent = Agent(name='desk', instruction=os.environ['DESK_RULE'], tools=[clock])\n"
    ),
    "desk/tools/__init__.py": "",
    "desk/tools/clock.py": "def clock() -> str:\n    'Tells the time.'\n    return 'noon'\n",
    "desk/.env": "DESK_RULE='Be kind'\n# a comment\nDESK_OTHER=1\n",
    "single.py": "from google.adk.agents import Agent\nroot_agent = Agent(name='single')\n",
    "app/__init__.py": "",
    "app/agent.py": (
        "from google.adk.agents import Agent\n"
        "from google.adk.apps import App\n"
        "app = App(name='app', root_agent=Agent(name='inside'))\n"
    ),
    "broken/agent.py": "value = 1\n",
}
for name, text in files.items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
loader = AgentLoader(str(folder))
desk = loader.load_agent("desk")
show(name=desk.name, told=desk.instruction, tool=desk.tools[0](), other=os.environ["DESK_OTHER"])
show(again=loader.load_agent("desk") is desk)
show(listed=[name for name in loader.list_agents() if name != "single"])
show(app=type(loader.load_agent("app")).__name__, single=loader.load_agent("single").name)
for name in ("broken", "nothing", "../desk"):
    try:
        loader.load_agent(name)
        print(name, "is loaded")
    except ValueError:
        print(name, "is refused")
loader.remove_agent_from_cache("desk")
show(new=loader.load_agent("desk") is not desk)
