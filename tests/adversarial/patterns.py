"""Every regular expression of the package, how it is used, and texts that are made against it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import ostinato
from tests.support.syntax import parse, walk

ROOT = Path(ostinato.__file__).parent
PAGE = ROOT.parent.parent / "page" / "src"
_CALLS = frozenset("compile match search sub fullmatch findall finditer split subn".split())
_MENTIONS = re.compile(rf"\bre\.({'|'.join(sorted(_CALLS))})\b")
_ANCHORED = frozenset(("match", "fullmatch"))
_TYPESCRIPT = re.compile(
    r"[(=,:!&|?] ?/((?:[^/\\\n\[ ]|\\.|\[(?:[^\]\\\n]|\\.)*\])"
    r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])*)/([a-z]*)"
)


@dataclass(frozen=True)
class Pattern:
    """A pattern, where it stands, and whether it is tried at the beginning of a text only."""

    place: str
    regex: re.Pattern[Any]
    anchored: bool

    def run(self, text: str) -> None:
        """Look for all that it matches."""
        data: Any = text.encode() if isinstance(self.regex.pattern, bytes) else text
        if self.anchored:
            self.regex.match(data)
            self.regex.fullmatch(data)
        else:
            for _ in self.regex.finditer(data):
                pass


def patterns() -> list[Pattern]:
    """Return the patterns of all modules, each once."""
    found: dict[tuple[str, bool], Pattern] = {}
    for file in sorted(ROOT.rglob("*.py")):
        place, source = file.relative_to(ROOT).as_posix(), file.read_text()
        if not _MENTIONS.search(source):  # most files; to parse them takes seconds
            continue
        for one in _of_module(place, parse(source)):
            found[str(one.regex.pattern), one.anchored] = one
    return [*found.values(), *_of_page()]


def _of_module(place: str, tree: ast.Module) -> Iterator[Pattern]:
    uses: dict[str, set[str]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_call(node.value, {"compile"})
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for name in sorted(names):
        module = import_module("ostinato." + place.removesuffix(".py").replace("/", "."))
        used = uses.get(name, set())
        yield Pattern(f"{place} {name}", getattr(module, name), bool(used) and used <= _ANCHORED)
    for node in tree.body:  # compiled when first used
        if isinstance(node, ast.FunctionDef) and not node.args.args and _returns_pattern(node):
            module = import_module("ostinato." + place.removesuffix(".py").replace("/", "."))
            yield Pattern(f"{place} {node.name}", getattr(module, node.name)(), anchored=False)
    named = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
    for node in walk(tree):
        if _is_call(node, _CALLS) and id(node) not in named:
            assert isinstance(node, ast.Call)
            given = node.args[0] if node.args else None
            if isinstance(given, ast.Constant) and isinstance(given.value, str | bytes):
                flags = _flags(node)
                kind = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                regex: re.Pattern[Any] = re.compile(given.value, flags)
                yield Pattern(f"{place}:{node.lineno}", regex, kind in _ANCHORED)


def _returns_pattern(function: ast.FunctionDef) -> bool:
    last = function.body[-1]
    return (
        isinstance(last, ast.Return)
        and last.value is not None
        and _is_call(last.value, {"compile"})
    )


def _is_call(node: ast.AST, names: set[str] | frozenset[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in names
    )


def _flags(call: ast.Call) -> int:
    found = 0
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "re" and node.attr.isupper():
                found |= getattr(re, node.attr)
    return found


def _of_page() -> Iterator[Pattern]:
    """Yield the page's patterns that Python reads as JavaScript does."""
    for file in sorted(PAGE.rglob("*.ts*")) if PAGE.is_dir() else ():
        for body, flags in _TYPESCRIPT.findall(file.read_text()):
            try:
                regex = re.compile(body.replace("(?<", "(?P<"), re.I if "i" in flags else 0)
            except re.error:
                continue
            yield Pattern(f"page/{file.name} /{body}/", regex, False)


def texts_against(regex: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """Return texts made against a pattern: a beginning, what is repeated, and an end.

    Each repetition of the pattern is fed with what it takes, behind an example of what stands
    before it, once and again and again, and ends in what fits nowhere.
    """
    source = regex.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    heads: list[tuple[str, str]] = []
    _walk(parser.parse(text, regex.flags & ~re.DEBUG & ~re.UNICODE & ~re.LOCALE), "", heads)
    found: dict[tuple[str, str, str], None] = {}
    for head, filler in heads[:40]:
        for end in ("", "\x00"):
            found[head, filler, end] = None
            found["", head + filler * 8, end] = None
            found["", "-" + head + filler * 8, end] = None
            found["", head, end] = None
    for filler in (" ", "a", "/a", "{", "<", "\n", "\\", "a b "):
        found["", filler, "!"] = None
    return list(found)


def _walk(items: Any, head: str, heads: list[tuple[str, str]]) -> str:
    """Collect each repetition with an example of what comes before; return an example of all."""
    for kind, value in items:
        head = _step(kind, value, head, heads)
    return head


def _step(kind: Any, value: Any, head: str, heads: list[tuple[str, str]]) -> str:
    if kind in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        least, most, inner = value
        filler = _walk(inner, head, [])[len(head) :] or "a"
        if most == code.MAXREPEAT or most > 50:
            heads.append((head, filler))
        after = _walk(inner, head, heads)
        return head + (after[len(head) :] or filler) * max(1, min(least, 40))
    if kind is code.SUBPATTERN:
        return _walk(value[3], head, heads)
    if kind is code.ATOMIC_GROUP:
        return _walk(value, head, heads)
    if kind is code.ASSERT and value[0] < 0:  # what has to stand before is part of the example
        return _walk(value[1], head, heads)
    if kind is code.BRANCH:
        ends = [_walk(one, head, heads) for one in value[1]]
        return ends[0]
    if kind is code.LITERAL:
        return head + chr(value)
    if kind is code.NOT_LITERAL:
        return head + ("b" if value == ord("a") else "a")
    if kind is code.ANY:
        return head + "a"
    if kind is code.IN:
        return head + _member(value)
    return head


def _member(items: Any) -> str:
    """Return a character that a set takes."""
    negated = items and items[0][0] is code.NEGATE
    regex = [one for one in items if one[0] is not code.NEGATE]
    for candidate in "a0 -A.\n\t/_'\"é\u4e00\x00\x80{":
        if _has(regex, candidate) != bool(negated):
            return candidate
    kind, value = regex[0]
    return chr(value[0] if kind is code.RANGE else value)


def _has(items: Any, char: str) -> bool:
    classes = {
        code.CATEGORY_DIGIT: str.isdigit,
        code.CATEGORY_SPACE: str.isspace,
        code.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
        code.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
        code.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
        code.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
    }
    for kind, value in items:
        if kind is code.LITERAL and ord(char) == value:
            return True
        if kind is code.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if kind is code.CATEGORY and classes[value](char):
            return True
    return False
