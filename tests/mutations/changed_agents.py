"""Ten cases of an agent, and fifty changes of it: ten of each kind, and ten harmless rewordings."""
# ruff: noqa: RUF001 - the cases speak several languages

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

Call = tuple[str, dict[str, Any]]
KINDS = ("dropped tool", "wrong argument", "extra call", "lost negation", "worse prompt")
HARMLESS = "harmless rewording"
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Behaviour:
    """What the agent does with a message.

    Attributes:
      message: the user's message.
      calls: the calls, one after the other.
      answer: the final answer.
    """

    message: str
    calls: tuple[Call, ...]
    answer: str


@dataclass(frozen=True)
class Case:
    """A case with its changes.

    Attributes:
      behaviour: the right behaviour.
      wrong: an argument of the last call with another value.
      affirmed: the answer without its negation.
      vague: the answer of a worse prompt.
      reworded: another answer that is as good.
    """

    behaviour: Behaviour
    wrong: dict[str, Any]
    affirmed: str
    vague: str
    reworded: str


def _case(message: str, calls: list[Call], *answers: str, **wrong: Any) -> Case:
    right, affirmed, vague, reworded = answers
    return Case(Behaviour(message, tuple(calls), right), wrong, affirmed, vague, reworded)


CASES = (
    _case(
        "Refund order A-1, please.",
        [("find_order", {"order": "A-1"}), ("refund", {"order": "A-1", "amount": 12.5})],
        "The refund of order A-1 was not approved, because it is older than 30 days.",
        "The refund of order A-1 was approved, because it is older than 30 days.",
        "I looked at your order. Please contact us again if you need more help with it.",
        "Order A-1 is older than 30 days, so its refund was not approved.",
        amount=125.0,
    ),
    _case(
        "Where is order B-2?",
        [("find_order", {"order": "B-2"})],
        "Order B-2 has not been shipped yet. It leaves the warehouse on Monday.",
        "Order B-2 has been shipped. It left the warehouse on Monday.",
        "Order B-2 is being processed.",
        "It leaves the warehouse on Monday: order B-2 has not been shipped yet.",
        order="B2",
    ),
    _case(
        "Can I take nuts on flight 7?",
        [("find_rule", {"topic": "nuts", "flight": 7})],
        "No, nuts are not allowed on flight 7, because a passenger has an allergy.",
        "Yes, nuts are allowed on flight 7, because a passenger has an allergy.",
        "Rules about food differ between flights and airlines, so please check them.",
        "Nuts are not allowed on flight 7, because a passenger has an allergy.",
        flight=8,
    ),
    _case(
        "Cancel my subscription.",
        [("find_user", {}), ("cancel", {"plan": "pro", "at": "2026-12-31"})],
        "Your subscription ends on 31 December 2026. You will not be charged again.",
        "Your subscription ends on 31 December 2026. You will be charged again.",
        "Your subscription ends on 31 December 2026.",
        "You will not be charged again: your subscription ends on 31 December 2026.",
        at="2026-12-13",
    ),
    _case(
        "Is the drug safe with alcohol?",
        [("find_rule", {"topic": "alcohol", "flight": 0})],
        "Do not drink alcohol while you take this medicine. It is not safe.",
        "Drink alcohol while you take this medicine. It is safe.",
        "Medicines and alcohol can interact. Ask a doctor or read the leaflet.",
        "It is not safe. Do not drink alcohol while you take this medicine.",
        topic="all",
    ),
    _case(
        "What is the weather in Rome?",
        [("get_weather", {"city": "Rome", "unit": "C"})],
        "It is 24 degrees in Rome, sunny, and no rain is expected today.",
        "It is 24 degrees in Rome, sunny, and rain is expected today.",
        "It is 42 degrees in Rome, sunny, and no rain is expected today.",
        "In Rome it is sunny, 24 degrees, and no rain is expected today.",
        unit="F",
    ),
    _case(
        "Delete my account.",
        [("find_user", {}), ("delete_user", {"user": "u-17"})],
        "I cannot delete the account, because an invoice is not paid.",
        "I can delete the account, because an invoice is paid.",
        "I cannot delete the account, because of a problem.",
        "Because an invoice is not paid, I cannot delete the account.",
        user="u-71",
    ),
    _case(
        "Обнови мой адрес.",
        [("remember", {"key": "address", "value": "Минск"})],
        "Адрес сохранён, но не проверен почтой.",
        "Адрес сохранён и проверен почтой.",
        "Готово, спасибо за обращение.",
        "Но адрес не проверен почтой: сохранён.",
        value="Брест",
    ),
    _case(
        "予約を確認して",
        [("find_order", {"order": "C-3"})],
        "予約C-3は確認できません。",
        "予約C-3は確認できました。",
        "少々お待ちください。",
        "C-3の予約は確認できません。",
        order="C-8",
    ),
    _case(
        "Send the report to Ann.",
        [("find_user", {}), ("send", {"to": "ann@example.com", "file": "report.pdf"})],
        "The report was sent to Ann and nobody else. It has 12 pages.",
        "The report was sent to Ann and everybody else. It has 12 pages.",
        "The report was sent. It has pages.",
        "The report has 12 pages. It was sent to Ann and nobody else.",
        to="anna@example.com",
    ),
)


def change(case: Case, kind: str) -> Behaviour:
    """Return the changed behaviour of a case.

    Args:
      case: the case.
      kind: one of KINDS, HARMLESS or UNCHANGED.
    """
    right = case.behaviour
    name, args = right.calls[-1]
    changed = {
        "dropped tool": replace(right, calls=right.calls[:-1]),
        "wrong argument": replace(right, calls=(*right.calls[:-1], (name, {**args, **case.wrong}))),
        "extra call": replace(right, calls=(*right.calls, right.calls[-1])),
        "lost negation": replace(right, answer=case.affirmed),
        "worse prompt": replace(right, answer=case.vague),
        HARMLESS: replace(right, answer=case.reworded),
        UNCHANGED: right,
    }
    return changed[kind]
