"""Graphs that cannot be built: unknown starts, two nodes of one name, nodes nobody reaches."""

from google.adk import Workflow


def a(node_input: str) -> str:
    return "a"


def b(node_input: str) -> str:
    return "b"


def other():
    def a(node_input: str) -> str:
        return "another a"

    return a


for name, edges in {
    "no start": [(a, b)],
    "two of one name": [("START", a, other())],
    "same edge twice": [("START", a, b), (a, b)],
    "nobody reaches": [("START", a), (b, b)],
    "empty": [],
}.items():
    try:
        Workflow(name="w", edges=edges)
        print(name, "is built")
    except ValueError:
        print(name, "is refused")
