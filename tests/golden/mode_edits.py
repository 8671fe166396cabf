"""Edits of recorded traces in which agents are called: of every event or request of a kind."""

from typing import Any


def place_of_calls(trace: Any) -> None:
    """Give each event of an agent that was called the branch and the scope of its call.

    google-adk 2.3.0 puts tasks on no branch, and all runs of a single-turn agent on one without a
    scope.
    """
    calls: dict[str, tuple[str, str | None]] = {}
    for event in _events(trace):
        if "@" in event.get("branch", "") and "isolation_scope" not in event:
            author = event["branch"].rpartition(".")[2].partition("@")[0]
            event["isolation_scope"] = [c for c, (name, _) in calls.items() if name == author][-1]
        scope = event.get("isolation_scope")
        if scope is not None:
            name, outer = calls[scope]
            _put(event, f"{outer}.{name}@{scope}" if outer else f"{name}@{scope}", scope)
        for part in event.get("content", [])[1:]:
            if isinstance(part, dict) and "call" in part:
                calls[part["id"]] = (part["call"], event.get("branch"))


def _events(trace: Any) -> list[dict[str, Any]]:
    yielded = [event for turn in trace["turns"] for event in turn["events"]]
    stored = [e for log in trace["sessions"] for e in log["log"] if isinstance(e, dict)]
    return [*yielded, *stored]


def _put(event: dict[str, Any], branch: str, scope: str) -> None:
    """Put branch and scope where a record has them: behind all but the effects and the node."""
    later = {key: event.pop(key) for key in ("actions", "node") if key in event}
    event.pop("branch", None)
    event.pop("isolation_scope")
    event.update(branch=branch, isolation_scope=scope, **later)


def last_word_is_output(trace: Any) -> None:
    """Mark what a chat agent says last as the output of its node, which is the graph's last."""
    for event in _events(trace):
        if event.get("final") and event["author"] != "user" and "isolation_scope" not in event:
            node = event["node"]
            node.update(output_for=[node["path"], "flow@1"], message_as_output=True)


def one_invocation(trace: Any) -> None:
    """Let the second message go on with the first one's invocation."""
    for event in _events(trace):
        event["inv"] = "inv-1"


def scope_of_task_nodes(trace: Any) -> None:
    """Put what a task agent does that is a node itself into the scope of its run."""
    for event in _events(trace):
        path = event.get("node", {}).get("path", "")
        if event["author"] == "work" and "@adk-" not in path:
            later = {key: event.pop(key) for key in ("actions", "node") if key in event}
            event.update(isolation_scope=f"{event['inv']}:{path}", **later)


def no_transfer_back(trace: Any) -> None:
    """Take the transfer tool from agents that are called, and can only transfer to their caller."""
    called = {
        part["call"]
        for event in _events(trace)
        for part in event.get("content", [])[1:]
        if isinstance(part, dict) and "call" in part
    }
    for name in called & set(trace["requests"]):
        for request in trace["requests"][name]:
            tools = [tool for tool in request.get("tools", []) if tool != "transfer_to_agent"]
            request.pop("tools", None)
            config = request.pop("config", None)
            if tools:
                request["tools"] = tools
            stream = request.pop("stream", None)
            if stream is not None:
                request["stream"] = stream
            if config is not None:
                request["config"] = config
