"""A contract goes through three checks side by side, one of which fails at times and is tried
again; then a person reads the summary, and it is published or written anew.

Try:
- Contract of 2026-01-31: Northwind pays Paper & Co 1200 euros.
"""

import re
from typing import Any

from ostinato.events import Event
from ostinato.events.event_actions import EventActions
from ostinato.events.request_input import RequestInput
from ostinato.workflow import START, JoinNode, RetryConfig, Workflow, node

REGISTER = {"Northwind": "1998-0417", "Paper & Co": "2004-1120"}
FAILURES = {"register": 1}  # how often the register is still to be out of reach


class RegisterDown(Exception):
    """The company register cannot be reached."""


def read(node_input: str) -> dict[str, Any]:
    """Clean the text up."""
    return {"text": " ".join(node_input.split())}


def find_amounts(node_input: dict[str, Any]) -> list[int]:
    """Find the amounts of money."""
    return [int(found) for found in re.findall(r"(\d+) euros?", node_input["text"])]


def find_dates(node_input: dict[str, Any]) -> list[str]:
    """Find the dates."""
    return re.findall(r"\d{4}-\d{2}-\d{2}", node_input["text"])


@node(retry_config=RetryConfig(max_attempts=3, initial_delay=0, exceptions=[RegisterDown]))
def look_up_parties(node_input: dict[str, Any]) -> dict[str, str]:
    """Look the parties up in the company register, which is not always there."""
    if FAILURES["register"] > 0:
        FAILURES["register"] -= 1
        raise RegisterDown("The company register does not answer.")
    return {name: number for name, number in REGISTER.items() if name in node_input["text"]}


def summarize(node_input: Any, ctx: Any) -> str:
    """Write the summary; what the reviewer said last time is taken up."""
    checks = ctx.state.get("checks") or node_input
    ctx.state["checks"] = checks
    parties = " and ".join(checks["look_up_parties"]) or "unknown parties"
    said = f"A contract between {parties} over {sum(checks['find_amounts'])} euros"
    said += f", dated {', '.join(checks['find_dates'])}." if checks["find_dates"] else "."
    remark = ctx.state.get("remark")
    return f"{said} Note: {remark}" if remark else said


@node(rerun_on_resume=True)
async def review(ctx: Any, node_input: str) -> Any:
    """Ask a person whether the summary can go out."""
    ticket = f"review-{ctx.run_id}"
    answer = ctx.resume_inputs.get(ticket)
    if answer is None:
        yield RequestInput(
            interrupt_id=ticket,
            message=f"Publish this? {node_input} (yes, or what to change)",
            response_schema={"type": "string"},
        )
    elif answer.strip().lower() == "yes":
        yield Event(output=node_input, actions=EventActions(route="publish"))
    else:
        actions = EventActions(route="rewrite", state_delta={"remark": answer})
        yield Event(output=node_input, actions=actions)


def publish(node_input: str) -> str:
    """Publish the summary."""
    return f"Published: {node_input}"


write = node(summarize, name="summarize")

root_agent = Workflow(
    name="document_pipeline",
    description="Checks a contract and publishes a summary that a person has read.",
    edges=[
        (START, read, (find_amounts, find_dates, look_up_parties), JoinNode(name="checks"), write),
        (write, review, {"publish": publish, "rewrite": write}),
    ],
)
