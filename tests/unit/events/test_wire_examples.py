"""The eight events that the fifth document of the specification shows, as JSON that is read and
written.
"""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.events import Event


def said(text: str) -> dict[str, Any]:
    return {"parts": [{"text": text}]}


def called(name: str, **args: Any) -> dict[str, Any]:
    return {"parts": [{"function_call": {"name": name, "args": args}}]}


RESULT = {"name": "find_airports", "response": {"result": ["LHR", "LGW", "STN"]}}

# Name -> the example's JSON, whether it is final by the predicate (FEATURES A.27 X9), and what it
# reads in the JSON that stores and servers write.
EXAMPLES: dict[str, tuple[dict[str, Any], bool, dict[str, Any]]] = {
    "user input": (
        {"author": "user", "invocation_id": "e-xyz", "content": said("Book a flight to London")},
        True,
        {"author": "user", "invocationId": "e-xyz", "content": said("Book a flight to London")},
    ),
    "final text": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": said("Could you confirm the departure city?"),
            "partial": False,
            "turn_complete": True,
        },
        True,
        {
            "author": "TravelAgent",
            "invocationId": "e-xyz",
            "content": said("Could you confirm the departure city?"),
            "partial": False,
            "turnComplete": True,
        },
    ),
    "streaming text": (
        {
            "author": "SummaryAgent",
            "invocation_id": "e-abc",
            "content": said("The document discusses three main points:"),
            "partial": True,
            "turn_complete": False,
        },
        False,
        {
            "author": "SummaryAgent",
            "invocationId": "e-abc",
            "content": said("The document discusses three main points:"),
            "partial": True,
            "turnComplete": False,
        },
    ),
    "tool call": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": called("find_airports", city="London"),
        },
        False,
        {
            "author": "TravelAgent",
            "invocationId": "e-xyz",
            "content": {
                "parts": [{"functionCall": {"name": "find_airports", "args": {"city": "London"}}}]
            },
        },
    ),
    "tool result": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": {"role": "user", "parts": [{"function_response": RESULT}]},
        },
        False,
        {
            "author": "TravelAgent",
            "invocationId": "e-xyz",
            "content": {"role": "user", "parts": [{"functionResponse": RESULT}]},
        },
    ),
    "state and artifacts only": (
        {
            "author": "InternalUpdater",
            "invocation_id": "e-def",
            "content": None,
            "actions": {
                "state_delta": {"user_status": "verified"},
                "artifact_delta": {"verification_doc.pdf": 2},
            },
        },
        True,
        {
            "author": "InternalUpdater",
            "invocationId": "e-def",
            "actions": {
                "stateDelta": {"user_status": "verified"},
                "artifactDelta": {"verification_doc.pdf": 2},
            },
        },
    ),
    "transfer": (
        {
            "author": "OrchestratorAgent",
            "invocation_id": "e-789",
            "content": called("transfer_to_agent", agent_name="BillingAgent"),
            "actions": {"transfer_to_agent": "BillingAgent"},
        },
        False,
        {
            "author": "OrchestratorAgent",
            "invocationId": "e-789",
            "content": {
                "parts": [
                    {
                        "functionCall": {
                            "name": "transfer_to_agent",
                            "args": {"agent_name": "BillingAgent"},
                        }
                    }
                ]
            },
            "actions": {"transferToAgent": "BillingAgent"},
        },
    ),
    "escalation": (
        {
            "author": "CheckerAgent",
            "invocation_id": "e-loop",
            "content": said("Maximum retries reached."),
            "actions": {"escalate": True},
        },
        True,
        {
            "author": "CheckerAgent",
            "invocationId": "e-loop",
            "content": said("Maximum retries reached."),
            "actions": {"escalate": True},
        },
    ),
}


@pytest.mark.spec(180)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_read_and_written_in_its_specified_form(name: str) -> None:
    given, final, written = EXAMPLES[name]
    event = Event.model_validate(given)
    assert event.is_final_response() is final
    filled_in = {"id": event.id, "timestamp": event.timestamp}
    json = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    # Empty collections are written too; the examples leave them out.
    json["actions"] = {k: v for k, v in json["actions"].items() if v != {}}
    json = {k: v for k, v in json.items() if k == "content" or v not in ({}, {"path": ""})}
    assert json == {**written, **filled_in}
    assert Event.model_validate(json) == event
    assert Event.model_validate_json(event.model_dump_json()) == event
