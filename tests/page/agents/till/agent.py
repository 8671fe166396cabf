"""A till with a policy, a guardrail and a budget, whose model calls what the message names."""

import asyncio
import os
from pathlib import Path

from ostinato import GuardrailResult, types
from ostinato.agents import Agent
from ostinato.apps import App, Budget
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools.policy import Policy, Rule


def refund(amount: int, customer: str) -> dict:
    """Refund money to a customer."""
    return {"refunded": amount, "to": customer}


async def send_parcel(order: str) -> dict:
    """Send a parcel; the test decides when it has gone."""
    path = Path(os.environ["OSTINATO_TEST_GATE"])
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process opens it
        await asyncio.sleep(0.02)
    return {"sent": order}


def no_secrets(ctx, content) -> GuardrailResult | None:
    """Stop messages that ask for the secret."""
    if "secret" not in "".join(part.text or "" for part in content.parts or ()):
        return None
    return GuardrailResult(
        tripwire=True, info={"word": "secret"}, message="I do not talk about that."
    )


class Rules(BaseLlm):
    """Calls what the message names: `refund N`, `parcel`, or `spend` again and again."""

    async def generate_content_async(self, llm_request, stream=False):
        last = (llm_request.contents[-1].parts or [])[-1]
        text = next(
            (
                p.text
                for c in reversed(llm_request.contents)
                for p in c.parts or ()
                if p.text and c.role == "user"
            ),
            "",
        )
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=40, total_token_count=40
        )
        words = text.split()
        if last.function_response is not None and words[0] != "spend":
            yield answer([types.Part(text=f"Done: {last.function_response.response}")], usage)
        elif words[0] in ("refund", "spend"):
            amount = int(words[1]) if len(words) > 1 else 5
            args = {"amount": amount, "customer": "Ann"}
            yield answer([call("refund", args)], usage)
        elif words[0] == "parcel":
            yield answer([call("send_parcel", {"order": "A-1"})], usage)
        else:
            yield answer([types.Part(text=f"You said: {text}")], usage)


def call(name: str, args: dict) -> types.Part:
    """A call of a tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def answer(parts: list, usage) -> LlmResponse:
    """A response."""
    return LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)


root_agent = Agent(
    name="till",
    model=Rules(model="till"),
    tools=[refund, send_parcel],
    input_guardrails=[no_secrets],
)
app = App(
    name="till",
    root_agent=root_agent,
    budget=Budget(max_tokens=300),
    policy=Policy(
        rules=[
            Rule(id="refund-large", tool="refund", args={"/amount": {"gt": 100}}, verdict="ask"),
            Rule(id="refund-huge", tool="refund", args={"/amount": {"gt": 5000}}, verdict="deny"),
        ]
    ),
)
