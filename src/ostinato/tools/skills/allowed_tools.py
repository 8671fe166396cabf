"""`allowed-tools` of skills as policies: what an agent may call while such a skill is active."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...skills.prompt import RUN
from ..policy.conditions import Condition
from ..policy.policy import Policy
from ..policy.rule import Rule, Verdict

RULE = "allowed-tools"
_SHELL = ("Execute", "execute_bash")
# What skills call tools that have other names here.
_ALIASES: dict[str, tuple[str, ...]] = {
    "Bash": _SHELL,
    "Edit": ("EditFile",),
    "Read": ("ReadFile",),
    "WebFetch": ("load_web_page",),
    "WebSearch": ("google_search",),
    "Write": ("WriteFile",),
}
_ENTRY = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)
_CHAINED = "*[;&|`$<>\n]*"  # signs by which a shell starts further commands or writes files
_SCRIPTS = {"python": "*.py", "python3": "*.py", "bash": "*.sh", "sh": "*.sh"}
_ARGUMENTS = ("args", "short_options", "positional_args")  # of a script
_ANY = (None, "*", ":*")


def split_entries(text: str) -> list[str]:
    """Return the entries of `allowed-tools`, such as `Read` and `Bash(git add:*)`.

    Text behind a bracket that is never closed is no entry: it must not allow a whole shell.
    """
    entries: list[str] = []
    entry, depth = "", 0
    for sign in f"{text} ":
        if depth == 0 and (sign.isspace() or sign == ","):
            entries += [entry] if entry else []
            entry = ""
        else:
            entry += sign
            depth = max(0, depth + (sign == "(") - (sign == ")"))
    return entries


def build_policies(
    entries: Mapping[str, Sequence[str]],
    always: Sequence[str],
    verdict: Verdict,
    message: str,
    run: str = RUN,
) -> list[Policy]:
    """Return the policies for an agent whose active skills allow some tools.

    An entry may bound the commands of a shell, as `Bash(git:*)` does. Bounds of other tools cannot
    be checked, so such an entry allows nothing.

    Args:
      entries: the entries of all active skills that have any, each with the names of its skills. A
        bounded one allows scripts of these only.
      always: tools that stay allowed, such as those of the skills themselves.
      verdict: the verdict on all other tools.
      message: what the model reads of them.
      run: the name of the tool that runs scripts.
    """
    named: list[str] = [*always]
    commands: dict[str, list[str]] = {}
    for entry, skills in entries.items():
        found = _ENTRY.fullmatch(entry)
        if found is None:
            continue
        name, bounds = found[1], found[2] and found[2].strip()
        aliases = (name, *_ALIASES.get(name, ()), *((run,) if name in ("Bash", RUN) else ()))
        if bounds in _ANY:
            named += aliases
        elif bounds and not set(aliases).isdisjoint(_SHELL):
            commands.setdefault(bounds, []).extend(skills)
    shell = [tool for tool in (*_SHELL, run) if tool not in named] if commands else []
    rule = Rule(
        id=RULE,
        verdict=verdict,
        tool=("*", *(f"!{one}" for one in dict.fromkeys([*named, *shell]))),
        message=message,
    )
    policies = [Policy(rules=(rule,))]
    if shell:
        policies.append(_bound_commands(commands, shell, verdict, run))
    return policies


def _bound_commands(
    commands: Mapping[str, Sequence[str]], shell: Sequence[str], verdict: Verdict, run: str
) -> Policy:
    """Return the policy that lets shells run some commands only.

    An entry that does not end with a star allows no arguments.
    """
    rules = [
        Rule(id=f"{RULE}.others", verdict="allow", tool=tuple(f"!{one}" for one in shell)),
        Rule(
            id=f"{RULE}.chained",
            verdict="deny",
            tool=tuple(shell),
            args={"/command": Condition(like=_CHAINED)},
            message="The skill allows single commands only.",
        ),
    ]
    for number, (bounds, skills) in enumerate(commands.items()):
        is_open = bounds.endswith("*")
        plain = bounds.removesuffix("*").removesuffix(":").strip()
        patterns = (plain, f"{plain} *") if is_open else (plain,)
        for index, pattern in enumerate(patterns):
            fits = Condition(like=pattern)
            rules.append(_allow(f"{number}.{index}", _SHELL, {"/command": fits}))
        script = plain.removeprefix("./")
        if plain in _SCRIPTS:
            if not is_open:
                continue  # the script would be an argument
            script = _SCRIPTS[plain]
        args = {
            "/file_path": Condition(like=script),
            "/skill_name": Condition.model_validate({"in": [*dict.fromkeys(skills)]}),
        }
        if not is_open:
            args |= {f"/{name}/0": Condition(exists=False) for name in _ARGUMENTS}
        rules.append(_allow(f"{number}.script", (run,), args))
    return Policy(rules=tuple(rules), default=verdict)


def _allow(name: str, tools: tuple[str, ...], args: dict[str, Condition]) -> Rule:
    return Rule(id=f"{RULE}.{name}", verdict="allow", tool=tools, args=args)
