"""The till of tests/page/agents with google-adk: a confirmation and two callbacks as its rules."""

from google.adk.agents import Agent
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types
from scripted import FunctionModel


def refund(amount: int, customer: str) -> dict:
    """Refund money to a customer."""
    return {"refunded": amount, "to": customer}


def is_large(amount: int, customer: str) -> bool:
    """Whether a person is asked."""
    return 100 < amount <= 5000


def deny_huge(tool, args, tool_context):
    """Deny what nobody may approve."""
    if args.get("amount", 0) > 5000:
        return {"error": "denied by refund-huge"}
    return None


def stop_secrets(callback_context, llm_request):
    """Stop messages that ask for the secret."""
    if "secret" not in (llm_request.contents[-1].parts[-1].text or ""):
        return None
    part = types.Part(text="I do not talk about that.")
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def answer(request):
    """Refund what the message names."""
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return f"Done: {last.function_response.response}"
    amount = int(last.text.split()[1])
    args = {"amount": amount, "customer": "Ann"}
    return types.Part(function_call=types.FunctionCall(name="refund", args=args))


root_agent = Agent(
    name="till",
    model=FunctionModel(answer),
    tools=[FunctionTool(refund, require_confirmation=is_large)],
    before_tool_callback=deny_huge,
    before_model_callback=stop_secrets,
)
