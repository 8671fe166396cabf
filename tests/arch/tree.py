"""The package as the rules see it: every module parsed once with stdlib ast, its imports resolved
to module names, and the lazy faces (files that only re-export) told apart from real modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.arch.floors import PACKAGE
from tests.support.syntax import parse, walk


@dataclass(frozen=True)
class Import:
    """One imported thing: the module asked for, the name taken from it (None for `import x`), and
    what the file calls it."""

    module: str
    name: str | None
    line: int
    local: str = ""


@dataclass
class Module:
    """One source file. `name` is dotted and without the package ("" is the package itself)."""

    path: Path
    name: str
    is_package: bool
    source: str
    tree: ast.Module = field(repr=False)

    @property
    def stem(self) -> str:
        """The file's own name; a package's is its folder's."""
        return self.name.rpartition(".")[2]

    @property
    def folder(self) -> str:
        """The dotted name of the folder that holds the file."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def lines(self) -> list[str]:
        return self.source.splitlines()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the file, for all rules walked once."""
        return walk(self.tree)

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of the file, wherever it stands, with relative ones resolved."""
        return [found for node in self.nodes for found in self._read(node)]

    def _read(self, node: ast.AST) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = f"{PACKAGE}.{self.folder}".rstrip(".").split(".")
                parts = parts[: len(parts) - (node.level - 1)]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(base, alias.name, node.lineno, alias.asname or alias.name)

    @cached_property
    def attributes(self) -> dict[str, set[str]]:
        """For each name of the file, the attributes taken from it: `auth.AuthHandler`."""
        taken: dict[str, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                taken.setdefault(node.value.id, set()).add(node.attr)
        return taken

    @cached_property
    def is_face(self) -> bool:
        """True for a lazy face: a docstring, one TYPE_CHECKING block of imports and the call of
        `ostinato._lazy` that serves it; nothing that runs."""
        blocks = 0
        for node in self.tree.body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                blocks += 1
                if node.orelse or not all(_is_import(child) for child in node.body):
                    return False
            elif isinstance(node, ast.ImportFrom):
                if node.module not in {"__future__", "typing", f"{PACKAGE}._lazy"}:
                    return False
            elif not (_is_docstring(node) or _is_dunder_assignment(node) or _is_del(node)):
                return False
        return blocks == 1 and any(i.module == f"{PACKAGE}._lazy" for i in self.imports)

    @cached_property
    def re_exports(self) -> dict[str, Import]:
        """For a face: the public name -> where it really comes from."""
        names: dict[str, Import] = {}
        for block in (n for n in self.tree.body if isinstance(n, ast.If)):
            for node in block.body:
                if isinstance(node, ast.ImportFrom):
                    found = list(self._read(node))
                    for alias, target in zip(node.names, found, strict=True):
                        names[alias.asname or alias.name] = target
        return names


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_dunder_assignment(node: ast.stmt) -> bool:
    """`__all__ = [...]`, `__getattr__, __dir__ = attach(...)`, `__version__: str = "1"`."""
    if isinstance(node, ast.AnnAssign):
        targets: list[ast.expr] = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return False
    names = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return bool(names) and all(n.id.startswith("__") and n.id.endswith("__") for n in names)


def _is_del(node: ast.stmt) -> bool:
    return isinstance(node, ast.Delete)


@dataclass
class House:
    """The whole package, read from `root` (the folder of the package itself)."""

    root: Path
    modules: dict[str, Module]

    @classmethod
    def read(cls, root: Path) -> House:
        modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            parts = list(path.relative_to(root).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            source = path.read_text(encoding="utf-8")
            modules[name] = Module(path, name, is_package, source, parse(source, str(path)))
        return cls(root, modules)

    def where(self, module: Module, line: int) -> str:
        """The place of a finding, as `agents/llm_agent.py:12`."""
        return f"{module.path.relative_to(self.root)}:{line}"

    def targets(self, module: Module) -> Iterator[tuple[str, int]]:
        """Yield the modules of the package that `module` imports, with the line."""
        for trail, line in self.trails(module):
            for target in trail:
                yield target, line

    def trails(self, module: Module) -> Iterator[tuple[list[str], int]]:
        """Yield what each imported name leads to, with the line: the module asked for, and where
        that is a lazy face, the face and what it points to. Of a face imported as a whole, each
        attribute that is used leads on, so that a face never hides an arrow."""
        for found in module.imports:
            trail = self._follow(found)
            if not trail:
                continue
            last, names = self.modules[trail[-1]], list[str]()
            if last.is_face and found.local and not module.is_face:
                used = module.attributes.get(found.local, ())
                names = sorted(name for name in used if name in last.re_exports)
            for name in names:
                yield [*trail, *self._follow(last.re_exports[name])], found.line
            if not names and trail != [module.name]:
                yield [target for target in trail if target != module.name], found.line

    def _follow(self, found: Import, depth: int = 0) -> list[str]:
        """Return the modules that an import passes through, the faces among them first."""
        base = self._inside(found.module)
        if base is None:
            return []
        if found.name is not None:
            submodule = f"{base}.{found.name}".lstrip(".")
            if submodule in self.modules:
                return [submodule]
            holder = self.modules.get(base)
            if holder is not None and holder.is_face and found.name in holder.re_exports:
                if depth < 10:
                    return [base, *self._follow(holder.re_exports[found.name], depth + 1)]
        return [base] if base in self.modules else []

    @staticmethod
    def _inside(name: str) -> str | None:
        if name == PACKAGE:
            return ""
        return name.removeprefix(f"{PACKAGE}.") if name.startswith(f"{PACKAGE}.") else None


def matches(name: str, prefixes: tuple[str, ...]) -> bool:
    """True if the module `name` is one of `prefixes` or lies below one."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)
