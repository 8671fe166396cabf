"""The command `ostinato completion`: scripts that complete commands and options in a shell.

The script holds the words of the whole command line, so that completing starts no Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .parser import build_parser


@dataclass(frozen=True, slots=True)
class _Command:
    """What can follow a command.

    Attributes:
      path: the words that lead to it, such as `sessions list`; empty for the program itself.
      words: its sub-commands, or the values of its positional argument, each with a help text.
      options: its options, each with a help text.
      values: the values of an option that takes one of several; empty for an option whose value
        is free.
    """

    path: str
    words: dict[str, str] = field(default_factory=dict[str, str])
    options: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def main(args: argparse.Namespace) -> int:
    """Print the script of a shell; return the exit code."""
    print(_WRITERS[args.shell](list(_list_commands(build_parser(), ""))), end="")
    return 0


def _list_commands(parser: argparse.ArgumentParser, path: str) -> Iterator[_Command]:
    """Yield a parser's command, and those below it."""
    command = _Command(path)
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in _read_private(parser, "_actions", []):
        about: list[argparse.Action] = _read_private(action, "_choices_actions", [])
        if about:
            helps = {one.dest: one.help or "" for one in about}
            parsers: dict[str, argparse.ArgumentParser] = action.choices
            for name, child in parsers.items():
                command.words[name] = _one_line(helps.get(name, ""))
                below.append((f"{path} {name}".strip(), child))
            continue
        choices = tuple(map(str, action.choices or ()))
        if not action.option_strings:
            command.words.update(dict.fromkeys(choices, ""))
        for option in action.option_strings:
            command.options[option] = _one_line(action.help or "")
            if action.nargs != 0:
                command.values[option] = choices
    yield command
    for name, child in below:
        yield from _list_commands(child, name)


def _read_private(owner: object, name: str, default: Any) -> Any:
    """Return an attribute that argparse offers no public way to read."""
    return vars(owner).get(name, default)


def _one_line(text: str) -> str:
    """Return a help text as one line without characters that a shell's string gives a meaning."""
    plain = " ".join(text.replace("%%", "%").split())
    return "".join(one for one in plain if one not in "'\"`$\\[]{}:;!")


def _write_bash(commands: list[_Command]) -> str:
    lines = [
        "# Completion of ostinato for bash. Written by `ostinato completion bash`.",
        "_ostinato() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local here="" word words="" options="" i',
        "    COMPREPLY=()",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        word="${COMP_WORDS[i]}"',
        '        case "${here:+$here }$word" in',
        f"            {_join_paths(commands)}) " + 'here="${here:+$here }$word" ;;',
        "        esac",
        "    done",
        '    case "$here" in',
    ]
    for one in commands:
        lines += [f'        "{one.path}")', f'            words="{" ".join(one.words)}"']
        lines += [f'            options="{" ".join(one.options)}"']
        if one.values:
            lines += ['            case "$before" in']
            for option, choices in one.values.items():
                given = f'$(compgen -W "{" ".join(choices)}" -- "$current")'
                shown = f"COMPREPLY=({given})" if choices else "compopt -o default"
                lines += [f"                {option}) {shown}; return ;;"]
            lines += ["            esac"]
        lines += ["            ;;"]
    lines += [
        "    esac",
        '    if [[ "$current" == -* ]]; then',
        '        COMPREPLY=($(compgen -W "$options" -- "$current"))',
        '    elif [[ -n "$words" ]]; then',
        '        COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "    else",
        "        compopt -o default",
        "    fi",
        "}",
        "complete -F _ostinato ostinato",
    ]
    return "\n".join(lines) + "\n"


def _write_zsh(commands: list[_Command]) -> str:
    lines = [
        "#compdef ostinato",
        "# Completion of ostinato for zsh. Written by `ostinato completion zsh`.",
        "_ostinato() {",
        '    local here="" word i',
        "    local -a choices options",
        "    for ((i = 2; i < CURRENT; i++)); do",
        '        word="${words[i]}"',
        '        case "${here:+$here }$word" in',
        f"            ({_join_paths(commands)}) " + 'here="${here:+$here }$word" ;;',
        "        esac",
        "    done",
        '    case "$here" in',
    ]
    for one in commands:
        lines += [f'        ("{one.path}")']
        for option, choices in one.values.items():
            shown = f"compadd -- {' '.join(choices)}" if choices else "_files"
            lines += [
                f'            [[ "${{words[CURRENT-1]}}" == {option} ]] && {{ {shown}; return }}'
            ]
        lines += [f"            choices=({_describe_zsh(one.words)})"]
        lines += [f"            options=({_describe_zsh(one.options)})", "            ;;"]
    lines += [
        "    esac",
        '    if [[ "${words[CURRENT]}" == -* ]]; then',
        "        _describe option options",
        "    elif (( ${#choices} )); then",
        "        _describe command choices",
        "    else",
        "        _files",
        "    fi",
        "}",
        '[[ "${funcstack[1]}" == _ostinato ]] && _ostinato "$@" || compdef _ostinato ostinato',
    ]
    return "\n".join(lines) + "\n"


def _write_fish(commands: list[_Command]) -> str:
    lines = [
        "# Completion of ostinato for fish. Written by `ostinato completion fish`.",
        "function __ostinato_path",
        '    set -l path ""',
        "    for word in (commandline -opc)[2..-1]",
        '        set -l next (string trim "$path $word")',
        '        switch "$next"',
        f"            case {' '.join(repr(one.path) for one in commands if one.path)}",
        '                set path "$next"',
        "        end",
        "    end",
        '    test "$path" = "$argv[1]"',
        "end",
    ]
    for one in commands:
        where = f"complete -c ostinato -n '__ostinato_path \"{one.path}\"'"
        if one.words:
            lines += [f"{where} -f"]
        for word, text in one.words.items():
            lines += [f"{where} -a '{word}' -d '{text}'"]
        for option, text in one.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = ""
            if option in one.values:
                choices = one.values[option]
                value = f" -x -a '{' '.join(choices)}'" if choices else " -r"
            lines += [f"{where} {kind}{value} -d '{text}'"]
    return "\n".join(lines) + "\n"


def _join_paths(commands: list[_Command]) -> str:
    return "|".join(f'"{one.path}"' for one in commands if one.path)


def _describe_zsh(texts: dict[str, str]) -> str:
    return " ".join(f"'{name}:{text}'" for name, text in texts.items())


_WRITERS: dict[str, Callable[[list[_Command]], str]] = {
    "bash": _write_bash,
    "zsh": _write_zsh,
    "fish": _write_fish,
}
