"""A wreck: its tool fails, and so does its model; errors of the tool go to the model on request."""

from ostinato import types
from ostinato.agents import Agent
from ostinato.apps import App
from ostinato.testing import FunctionModel


def find_price(order: str) -> int:
    """Return the price of an order."""
    prices = {"B-2": 7}
    try:
        return prices[order]
    except KeyError as error:
        raise LookupError(f"no price of {order}, <b>really</b>") from error


def pay(order: str) -> dict:
    """Pay an order."""
    return {"paid": find_price(order)}


def answer(request):
    """Call the tool, or fail."""
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return "I could not pay."
    if last.text == "fall":
        raise RuntimeError("the model fell over")
    return types.Part(function_call=types.FunctionCall(name="pay", args={"order": "A-1"}))


root_agent = Agent(name="wreck", model=FunctionModel(answer), tools=[pay])
app = App(name="wreck", root_agent=root_agent, tool_errors="feedback")
