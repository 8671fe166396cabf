"""Every rule of the house can fail: each is shown a small tree that breaks it, and must say so at
the right line; and one small tree that breaks nothing, over which every rule must be silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.arch import rules
from tests.arch.floors import MAX_ADAPTER_LINES, MAX_FILE_LINES, MAX_FUNCTION_LINES
from tests.arch.rules import RULES, Rule
from tests.arch.tree import House

DOC = '"""What the file is."""\n'
FACE = (
    DOC
    + "from typing import TYPE_CHECKING\n"
    + "from ostinato._lazy import attach\n"
    + "if TYPE_CHECKING:\n    {imports}\n"
    + "__getattr__, __dir__ = attach(__name__, __file__)\n"
)

GOOD = {
    "__init__.py": FACE.format(imports="from ostinato.runners import Runner as Runner"),
    "_lazy.py": DOC + "def attach(name, file):\n    from importlib import import_module\n",
    "_clock.py": DOC + "import time\ndef now():\n    'Seconds.'\n    return time.time()\n",
    "_aclosing.py": DOC,
    "events/__init__.py": FACE.format(imports="from .event import Event as Event"),
    "events/event.py": DOC + "from ostinato._clock import now\nclass Event:\n    'A fact.'\n",
    "agents/__init__.py": FACE.format(imports="from .base_agent import BaseAgent as BaseAgent"),
    "agents/base_agent.py": (
        DOC + "from typing import TYPE_CHECKING\n"
        "from ostinato.events import Event\n"
        "if TYPE_CHECKING:\n    from ostinato.events.event import Event as E\n"
        "class BaseAgent:\n    'An agent.'\n"
        "    def __init__(self):\n        self._tree = []\n"
        "    def same(self, other):\n        return self._tree == other._tree\n"
        "    def run(self, other):\n        return other._run_async_impl(self)\n"
    ),
    "runners.py": (
        DOC + "from ostinato.agents import BaseAgent\nclass Runner:\n    'Drives.'\n"
        "def _drive(agent):\n"
        "    try:\n        agent()\n"
        "    except Exception:  # boundary: the tool is the user's code\n        pass\n"
    ),
    "utils/__init__.py": DOC,
    "utils/context_utils.py": FACE.format(imports="from ostinato._aclosing import X as X"),
    "cli/main.py": DOC + "import os\nfrom ostinato.runners import Runner\nHOME = os.environ\n",
    "models/base_llm.py": DOC + "from ostinato.models._wire import line\n",
    "models/_wire.py": DOC + "def line(x): return x\n",
    "models/registry.py": (
        DOC + "from importlib import import_module\nimport os\nKEY = os.getenv('KEY')\n"
        "def load(text):\n    'The class behind a string.'\n    return import_module(text)\n"
    ),
}

FUNCTION = "def f():\n    'It does.'\n"

# rule, the file that breaks it, its text, and the place and words that the finding must name
BAD = [
    (rules.every_module_has_a_floor, "attic.py", DOC + "x = 1\n", "attic.py:1 stands on no floor"),
    (
        rules.no_import_upward,
        "events/late.py",
        DOC + "from ostinato.runners import Runner\n",
        "events/late.py:2 imports upward",
    ),
    (
        rules.no_import_upward,
        "events/late.py",
        DOC + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from ..agents.base_agent import BaseAgent\n",
        "events/late.py:4 imports upward",
    ),
    (
        rules.no_import_upward,
        "events/late.py",
        DOC + "from .. import agents\ndef f():\n    'It does.'\n    return agents.BaseAgent()\n",
        "events/late.py:2 imports upward",
    ),
    (
        rules.no_import_upward,
        "events/late.py",
        DOC + "from ostinato import Runner\n",
        "-> runners (floor",
    ),
    (
        rules.no_import_upward,
        "artifacts/side.py",
        DOC + "import ostinato.events.event\n",
        "artifacts/side.py:2 imports sideways",
    ),
    (
        rules.no_circle,
        "events/event.py",
        DOC + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from ostinato.events import Event\n    from .twin import Twin\n",
        "events/event.py:4 is in a circle of 3: events, events.event, events.twin",
    ),
    (
        rules.no_circle,
        "events/event.py",
        DOC + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from ostinato.events import Twin\n",
        "events/event.py:4 is in a circle of 2: events, events.event",
    ),
    (
        rules.no_import_upward,
        "artifacts/late.py",
        DOC + "from ..features import now\n",
        "-> features (floor",
    ),
    (
        rules.no_import_in_a_function,
        "events/late.py",
        DOC + FUNCTION + "    import json\n",
        "events/late.py:4 imports inside a function",
    ),
    (
        rules.no_import_in_a_function,
        "events/late.py",
        DOC + "import importlib as i\nx = i.import_module('json')\n",
        "events/late.py:3 imports by name",
    ),
    (
        rules.adapters_are_named_by_the_registry_alone,
        "models/registry.py",
        DOC + "from ostinato.models import openai_llm\n",
        "models/registry.py:2 imports the adapter",
    ),
    (
        rules.no_foreign_private_name,
        "events/late.py",
        DOC + "def f(x):\n    'It does.'\n    return x._tree\n",
        "events/late.py:4 reaches `x._tree`",
    ),
    (
        rules.no_foreign_private_name,
        "events/late.py",
        DOC + "class A:\n    'A.'\n    def f(self, x):\n        return self.a._tree\n",
        "events/late.py:5 reaches `self.a._tree`",
    ),
    (
        rules.no_foreign_private_name,
        "events/late.py",
        DOC + "class A:\n    'A.'\n    _a: int\nclass B:\n    'B.'\n    def f(self, a):\n"
        "        return a._a\ndef g(a): return a._a\n",
        "events/late.py:8 reaches `a._a`",
    ),
    (
        rules.no_foreign_private_name,
        "events/late.py",
        DOC + "from ostinato.events.event import _build\n",
        "events/late.py:2 imports the private name `_build`",
    ),
    (
        rules.no_foreign_private_name,
        "agents/late.py",
        DOC + "from ostinato.models._wire import line\n",
        "agents/late.py:2 imports the private name `_wire`",
    ),
    (
        rules.no_long_file,
        "events/long.py",
        DOC + "x = 1\n" * MAX_FILE_LINES,
        f"events/long.py:{MAX_FILE_LINES + 1} the file has {MAX_FILE_LINES + 1} lines",
    ),
    (
        rules.no_long_file,
        "models/openai_llm.py",
        DOC + "x = 1\n" * MAX_ADAPTER_LINES,
        f"over {MAX_ADAPTER_LINES}",
    ),
    (
        rules.no_long_function,
        "events/long.py",
        DOC + FUNCTION + "    x = 1\n" * (MAX_FUNCTION_LINES - 1),
        f"events/long.py:2 f has {MAX_FUNCTION_LINES + 1} lines",
    ),
    (
        rules.complexity_is_never_waived,
        "events/late.py",
        DOC + "def f():  # noqa" + ": C901\n    'It does.'\n",
        "events/late.py:2 waives",
    ),
    (
        rules.no_drawer_for_everything,
        "events/_helpers.py",
        DOC,
        "events/_helpers.py:1 is named _helpers",
    ),
    (
        rules.utils_only_re_exports,
        "utils/context_utils.py",
        DOC + "x = 1\n",
        "utils/context_utils.py:1 is no lazy face",
    ),
    (
        rules.utils_only_re_exports,
        "utils/context_utils.py",
        FACE.format(imports="from ostinato._aclosing import X as X") + "def f(): pass\n",
        "utils/context_utils.py:1 is no lazy face",
    ),
    (
        rules.environment_is_read_at_the_edge,
        "events/late.py",
        DOC + "from os import environ as e\nx = e.get('KEY')\n",
        "events/late.py:3 reads os.environ",
    ),
    (
        rules.environment_is_read_at_the_edge,
        "events/late.py",
        DOC + "import os\nx = os.getenv('KEY')\n",
        "events/late.py:3 reads os.getenv",
    ),
    (
        rules.broad_except_names_its_boundary,
        "runners.py",
        DOC + "try:\n    x = 1\nexcept (ValueError, Exception):\n    x = 2\n",
        "runners.py:4 catches everything",
    ),
    (
        rules.broad_except_names_its_boundary,
        "runners.py",
        DOC + "try:\n    x = 1\nexcept:  # boundary:\n    x = 2\n",
        "runners.py:4 catches everything",
    ),
    (
        rules.broad_except_names_its_boundary,
        "runners.py",
        DOC + "import contextlib\nwith contextlib.suppress(Exception):\n    x = 2\n",
        "runners.py:3 catches everything",
    ),
    (
        rules.one_source_of_time_and_ids,
        "events/late.py",
        DOC + "from datetime import datetime as d\nx = d.now()\n",
        "events/late.py:3 uses datetime.datetime.now",
    ),
    (
        rules.one_source_of_time_and_ids,
        "events/late.py",
        DOC + "import uuid\nfactory = uuid.uuid4\n",
        "events/late.py:3 uses uuid.uuid4",
    ),
    (rules.every_module_says_what_it_is, "events/late.py", "x = 1\n", "events/late.py:1 has no"),
    (
        rules.every_public_name_has_a_docstring,
        "events/late.py",
        DOC + "async def f():\n    pass\n",
        "events/late.py:2 f has no docstring",
    ),
    (
        rules.no_numbered_sql_parameter,
        "events/late.py",
        DOC + "ROW = 'SELECT a FROM b WHERE c = ?1'\n",
        "events/late.py:2 numbers a parameter",
    ),
]


def plant(root: Path, files: dict[str, str]) -> House:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House.read(root)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_silent_over_a_good_tree(rule: Rule, tmp_path: Path) -> None:
    assert rule(plant(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("rule", "name", "text", "expected"), BAD, ids=[f"{b[0].__name__}-{b[1]}" for b in BAD]
)
def test_speaks_over_a_bad_tree(
    rule: Rule, name: str, text: str, expected: str, tmp_path: Path
) -> None:
    twin = {"events/twin.py": DOC + "from ostinato.events.event import Event\n"}
    twin["models/openai_llm.py"] = DOC
    twin["features/__init__.py"] = FACE.format(
        imports="from ostinato._clock import now as now\n"
        "    from ostinato.runners import Runner as Runner"
    )
    found = rule(plant(tmp_path, GOOD | twin | {name: text}))
    assert len(found) == 1
    assert expected in found[0]


def test_every_rule_is_shown_to_fail() -> None:
    assert {case[0] for case in BAD} == set(RULES)
