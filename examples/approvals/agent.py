"""An accounts agent whose payments need a yes, and whose budget requests wait for a manager.

Try:
- Which invoices are open?
- Pay invoice A-102
- Request a budget of 2000 euros for a conference
"""

from typing import Any

from ostinato.agents import Agent
from ostinato.apps import App, ResumabilityConfig
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext

LIMIT = 500
INVOICES: dict[str, dict[str, Any]] = {
    "A-101": {"from": "Paper & Co", "amount": 84},
    "A-102": {"from": "Northwind Servers", "amount": 1250},
    "A-103": {"from": "City Power", "amount": 310},
}


def list_invoices(tool_context: ToolContext) -> dict[str, Any]:
    """List the open invoices."""
    paid = tool_context.state.get("paid", [])
    return {
        "invoices": [
            {"invoice_id": number, **invoice}
            for number, invoice in INVOICES.items()
            if number not in paid
        ]
    }


def pay_invoice(invoice_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Pay an open invoice.

    Args:
      invoice_id: Number of the invoice, such as A-101.
    """
    number = invoice_id.upper()
    invoice = INVOICES.get(number)
    paid = tool_context.state.get("paid", [])
    if invoice is None:
        return {"error": f"There is no invoice {invoice_id}."}
    if number in paid:
        return {"error": f"Invoice {number} is paid already."}
    tool_context.state["paid"] = [*paid, number]
    return {"message": f"Paid {invoice['amount']} euros to {invoice['from']} for {number}."}


def is_large(invoice_id: str) -> bool:
    """Tell whether paying an invoice needs a person's yes."""
    return INVOICES.get(invoice_id.upper(), {}).get("amount", 0) > LIMIT


def request_budget(amount: float, purpose: str, tool_context: ToolContext) -> dict[str, Any]:
    """Ask the manager for a budget; the answer comes later.

    Args:
      amount: How much is needed, in euros.
      purpose: What the money is for.
    """
    return {
        "status": "pending",
        "ticket": f"budget-{tool_context.function_call_id}",
        "amount": amount,
        "purpose": purpose,
    }


root_agent = Agent(
    name="accounts",
    description="Pays invoices and asks for budgets.",
    instruction=(
        "You work in accounts. Look up invoices with list_invoices and pay them with pay_invoice. "
        "For money that is not on an invoice, use request_budget and say that it waits for the "
        "manager."
    ),
    tools=[
        list_invoices,
        FunctionTool(pay_invoice, require_confirmation=is_large),
        LongRunningFunctionTool(request_budget),
    ],
)

app = App(
    name="approvals",
    root_agent=root_agent,
    resumability_config=ResumabilityConfig(is_resumable=True),
)
