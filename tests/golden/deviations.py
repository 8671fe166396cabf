"""Where ostinato does otherwise than google-adk on purpose, each with its reason.

A deviation edits the recorded trace at a path of keys and positions, as in "turns.0.events.2";
`test_golden.py` applies them, and fails for one that is not needed.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from .mode_edits import (
    last_word_is_output,
    no_transfer_back,
    one_invocation,
    place_of_calls,
    scope_of_task_nodes,
)

Edit = Literal["put", "insert", "drop", "each"]


@dataclass(frozen=True)
class Deviation:
    """One edit of the recorded traces of the scenarios that match: put a value, insert or drop; or
    `each`: a function that edits all places of a kind."""

    scenario: str
    edit: Edit
    path: str
    reason: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.scenario}:{self.edit}:{self.path}"

    def concerns(self, name: str) -> bool:
        return fnmatchcase(name, self.scenario)

    def apply(self, trace: Any) -> None:
        """Edit the trace in place. A path "**.key" drops the key wherever it stands."""
        if self.edit == "each":
            self.value(trace)
            return
        if self.path.startswith("**."):
            _drop_everywhere(trace, self.path[3:])
            return
        *way, last = self.path.split(".")
        for step in way:
            trace = trace[int(step)] if isinstance(trace, list) else trace[step]
        at: Any = int(last) if isinstance(trace, list) else last
        if self.edit == "drop":
            del trace[at]
        elif self.edit == "insert":
            trace.insert(at, self.value)
        else:
            trace[at] = self.value


def _drop_everywhere(value: Any, key: str) -> None:
    if isinstance(value, dict):
        value.pop(key, None)
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            _drop_everywhere(item, key)


LOST = "A transfer to an agent that was not offered goes back to the model."
ENDED = "An invocation whose root has ended has nothing to resume (google-adk asks the model)."
ANSWERED = "A raising tool leaves an error response, so that no call stays without an answer."
RECORDED = "The error that ended a run is on record, whatever kind of agent is the root."
EMPTY = "An empty response, or a stream that was cut, is an error event, not a silent end."
PARENT = "A parent ends after the agent it transferred to, as the specification says."
COUNTED = "A token count from before a compaction does not cause the next one."
BLOBS = "save_input_blobs_as_artifacts is honoured for every kind of root."
WORDS = "A message may hold an answer and words (google-adk refuses it)."
LAST_WRITE = (
    "Of a key that several calls of one response write, the value written last in time is stored"
)
SAVED = "Uploaded file: artifact_inv-1_1. It is saved into artifacts."
ASIDE = "What a plugin keeps for itself between two hooks is not left in the session's state."
ONCE = "The bytes of media a tool returned go to the model once, as media, and not as JSON too."
CORRECTED = "Output that breaks the output schema goes back to the model, bounded."
REFUSED = (
    "Your answer does not match the schema:\nInvalid JSON: expected ident at line 1 column 2\n"
    "Answer again, with nothing but the JSON. Include every required field with its declared type."
)
WAITS = "A call without a response has an interim one in the request (google-adk sends none)."
PLAIN = "A stream that is empty is an empty text."
NAMED = "A file may name code of its own folder and of Ostinato, and what the host allows."
TWICE = "A key that a file contains twice is refused (google-adk takes the last)."
SPELT = "A field that an own class does not have is refused (google-adk leaves it out)."
DOT = [{"text": "a dot"}, {"inline_data": {"mime_type": "image/png"}}]
RECORDED_CALL = (
    "The event of a tool node records its call (ostinato:node_call), for evaluations and replays."
)
NODE_CALL = {
    "author": "flow", "inv": "inv-1", "final": True,
    "custom_metadata": {"ostinato:node_call": {"tool": "add", "args": {"a": 1, "b": 2}}},
    "output": 3, "node": {"path": "flow@1/add@1", "output_for": ["flow@1/add@1"]},
}  # fmt: skip
GRANTED = {"response": "ask", "id": "adk-1", "value": {"granted": True}}


NESTED = "A task that an agent gives while it works on a task is run (google-adk leaves it open)."
MENDED = "If a task cannot start with its arguments, the model is told why."
REFUSED_CALL = "A refused call of an agent is reported as `error`, like that of any tool."
ENDED_ONCE = "The last hooks of an agent run when it has finished its task, too."
OUTPUT = "The `output_key` of a task agent keeps what it finishes the task with, not what it says."
OWN_SCOPE = "What a single-turn agent says is in the answer to its call, and is not repeated."
CALLED = (
    "What an agent does that was called is on a branch and in a scope named by the call, so that "
    "no two calls see each other's events."
)
NO_WAY_BACK = (
    "An agent that was called gives its answer; it is not offered a transfer to its caller."
)


LAST_WORD = "A chat agent's last word is its node's output; google-adk goes no further there."
GOES_ON = "A message to a task in a graph resumes the graph; google-adk starts it anew."
NODE_SCOPE = "A task agent that is a node itself works in a scope of its own."

SECRETS = "Requests for credentials hold no secrets, and a stored answer does not either."
NOT_SENT = {
    "credential_round_trip": (
        "turns.0.events.1.content.1.args.authConfig.rawAuthCredential.apiKey",
        "turns.0.events.2.actions.requested_auth_configs.adk-1.raw_auth_credential.api_key",
        "turns.1.user.0.value.rawAuthCredential.apiKey",
        "sessions.0.log.4.content.1.value.rawAuthCredential.apiKey",
        "sessions.0.log.4.content.1.value.exchangedAuthCredential.apiKey",
    ),
    "credential_oauth2": (
        "notes.1.0.2",
        "turns.0.events.1.content.1.args.authConfig.rawAuthCredential.oauth2.clientSecret",
        "turns.0.events.1.content.1.args.authConfig.exchangedAuthCredential.oauth2.clientSecret",
        "turns.0.events.2.actions.requested_auth_configs.adk-1.raw_auth_credential.oauth2"
        ".client_secret",
        "turns.0.events.2.actions.requested_auth_configs.adk-1.exchanged_auth_credential.oauth2"
        ".client_secret",
        "turns.1.user.0.value.rawAuthCredential.oauth2.clientSecret",
        "sessions.0.log.4.content.1.value.rawAuthCredential.oauth2.clientSecret",
        "sessions.0.log.4.content.1.value.exchangedAuthCredential.oauth2.clientSecret",
        "sessions.0.log.4.content.1.value.exchangedAuthCredential.oauth2.accessToken",
    ),
    "wf_credential": ("sessions.0.log.3.content.1.value.exchangedAuthCredential.apiKey",),
    "wf_credential_resumable": ("sessions.0.log.2.content.1.value.exchangedAuthCredential.apiKey",),
}


def _at(author: str, path: str | None) -> dict[str, Any]:
    """Return the node of an agent's event: that of the root if no path is given."""
    path = "root@1" if path is None and author == "root" else path
    return {"node": {"path": path}} if path else {}


def _response(
    author: str, tool: str, error: str, call: str = "adk-1", path: str | None = None
) -> dict[str, Any]:
    content = ["user", {"response": tool, "id": call, "value": {"error": error}}]
    return {"author": author, "inv": "inv-1", "content": content, **_at(author, path)}


def _seen(tool: str, error: str) -> list[Any]:
    return ["user", {"response": tool, "value": {"error": error}}]


def _pending(tool: str = "ask") -> dict[str, Any]:
    told = "This tool call has no result yet. Do not repeat it unless the user asks for it."
    return {"response": tool, "value": {"status": "pending", "message": told}}


def _error(author: str, code: str, message: str, path: str | None = None) -> dict[str, Any]:
    return {
        "author": author, "inv": "inv-1", "final": True, "error_code": code,
        "error_message": message, **_at(author, path),
    }  # fmt: skip


def _empty() -> dict[str, Any]:
    return _error("root", "EMPTY_RESPONSE", "(a sentence)")


def _corrected(said: str) -> list[dict[str, Any]]:
    contents = ["model", said], ["user", REFUSED]
    mark = {"custom_metadata": {"ostinato:rejected": True}, **_at("root", None)}
    return [
        {"author": "root", "inv": "inv-1", "content": [*content], **mark} for content in contents
    ]


def _asked_for_answer(question: str, *said: str) -> dict[str, Any]:
    config = {
        "response_schema": "Answer", "response_mime_type": "application/json",
        "labels": {"adk_agent_name": "root"},
    }  # fmt: skip
    answers = [content for text in said for content in (["model", text], ["user", REFUSED])]
    return {"contents": [["user", question], *answers], "config": config}


def _ended(author: str, path: str | None = None) -> dict[str, Any]:
    end = {"final": True, "actions": {"end_of_agent": True}}
    return {"author": author, "inv": "inv-1", **end, **_at(author, path)}


_NO_TRANSFER = {"error": "(a sentence) ghost child"}
_LOST_CONTENTS: list[Any] = [
    ["user", "Help"],
    ["model", {"call": "transfer_to_agent", "args": {"agent_name": "ghost"}}],
    ["user", {"response": "transfer_to_agent", "value": _NO_TRANSFER}],
]


def _said(invocation: str, text: str) -> dict[str, Any]:
    return {
        "author": "root", "inv": invocation, "content": ["model", text], "final": True,
        "node": {"path": "root@1"},
    }  # fmt: skip


def _answer_to_lost_transfer() -> dict[str, Any]:
    response = {"response": "transfer_to_agent", "id": "adk-1", "value": _NO_TRANSFER}
    return {
        "author": "root", "inv": "inv-1", "content": ["user", response],
        "node": {"path": "root@1"},
    }  # fmt: skip


DEVIATIONS: list[Deviation] = [
    Deviation("long_running_with_talk_between", "insert", "requests.root.1.contents.2", WAITS,
        ["user", _pending()]),
    Deviation("long_running_beside_quick_tool", "insert", "requests.root.1.contents.2.1", WAITS,
        _pending()),
    Deviation("two_long_running_not_resumable", "insert", "requests.root.1.contents.2.2", WAITS,
        _pending()),
    Deviation("transfer_to_nobody", "put", "turns.0.events.1", LOST, _answer_to_lost_transfer()),
    Deviation("transfer_to_nobody", "insert", "turns.0.events.2", LOST,
        _said("inv-1", "Next turn.")),
    Deviation("transfer_to_nobody", "drop", "turns.0.error", LOST),
    Deviation("transfer_to_nobody", "put", "turns.1.events.0", LOST, _said("inv-2", "Last.")),
    Deviation("transfer_to_nobody", "insert", "sessions.0.log.1", LOST, "yielded"),
    Deviation("transfer_to_nobody", "put", "requests.root.1.contents", LOST, [*_LOST_CONTENTS]),
    Deviation("transfer_to_nobody", "insert", "requests.root.2", LOST, {
        "contents": [*_LOST_CONTENTS, ["model", "Next turn."], ["user", "Again"]],
        "tools": ["transfer_to_agent"],
    }),
    Deviation(
        "none_removes_key", "drop", "sessions.0.state.a",
        "State set to None removes the top-level key (google-adk keeps null).",
    ),
    Deviation(
        "rewind", "drop", "sessions.0.state.only2",
        "State set to None removes the top-level key, so a rewind leaves no null behind.",
    ),
    Deviation(
        "partials_without_streaming", "drop", "turns.0.events.0",
        "Without SSE only whole responses are yielded, whatever the model streams (Spec 2 §6.5).",
    ),
    Deviation(
        "parallel_tools_with_state", "put", "turns.0.events.1.actions.state_delta.nested",
        LAST_WRITE, {"c": 1, "same": "c"},
    ),
    Deviation(
        "parallel_tools_with_state", "put", "sessions.0.state.nested",
        LAST_WRITE, {"c": 1, "same": "c"},
    ),
    Deviation("resume_of_ended_invocation", "put", "turns.1.events", ENDED, []),
    Deviation("resume_of_ended_invocation", "drop", "sessions.0.log.4", ENDED),
    Deviation("resume_of_ended_invocation", "drop", "sessions.0.log.3", ENDED),
    Deviation("resume_of_ended_invocation", "drop", "requests.root.1", ENDED),
    # Every call is answered, also that of a tool that raised.
    Deviation("tool_error_raised", "insert", "turns.0.events.1", ANSWERED,
        _response("root", "fail", "RuntimeError: broken")),
    Deviation("tool_error_raised", "insert", "sessions.0.log.1", ANSWERED, "yielded"),
    Deviation("tool_error_raised", "insert", "requests.root.1.contents.2", ANSWERED,
        _seen("fail", "RuntimeError: broken")),
    Deviation("agent_tool_fails", "insert", "turns.0.events.1", ANSWERED,
        _response("root", "helper", "ValueError: helper down")),
    Deviation("agent_tool_fails", "insert", "sessions.0.log.1", ANSWERED, "yielded"),
    Deviation("resume_before_tool_ran", "insert", "turns.0.events.1", ANSWERED,
        _response("root", "fragile", "RuntimeError: crash")),
    Deviation("resume_before_tool_ran", "insert", "sessions.0.log.1", ANSWERED, "yielded"),
    Deviation("resume_before_tool_ran", "insert", "requests.root.1.contents.2", ANSWERED,
        _seen("fragile", "RuntimeError: crash")),
    Deviation("resume_pending_call_in_sequence", "insert", "turns.0.events.2", ANSWERED,
        _response("one", "fragile", "RuntimeError: crash")),
    Deviation("resume_pending_call_in_sequence", "insert", "sessions.0.log.1", ANSWERED, "yielded"),
    Deviation("resume_pending_call_in_sequence", "drop", "turns.1.events.0", ANSWERED),
    Deviation("resume_pending_call_in_sequence", "put", "requests.one.1.contents.2", ANSWERED,
        _seen("fragile", "RuntimeError: crash")),
    # The log says how a run ended, whatever kind of agent is the root.
    Deviation("resume_pending_call_in_sequence", "insert", "turns.0.events.3", RECORDED,
        _error("line", "RuntimeError", "crash")),
    Deviation("resume_sequential_after_crash", "insert", "turns.0.events.4", RECORDED,
        _error("line", "RuntimeError", "model down")),
    Deviation("resume_sequential_after_crash", "insert", "sessions.0.log.1", RECORDED, "yielded"),
    Deviation("parallel_with_failing_agent", "insert", "turns.0.events.1", RECORDED,
        {**_error("right", "ValueError", "right is down"), "branch": "both.right"}),
    Deviation("parallel_with_failing_agent", "insert", "sessions.0.log.1", RECORDED, "yielded"),
    Deviation("instruction_with_missing_key", "put", "turns.0.events.0.error_code",
        "TemplateError is a KeyError that names agent and remedy.", "TemplateError"),
    # Both replies of the script break the schema, and it has no third one.
    Deviation("output_schema_broken", "put", "turns.0.events", CORRECTED, [
        *_corrected("not json"), *_corrected("Next."),
        _error("root", "AssertionError", "the script has no reply left"),
    ]),
    Deviation("output_schema_broken", "put", "turns.0.error.is", CORRECTED, "AssertionError"),
    *(Deviation("output_schema_broken", "insert", "sessions.0.log.1", CORRECTED, "yielded")
      for _ in range(4)),
    *(Deviation("output_schema_broken", "insert", f"requests.root.{number}", CORRECTED,
        _asked_for_answer("Best city?", *said))
      for number, said in ((1, ["not json"]), (2, ["not json", "Next."]))),
    # An empty or cut response is an error on record, not a silent end.
    Deviation("empty_response", "insert", "turns.0.events.0", EMPTY, _empty()),
    Deviation("empty_response", "insert", "sessions.0.log.1", EMPTY, "yielded"),
    Deviation("streaming_ends_partial", "insert", "turns.0.events.1", EMPTY, _empty()),
    Deviation("streaming_ends_partial", "insert", "sessions.0.log.1", EMPTY, "yielded"),
    Deviation("response_without_parts", "put", "turns.0.events.0", EMPTY, {
        "author": "root", "inv": "inv-1", "content": ["model"], "final": True,
        "error_code": "EMPTY_RESPONSE", "error_message": "(a sentence)", **_at("root", None),
    }),
    # A parent has ended when the agent it transferred to has (FEATURES row 66).
    Deviation("resumable_transfer", "drop", "turns.0.events.2", PARENT),
    Deviation("resumable_transfer", "insert", "turns.1.events.2", PARENT, _ended("root")),
    Deviation("resumable_transfer", "drop", "sessions.0.log.4", PARENT),
    Deviation("resumable_transfer", "insert", "sessions.0.log.5", PARENT, "yielded"),
    Deviation("resumable_transfer_and_back", "drop", "turns.0.events.5", PARENT),
    Deviation("resumable_transfer_and_back", "drop", "turns.0.events.2", PARENT),
    Deviation("resumable_transfer_and_back", "insert", "turns.0.events.6", PARENT,
        _ended("child", "root@1/child@1")),
    Deviation("resumable_transfer_and_back", "insert", "turns.0.events.7", PARENT, _ended("root")),
    Deviation("resume_in_child_after_crash", "drop", "turns.0.events.2", PARENT),
    Deviation("resume_in_child_after_crash", "insert", "turns.1.events.2", PARENT, _ended("root")),
    # A token count from before a compaction says nothing about the prompt after it.
    Deviation("compaction_by_tokens", "drop", "sessions.0.log.8", COUNTED),
    Deviation("compaction_by_tokens", "drop", "sessions.0.log.6", COUNTED),
    Deviation("compaction_by_tokens", "drop", "requests.summarizer.2", COUNTED),
    Deviation("compaction_by_tokens", "drop", "requests.summarizer.1", COUNTED),
    Deviation("compaction_by_tokens", "put", "requests.root.2.contents", COUNTED, [
        ["user", "For context:", "[model] said: Summary 1."], ["user", "Q2"], ["model", "A2."],
        ["user", "Q3"],
    ]),
    # RunConfig.save_input_blobs_as_artifacts is honoured, which google-adk does for shells only.
    Deviation("save_input_blobs", "put", "sessions.0.log.0.content.2", BLOBS, SAVED),
    Deviation("save_input_blobs", "put", "requests.root.0.contents.0.2", BLOBS, SAVED),
    Deviation("save_input_blobs", "put", "notes.0.1", BLOBS, 1),
    # An answer may come with words.
    Deviation("answer_with_words", "drop", "turns.1.error", WORDS),
    Deviation("answer_with_words", "put", "turns.1.events", WORDS, [
        {"author": "root", "inv": "inv-1", "content": ["model", "Granted."], "final": True,
         **_at("root", None)},
    ]),
    Deviation("answer_with_words", "insert", "sessions.0.log.2", WORDS, {
        "author": "user", "inv": "inv-1", "content": ["user", GRANTED, "and hurry"],
    }),
    Deviation("answer_with_words", "insert", "sessions.0.log.3", WORDS, "yielded"),
    Deviation("answer_with_words", "insert", "requests.root.1", WORDS, {
        "contents": [
            ["user", "Ask"],
            ["model", {"call": "ask", "args": {"what": "tea"}}],
            ["user", {"response": "ask", "value": {"granted": True}}, "and hurry"],
        ],
        "tools": ["ask"],
    }),
    # Agents that are called.
    *(Deviation("task_within_task", "put", path, NESTED, value) for path, value in {
        "turns.0.events.2": {
            "author": "inner", "inv": "inv-1", "content": ["model", "Inner asks?"], "final": True,
            "isolation_scope": "adk-2", **_at("inner", "root@1/outer@adk-1/inner@adk-2"),
        },
        "sessions.0.log": [
            {"author": "user", "inv": "inv-1", "content": ["user", "Go"], "final": True},
            "yielded", "yielded", "yielded",
        ],
        "requests": {
            "inner": [{"contents": [["user", '{"request": "inner"}']], "tools": ["finish_task"]}],
            "outer": [
                {"contents": [["user", '{"request": "outer"}']], "tools": ["finish_task", "inner"]}
            ],
            "root": [{"contents": [["user", "Go"]], "tools": ["outer"]}],
        },
    }.items()),
    *(Deviation("task_within_task", "drop", f"turns.0.events.{number}", NESTED)
      for number in (5, 4, 3)),
    Deviation("task_with_output_key", "drop", "turns.0.events.1.actions", OUTPUT),
    Deviation("task_with_output_key", "put", "turns.1.events.1.actions", OUTPUT,
        {"state_delta": {"found": {"result": "This."}}}),
    Deviation("task_with_output_key", "put", "sessions.0.state", OUTPUT,
        {"found": {"result": "This."}}),
    Deviation("task_with_wrong_input", "put", "turns.0.events.1", MENDED,
        {"author": "user", "inv": "inv-1", "content": ["user", {
            "response": "research", "id": "adk-1",
            "value": {"error": "(a sentence) topic research"},
        }], **_at("root", None)}),
    Deviation("task_with_wrong_input", "insert", "turns.0.events.2", MENDED,
        {"author": "root", "inv": "inv-1", "content": ["model", "I cannot."], "final": True,
         **_at("root", None)}),
    Deviation("task_with_wrong_input", "drop", "turns.0.error", MENDED),
    Deviation("task_with_wrong_input", "insert", "sessions.0.log.1", MENDED, "yielded"),
    Deviation("task_with_wrong_input", "insert", "requests.root.1", MENDED, {
        "contents": [
            ["user", "Tell me"],
            ["model", {"call": "research", "args": {"nothing": "sea"}}],
            ["user", {"response": "research", "value": {"error": "(a sentence) topic research"}}],
        ],
        "tools": ["research"],
    }),
    Deviation("task_with_failing_tool", "put", "turns.0.events.2", ANSWERED,
        {**_response("research", "fail", "RuntimeError: broken", "adk-2"),
         "isolation_scope": "adk-1", **_at("research", "root@1/research@adk-1")}),
    Deviation("task_with_failing_tool", "insert", "turns.0.events.3", ANSWERED,
        _error("root", "RuntimeError", "broken", "root@1/research@adk-1")),
    Deviation("task_with_failing_tool", "insert", "sessions.0.log.1", ANSWERED, "yielded"),
    Deviation("task_with_failing_tool", "insert", "requests.research.1.contents.2", ANSWERED,
        _seen("fail", "RuntimeError: broken")),
    Deviation("task_and_hooks", "insert", "notes.9", ENDED_ONCE, ["research", "after_agent"]),
    *(Deviation("single_turn_in_two_turns", "drop", f"requests.root.{path}", OWN_SCOPE)
      for path in ("2.contents.3", "3.contents.3", "4.contents.8", "4.contents.3")),
    Deviation("single_turn_with_wrong_input", "put", "turns.0.events.1.content.1.value",
        REFUSED_CALL, {"error": "(a sentence) topic"}),
    Deviation("single_turn_with_wrong_input", "put", "requests.root.1.contents.2.1.value",
        REFUSED_CALL, {"error": "(a sentence) topic"}),
    Deviation("single_turn_with_failing_tool", "put", "turns.0.events.2", ANSWERED,
        {**_response("poet", "fail", "RuntimeError: broken", "adk-2"), "branch": "poet@1",
         **_at("poet", "root@1/poet@1")}),
    Deviation("single_turn_with_failing_tool", "put", "turns.0.events.3", ANSWERED,
        _response("root", "poet", "RuntimeError: broken")),
    Deviation("single_turn_with_failing_tool", "put", "turns.0.events.4", ANSWERED,
        _error("root", "RuntimeError", "broken", "root@1/poet@1")),
    Deviation("single_turn_with_failing_tool", "put", "turns.0.error", ANSWERED,
        {"is": "RuntimeError", "says": ["broken"]}),
    Deviation("single_turn_with_failing_tool", "drop", "requests.root.1", ANSWERED),
    *(Deviation(names, "each", "place of calls", CALLED, place_of_calls)
      for names in ("task*", "single_turn*", "wf_task_in_*")),
    *(Deviation(names, "each", "no transfer back", NO_WAY_BACK, no_transfer_back)
      for names in ("task*", "single_turn*", "wf_task_in_*")),
    # Tasks in graphs.
    *(Deviation(names, "each", "last word is output", LAST_WORD, last_word_is_output)
      for names in ("wf_chat_agent", "wf_task_in_*")),
    Deviation("wf_task_in_two_turns", "each", "one invocation", GOES_ON, one_invocation),
    Deviation("wf_task_by_run_node", "each", "scope of task nodes", NODE_SCOPE,
        scope_of_task_nodes),
    Deviation("wf_tool_node", "put", "turns.0.events.1", RECORDED_CALL, NODE_CALL),
    # What lets its holder act as somebody else is neither sent nor stored.
    *(Deviation(name, "drop", path, SECRETS) for name, paths in NOT_SENT.items() for path in paths),
    # Plugins and tools that come with the package.
    Deviation("files_become_artifacts", "drop", "turns.0.events.0.actions.state_delta", ASIDE),
    Deviation("files_become_artifacts", "put", "sessions.0.state", ASIDE, {}),
    Deviation("tool_returns_image", "put", "turns.0.events.1.content.1.value.result", ONCE, DOT),
    Deviation("tool_returns_image", "put", "requests.root.1.contents.2.1.value.result", ONCE, DOT),
    Deviation("tool_returns_image", "put", "requests.root.2.contents.2.1.value.result", ONCE, DOT),
    Deviation("bash_confirmed", "put", "turns.1.events.0.content.1.value.stderr", PLAIN, ""),
    *(Deviation("yaml_refused", "put", f"notes.{number}.1", reason, "refused")
      for number, reason in ((1, NAMED), (3, NAMED), (4, NAMED), (7, TWICE), (24, SPELT))),
    Deviation("bash_confirmed", "put", "requests.root.1.contents.2.1.value.stderr", PLAIN, ""),
]  # fmt: skip
