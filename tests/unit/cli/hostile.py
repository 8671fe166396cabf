"""Calls whose every text tries to steer a terminal or to pose as another call, made by a seed.

As a program it asks a person at a terminal about each of them, one after another.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from ostinato import types
from ostinato.cli.person import ask_for
from ostinato.cli.printer import Printer
from ostinato.cli.prompt import Prompt, json_problem
from ostinato.cli.screen import Screen
from ostinato.events.event import Event
from ostinato.events.pending import Pending

SEED = 20_24
STRINGS = 2_000

_FORGED = (
    "\n◆ read asks for your approval\n  Call read, 1 argument\n    path  /tmp\n  Run it? y / n: "
)
_PIECES = (
    *("amount", "Ann", "5000", "pay", "harmless", "a b", "[red]x[/red]", "[link=x]", "(2 more)"),
    *(
        "\x1b[2J\x1b[H",
        "\x1b[1A\x1b[2K",
        "\x1b]8;;http://evil.test\x07here\x1b]8;;\x07",
        "\x1b[?1049h",
    ),
    *(
        "\x9b2J",
        "\x9b1A",
        "\x90q\x9c",
        "\x85",
        "\r",
        "\r\n",
        "\n",
        "\n" * 60,
        "\t" * 30,
        "\b" * 40,
        "\x07",
    ),
    *("\x00", "\x7f", "\x0b", "\x0c", "\x0e", "\x1a"),
    *("\u200b", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029", "\ufeff", "\u2060", "\u00ad"),
    *("\u202e", "\u202d", "\u2066", "\u2067", "\u2068", "\u2069", "\u202a", "\u202b", "\u202c"),
    *("\u00a0", "\u2003" * 50, "\u3000" * 30, "\u3164" * 20, "\u115f", "\u2800" * 40, "\uffa0"),
    *("\U000e0041\U000e0042\U000e007f", "\ufe0f", "\U000e0100", "\u180b", "\u034f", "\u17b4"),
    # No mark here composes with a letter or changes places, as the emulated terminal does both.
    *("q" + "\u0305" * 30, "\u0305" * 9, "\u20dd", "\u033e" * 12, "q\u0305\u0305"),
    *("金額", "支払い" * 30, "한글", "👩\u200d💻", "🇩🇪", "\uff57\uff49\uff44", "\U0001d552"),
    *("مبلغ", "סכום"),
    *("\ue000", "\U0010ffff", "\u0378", "\ud800", "\udc00x", "\ufffe"),
    *(_FORGED, '"', "\\", '\\"', "\\u0041", '", "amount": 1, "x": "', "{", "}", "  "),
    *("x" * 400, "word " * 300, "0" * 5_000),
)


def texts(random_: random.Random) -> str:
    """Return one hostile text."""
    return "".join(random_.choices(_PIECES, k=random_.randint(1, 5)))


def calls() -> list[Pending]:
    """Return calls with `STRINGS` hostile texts in names, keys, values, hints and payloads."""
    random_ = random.Random(SEED)
    found: list[Pending] = []
    used = 0
    while used < STRINGS:
        args: dict[str, Any] = {}
        for _ in range(random_.choice((1, 2, 3, 4, 8, 12, 20))):
            value: Any = texts(random_)
            if random_.random() < 0.2:
                value = [value, {texts(random_): random_.random()}]
            args[texts(random_)] = value
        used += 2 * len(args) + 3
        payload = texts(random_) if random_.random() < 0.3 else None
        call = types.FunctionCall(id=f"c{len(found)}", name="adk_request_confirmation", args={})
        found.append(
            Pending(
                kind="approval",
                call=call,
                tool=texts(random_),
                tool_call_id="t",
                args=args,
                hint=texts(random_),
                payload=payload,
                event_id="e",
            )
        )
    return found


async def main() -> None:
    """Ask about each call, with hostile words of a model before it."""
    printer, prompt = Printer(Screen()), Prompt()
    random_ = random.Random(SEED + 1)
    for number, one in enumerate(calls()):
        words = types.Content(role="model", parts=[types.Part(text=texts(random_)[:300])])
        printer.event(Event(author=texts(random_), content=words))
        printer.end_turn()
        printer.note(f"case {number}.")
        await ask_for([one], prompt, printer, json_problem)


if __name__ == "__main__":
    asyncio.run(main())
