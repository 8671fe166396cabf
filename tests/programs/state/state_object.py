"""The State object alone: deltas, defaults, updates, membership."""

from google.adk.sessions import State
from showing import show

value, delta = {"a": 1, "d": {"x": 1}}, {}
state = State(value=value, delta=delta)
state["b"] = 2
state.update({"c": 3})
show(
    a=state["a"],
    got=state.get("nope", "default"),
    has=["a" in state, "b" in state, "nope" in state],
    delta=delta,
    has_delta=state.has_delta(),
    all=state.to_dict(),
    default=state.setdefault("e", 5),
    kept=state.setdefault("a", 9),
)
state["d"]["x"] = 2
show(inner=delta, value=value)
try:
    state["nope"]
except KeyError as error:
    show(error=str(error))
show(names=[State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX])
