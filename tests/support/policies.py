"""A policy file, and an agent whose call it denies."""

from __future__ import annotations

RULES = """\
rules:
  - {id: big, verdict: deny, tool: pay, args: {/amount: {gt: 100}}, message: Too much.}
tests:
  - {tool: pay, args: {amount: 500}, expect: deny}
  - {tool: pay, args: {amount: 5}, expect: allow}
"""

AGENT = """\
from ostinato import Agent
from ostinato.testing import FunctionModel, call

def pay(amount: int) -> str:
    \"\"\"Pay.\"\"\"
    return f"paid {amount}"

def answer(request):
    part = request.contents[-1].parts[-1]
    if part.function_response is not None:
        return str(part.function_response.response)
    return call("pay", amount=500)

root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=[pay])
"""
