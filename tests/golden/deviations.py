"""Where ostinato does otherwise than google-adk on purpose, each with its reason.

A deviation edits the recorded trace at a path of keys and positions, as in "turns.0.events.2";
`test_golden.py` applies them, and fails for one that is not needed.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

Edit = Literal["put", "insert", "drop"]


@dataclass(frozen=True)
class Deviation:
    """One edit of the recorded traces of the scenarios that match: put a value, insert or drop."""

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


ENDED = "An invocation whose root has ended has nothing to resume (google-adk asks the model)."
ANSWERED = "A raising tool leaves an error response, so that no call stays without an answer."
RECORDED = "The error that ended a run is on record, whatever kind of agent is the root."
EMPTY = "An empty response, or a stream that was cut, is an error event, not a silent end."
PARENT = "A parent ends after the agent it transferred to, as the specification says."
COUNTED = "A token count from before a compaction does not cause the next one."
BLOBS = "save_input_blobs_as_artifacts is honoured for every kind of root."
WORDS = "A message may hold an answer and words (google-adk refuses it)."
SAVED = "Uploaded file: artifact_inv-1_1. It is saved into artifacts."
ASIDE = "What a plugin keeps for itself between two hooks is not left in the session's state."
ONCE = "The bytes of media a tool returned go to the model once, as media, and not as JSON too."
CORRECTED = "Output that breaks the output schema goes back to the model, bounded."
REFUSED = (
    "Your answer was not accepted, as it does not fit the schema:\nInvalid JSON: expected ident "
    "at line 1 column 2\nAnswer once more, with nothing but the JSON: every required field, each "
    "of its declared type."
)
PLAIN = "A stream that is empty is an empty text."
DOT = [{"text": "a dot"}, {"inline_data": {"mime_type": "image/png"}}]
GRANTED = {"response": "ask", "id": "adk-1", "value": {"granted": True}}


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
}


def _response(author: str, tool: str, error: str) -> dict[str, Any]:
    content = ["user", {"response": tool, "id": "adk-1", "value": {"error": error}}]
    return {"author": author, "inv": "inv-1", "content": content}


def _seen(tool: str, error: str) -> list[Any]:
    return ["user", {"response": tool, "value": {"error": error}}]


def _error(author: str, code: str, message: str) -> dict[str, Any]:
    return {
        "author": author, "inv": "inv-1", "final": True, "error_code": code,
        "error_message": message,
    }  # fmt: skip


def _empty() -> dict[str, Any]:
    return _error("root", "EMPTY_RESPONSE", "(a sentence)")


def _corrected(said: str) -> list[dict[str, Any]]:
    contents = ["model", said], ["user", REFUSED]
    mark = {"ostinato:rejected": True}
    return [
        {"author": "root", "inv": "inv-1", "content": [*content], "custom_metadata": mark}
        for content in contents
    ]


def _asked_for_answer(question: str, *said: str) -> dict[str, Any]:
    config = {
        "response_schema": "Answer", "response_mime_type": "application/json",
        "labels": {"adk_agent_name": "root"},
    }  # fmt: skip
    answers = [content for text in said for content in (["model", text], ["user", REFUSED])]
    return {"contents": [["user", question], *answers], "config": config}


def _ended(author: str) -> dict[str, Any]:
    return {"author": author, "inv": "inv-1", "final": True, "actions": {"end_of_agent": True}}


DEVIATIONS: list[Deviation] = [
    Deviation(
        "*", "drop", "**.node",
        "node_info.path is set for nodes of workflow graphs only, not for plain agents.",
    ),
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
        _error("both", "ValueError", "right is down")),
    Deviation("parallel_with_failing_agent", "insert", "sessions.0.log.1", RECORDED, "yielded"),
    Deviation("transfer_to_nobody", "insert", "turns.0.events.2", RECORDED,
        _error("root", "ValueError", "(a sentence) ghost")),
    Deviation("transfer_to_nobody", "insert", "sessions.0.log.1", RECORDED, "yielded"),
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
    Deviation("response_without_parts", "put", "turns.0.events.0.error_code", EMPTY,
        "EMPTY_RESPONSE"),
    Deviation("response_without_parts", "put", "turns.0.events.0.error_message", EMPTY,
        "(a sentence)"),
    # A parent has ended when the agent it transferred to has (FEATURES row 66).
    Deviation("resumable_transfer", "drop", "turns.0.events.2", PARENT),
    Deviation("resumable_transfer", "insert", "turns.1.events.2", PARENT, _ended("root")),
    Deviation("resumable_transfer", "drop", "sessions.0.log.4", PARENT),
    Deviation("resumable_transfer", "insert", "sessions.0.log.5", PARENT, "yielded"),
    Deviation("resumable_transfer_and_back", "drop", "turns.0.events.5", PARENT),
    Deviation("resumable_transfer_and_back", "drop", "turns.0.events.2", PARENT),
    Deviation("resumable_transfer_and_back", "insert", "turns.0.events.6", PARENT, _ended("child")),
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
        {"author": "root", "inv": "inv-1", "content": ["model", "Granted."], "final": True},
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
    # What lets its holder act as somebody else is neither sent nor stored.
    *(Deviation(name, "drop", path, SECRETS) for name, paths in NOT_SENT.items() for path in paths),
    # Plugins and tools that come with the package.
    Deviation("files_become_artifacts", "drop", "turns.0.events.0.actions.state_delta", ASIDE),
    Deviation("files_become_artifacts", "put", "sessions.0.state", ASIDE, {}),
    Deviation("tool_returns_image", "put", "turns.0.events.1.content.1.value.result", ONCE, DOT),
    Deviation("tool_returns_image", "put", "requests.root.1.contents.2.1.value.result", ONCE, DOT),
    Deviation("tool_returns_image", "put", "requests.root.2.contents.2.1.value.result", ONCE, DOT),
    Deviation("bash_confirmed", "put", "turns.1.events.0.content.1.value.stderr", PLAIN, ""),
    Deviation("bash_confirmed", "put", "requests.root.1.contents.2.1.value.stderr", PLAIN, ""),
]  # fmt: skip
