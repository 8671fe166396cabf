"""The rules of the house. Each takes the package as a `House` and returns one line per finding,
`file:line what is wrong and what to do`; an empty list means that the rule holds."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator

from tests.arch.floors import (
    ADAPTERS,
    CLOCK,
    ENVIRONMENT_READERS,
    FLOORS,
    FORBIDDEN_FILE_NAMES,
    LAZY_DOORS,
    LOADERS,
    MAX_ADAPTER_LINES,
    MAX_FILE_LINES,
    MAX_FUNCTION_LINES,
    PACKAGE,
    SHARED_UNDERSCORE_MODULES,
    SPEC_PRIVATE_NAMES,
)
from tests.arch.tree import House, Module, matches

# Names that Python documents as public: those of named tuples, and os._exit.
PUBLIC_NAMES = frozenset({"_asdict", "_exit", "_field_defaults", "_fields", "_make", "_replace"})
_FACES_ONLY = ("utils", "integrations")  # folders that re-export and hold nothing of their own
Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[House], list[str]]


@functools.cache
def floor_of(name: str) -> int | None:
    """The floor's number for a module's dotted name (longest match), or None."""
    best: tuple[int, int] | None = None
    for number, (_, prefixes) in enumerate(FLOORS):
        for prefix in prefixes:
            if matches(name, (prefix,)) and (best is None or len(prefix) > best[0]):
                best = (len(prefix), number)
    return None if best is None else best[1]


def _real_modules(house: House) -> Iterator[Module]:
    """Every module but the lazy faces, the package's own face and the folders of faces."""
    for module in house.modules.values():
        if module.name and not module.is_face and not matches(module.name, _FACES_ONLY):
            yield module


def every_module_has_a_floor(house: House) -> list[str]:
    return [
        f"{house.where(m, 1)} stands on no floor; name it in tests/arch/floors.py"
        for m in _real_modules(house)
        if floor_of(m.name) is None and not _only_docstring(m)
    ]


def no_import_upward(house: House) -> list[str]:
    """A module imports lower floors, or its own folder; TYPE_CHECKING imports count, and so does
    each face that an import passes through."""
    found: list[str] = []
    floors = _read_floors(house)
    for module in _real_modules(house):
        own = floor_of(module.name)
        if own is None:
            continue
        for trail, line in house.trails(module):
            # Of two as high, the module says more than the face before it.
            target = max(reversed(trail), key=lambda name: floors[name])
            other = floors[target]
            if other < own or _same_room(module.name, target, own, other):
                continue
            way = "upward" if other > own else "sideways"
            found.append(
                f"{house.where(module, line)} imports {way}: {module.name} (floor "
                f"{own} {FLOORS[own][0]}) -> {target} (floor {other} {FLOORS[other][0]})"
            )
    return list(dict.fromkeys(found))


def _read_floors(house: House) -> dict[str, int]:
    """Return each module's floor, or -1; a face stands as high as the highest module it offers."""
    floors: dict[str, int] = {}

    def read(name: str) -> int:
        if name not in floors:
            own = floor_of(name)
            floors[name] = -1 if own is None else own
            if house.modules[name].is_face:
                offered = {target for target, _ in house.targets(house.modules[name])}
                floors[name] = max([floors[name], *map(read, offered)])
        return floors[name]

    for name in house.modules:
        read(name)
    return floors


def _same_room(name: str, target: str, own: int, other: int) -> bool:
    return own == other and name.split(".")[0] == target.split(".")[0]


def no_circle(house: House) -> list[str]:
    """No two modules reach each other, even through TYPE_CHECKING imports and faces."""
    graph = {m.name: {t for t, _ in house.targets(m)} for m in house.modules.values()}
    found: list[str] = []
    for circle in _circles(graph):
        members = ", ".join(sorted(circle))
        module = house.modules[min(circle, key=lambda name: (house.modules[name].is_face, name))]
        line = next(n for t, n in house.targets(module) if t in circle)
        found.append(f"{house.where(module, line)} is in a circle of {len(circle)}: {members}")
    return found


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected sets of two or more: modules that reach each other."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for following in graph.get(todo.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        reach[start] = seen
    groups: list[set[str]] = []
    for name in sorted(graph):
        if name in reach[name] and not any(name in group for group in groups):
            groups.append({n for n in graph if n in reach[name] and name in reach.get(n, ())})
    return groups


def no_import_in_a_function(house: House) -> list[str]:
    found: list[str] = []
    for module in house.modules.values():
        if matches(module.name, LAZY_DOORS):
            continue
        spans = [range(f.lineno, (f.end_lineno or f.lineno) + 1) for f in _functions(module)]
        lines = {
            node.lineno
            for node in module.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            and any(node.lineno in span for span in spans)
        }
        found += [f"{house.where(module, n)} imports inside a function" for n in sorted(lines)]
        if matches(module.name, LOADERS):
            continue
        found += [
            f"{house.where(module, node.lineno)} imports by name; only _lazy, _optional.need and "
            "models/registry do, and the rooms that load the user's modules"
            for node, dotted in _references(module)
            if dotted in {"importlib.import_module", "__import__", "importlib.__import__"}
        ]
    return found


def adapters_are_named_by_the_registry_alone(house: House) -> list[str]:
    return [
        f"{house.where(module, line)} imports the adapter {target}; the registry names it"
        for module in _real_modules(house)
        for target, line in house.targets(module)
        if target in ADAPTERS and module.name not in ADAPTERS
    ]


def no_foreign_private_name(house: House) -> list[str]:
    """No attribute `_x` of another class or module, and no import of one."""
    found: list[str] = []
    for module in house.modules.values():
        found += _foreign_imports(house, module)
        visitor = _PrivateAttributes(module.tree)
        visitor.visit(module.tree)
        found += [
            f"{house.where(module, node.lineno)} reaches `{ast.unparse(node)}`, a private name of "
            "another class or module"
            for node in visitor.found
        ]
    return found


def _foreign_imports(house: House, module: Module) -> Iterator[str]:
    for found in module.imports:
        for part in [*found.module.split("."), *([found.name] if found.name else [])]:
            if not _is_private(part) or part in SPEC_PRIVATE_NAMES:
                continue
            if part in SHARED_UNDERSCORE_MODULES and found.module.split(".")[0] == PACKAGE:
                continue
            if _is_package_private(house, module, found.module, part):
                continue
            yield f"{house.where(module, found.line)} imports the private name `{part}`"


def _is_package_private(house: House, module: Module, imported: str, part: str) -> bool:
    """True if `part` is an underscore module of a folder that `module` lies in."""
    folder = imported.partition(f".{part}")[0].removeprefix(PACKAGE).lstrip(".")
    return (
        bool(folder) and f"{folder}.{part}" in house.modules and matches(module.folder, (folder,))
    )


class _PrivateAttributes(ast.NodeVisitor):
    """Collects `x._y` where x is not the object itself and `_y` not a name of the class around.
    A function outside all classes may reach what the classes of its own file declare."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[ast.Attribute] = []
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        self._owned = [{name for node in classes for name in _names_of_class(node)}]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._owned.append(_names_of_class(node))
        self.generic_visit(node)
        self._owned.pop()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if not _is_private(node.attr) or node.attr in SPEC_PRIVATE_NAMES:
            return
        inside_a_class = len(self._owned) > 1
        if node.attr in self._owned[-1] or (inside_a_class and _is_own_object(node.value)):
            return
        self.found.append(node)


def _names_of_class(node: ast.ClassDef) -> set[str]:
    """The private names that a class declares: methods, fields, slots and what it sets on self."""
    names: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, Function):
            names.add(child.name)
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            if isinstance(child.value, ast.Name) and child.value.id in {"self", "cls"}:
                names.add(child.attr)
    for child in node.body:
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            names.add(child.target.id)
        elif isinstance(child, ast.Assign):
            names |= {t.id for t in child.targets if isinstance(t, ast.Name)}
            if any(isinstance(t, ast.Name) and t.id == "__slots__" for t in child.targets):
                names |= {text for c in ast.walk(child.value) if (text := _text_of(c))}
    return names


def _text_of(node: ast.AST) -> str:
    """Return the text of a constant; empty for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_own_object(node: ast.expr) -> bool:
    """self, cls, super(), type(self) or self.__class__."""
    return ast.unparse(node) in {"self", "cls", "super()", "type(self)", "self.__class__"}


def _is_private(name: str) -> bool:
    """`_x`; not `__x__`, not enum's `_x_`, not the public names of Python."""
    return name.startswith("_") and not name.endswith("_") and name not in PUBLIC_NAMES


def no_long_file(house: House) -> list[str]:
    found: list[str] = []
    for module in house.modules.values():
        limit = MAX_ADAPTER_LINES if module.name in ADAPTERS else MAX_FILE_LINES
        if len(module.lines) > limit:
            found.append(
                f"{house.where(module, limit + 1)} the file has {len(module.lines)} lines, over "
                f"{limit}: likely two nouns"
            )
    return found


def no_long_function(house: House) -> list[str]:
    found: list[str] = []
    for module in house.modules.values():
        for node in _functions(module):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                found.append(
                    f"{house.where(module, node.lineno)} {node.name} has {length} lines, over "
                    f"{MAX_FUNCTION_LINES}"
                )
    return found


def complexity_is_never_waived(house: House) -> list[str]:
    return [
        f"{house.where(module, number)} waives the complexity rule; make the function simpler"
        for module in house.modules.values()
        for number, line in enumerate(module.lines, 1)
        if "noqa" in line and ("C901" in line or line.rstrip().endswith("noqa"))
    ]


def no_drawer_for_everything(house: House) -> list[str]:
    """A face may have such a name, if a public module of google-adk has it."""
    return [
        f"{house.where(module, 1)} is named {module.stem}; name it after what it holds"
        for module in house.modules.values()
        if module.stem.lstrip("_") in FORBIDDEN_FILE_NAMES and not module.is_face
    ]


def utils_only_re_exports(house: House) -> list[str]:
    return [
        f"{house.where(module, 1)} is no lazy face; its folder holds nothing of its own"
        for module in house.modules.values()
        if matches(module.name, _FACES_ONLY) and not (module.is_face or _only_docstring(module))
    ]


def _only_docstring(module: Module) -> bool:
    return all(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for node in module.tree.body
    )


def environment_is_read_at_the_edge(house: House) -> list[str]:
    names = ("os.environ", "os.environb", "os.getenv", "os.putenv")
    return [
        f"{house.where(module, node.lineno)} reads {dotted}; only {', '.join(ENVIRONMENT_READERS)}"
        for module in house.modules.values()
        if not matches(module.name, ENVIRONMENT_READERS)
        for node, dotted in _references(module)
        if dotted in names
    ]


def broad_except_names_its_boundary(house: House) -> list[str]:
    found: list[str] = []
    for module in house.modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or _is_broad(node.type)
                last = node.body[0].lineno
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
                broad = any(_is_broad(argument) for argument in node.args)
                last = (node.end_lineno or node.lineno) + 1
            else:
                continue
            text = "\n".join(module.lines[node.lineno - 1 : max(last - 1, node.lineno)])
            why = text.partition("# boundary:")[2].strip()
            if broad and not why:
                found.append(
                    f"{house.where(module, node.lineno)} catches everything; name the boundary on "
                    "the line (`# boundary: <why>`) or catch less"
                )
    return found


def _is_broad(node: ast.expr) -> bool:
    types = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(ast.unparse(t).split(".")[-1] in {"Exception", "BaseException"} for t in types)


CLOCK_CALLS = frozenset(
    {
        "time.time",
        "time.time_ns",
        "uuid.uuid1",
        "uuid.uuid4",
        "datetime.date.today",
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
    }
)


def one_source_of_time_and_ids(house: House) -> list[str]:
    return [
        f"{house.where(module, node.lineno)} uses {dotted}; ask ostinato._clock"
        for module in house.modules.values()
        if module.name != CLOCK
        for node, dotted in _references(module)
        if dotted in CLOCK_CALLS
    ]


def every_module_says_what_it_is(house: House) -> list[str]:
    return [
        f"{house.where(module, 1)} has no module docstring"
        for module in house.modules.values()
        if not ast.get_docstring(module.tree)
    ]


def every_public_name_has_a_docstring(house: House) -> list[str]:
    found: list[str] = []
    for module in house.modules.values():
        if module.is_face or any(_is_private(part) for part in module.name.split(".")):
            continue
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not node.name.startswith("_") and not ast.get_docstring(node):
                found.append(f"{house.where(module, node.lineno)} {node.name} has no docstring")
    return found


def no_numbered_sql_parameter(house: House) -> list[str]:
    """SQL has `?`, never `?1`: sqlite3 takes `?1` for a name, warns from Python 3.12 on where
    values come as a sequence, and refuses it in 3.14."""
    return [
        f"{house.where(module, node.lineno)} numbers a parameter in SQL"
        for module in house.modules.values()
        for node in module.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE)\b", node.value)
        and re.search(r"\?[0-9]", node.value)
    ]


def _functions(module: Module) -> Iterator[Function]:
    for node in module.nodes:
        if isinstance(node, Function):
            yield node


def _head(node: ast.expr) -> str:
    """The name at the start of a chain of attributes; "" where it starts with something else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _references(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """Names and attribute chains of the file with import aliases resolved: `t.time` -> time.time;
    a chain is reported once for each of its prefixes (`os.environ.get` gives `os.environ` too)."""
    aliases: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name if alias.asname else alias.name.split(".")[0]
                aliases[alias.asname or root] = root
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            head = _head(node)
            if head in aliases:
                _, dot, rest = ast.unparse(node).partition(".")
                yield node, aliases[head] + dot + rest
            elif head == "__import__":
                yield node, head


RULES: tuple[Rule, ...] = (
    every_module_has_a_floor,
    no_import_upward,
    no_circle,
    no_import_in_a_function,
    adapters_are_named_by_the_registry_alone,
    no_foreign_private_name,
    no_long_file,
    no_long_function,
    complexity_is_never_waived,
    no_drawer_for_everything,
    utils_only_re_exports,
    environment_is_read_at_the_edge,
    broad_except_names_its_boundary,
    one_source_of_time_and_ids,
    every_module_says_what_it_is,
    every_public_name_has_a_docstring,
    no_numbered_sql_parameter,
)
