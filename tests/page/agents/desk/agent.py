"""A desk with a helper, whose model does what the message asks for; the browser's tests drive it.

`hold` waits between two words until the file that OSTINATO_TEST_GATE names is there.
"""

import asyncio
import os
import struct
import zlib
from pathlib import Path

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool


def lookup(city: str, tool_context) -> dict:
    """Look up the weather of a city."""
    tool_context.state["last_city"] = city
    tool_context.state["lookups"] = tool_context.state.get("lookups", 0) + 1
    return {"report": f"sunny in {city}"}


async def draw(colour: str, tool_context) -> dict:
    """Draw a square."""
    png = types.Part(inline_data=types.Blob(mime_type="image/png", data=square()))
    version = await tool_context.save_artifact("square.png", png)
    await tool_context.save_artifact("about.txt", types.Part(text=f"A square, {colour}."))
    return {"version": version}


def wire_money(to: str, amount: int) -> dict:
    """Send money to somebody."""
    return {"sent": amount, "to": to}


def square(side: int = 48) -> bytes:
    """A PNG of one colour."""
    rows = (b"\0" + b"\x24\x57\xc5" * side) * side

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


HOSTILE = "Ann\u202eevil\u200b\n\u3164amount 1<img src=x onerror=alert(1)>\U000e0041"
CALLS = {
    "weather": ("lookup", {"city": "Rome"}),
    "draw": ("draw", {"colour": "blue"}),
    "wire": ("wire_money", {"to": "Ann", "amount": 5000}),
    "forged": ("wire_money", {"to": HOSTILE, "amount": 7}),
    "ask the helper": ("transfer_to_agent", {"agent_name": "helper"}),
}


class Scripted(BaseLlm):
    """Calls the tool that the message names, else repeats the message word by word."""

    async def generate_content_async(self, llm_request, stream=False):
        parts = llm_request.contents[-1].parts or []
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1000 + len(llm_request.contents),
            candidates_token_count=12,
            cached_content_token_count=600,
        )
        if parts[-1].function_response is not None and "For context" not in (parts[0].text or ""):
            response = parts[-1].function_response
            answer = f"{response.name} gave {response.response}"
        else:
            text = " ".join(part.text for part in parts if part.text)
            if "boom" in text:
                raise RuntimeError("the model fell over")
            for word, (name, args) in CALLS.items():
                if word in text and not (name == "transfer_to_agent" and "helper" in self.model):
                    call = types.FunctionCall(name=name, args=args)
                    thought = types.Part(text=f"I need {name} for that.", thought=True)
                    yield says([thought, types.Part(function_call=call)], usage_metadata=usage)
                    return
            files = [str(part.inline_data.mime_type) for part in parts if part.inline_data]
            answer = f"You sent {', '.join(files)}" if files else f"You said: {text}"
            if "hold" in text or "helper" in self.model:
                if stream:
                    for piece in ("o", "ne "):
                        yield says([types.Part(text=piece)], partial=True)
                await gate()
                yield says([types.Part(text="one two")], usage_metadata=usage)
                return
        if stream:
            for word in answer.split(" "):
                yield says([types.Part(text=word + " ")], partial=True)
        yield says([types.Part(text=answer)], usage_metadata=usage)


def says(parts: list, **more) -> LlmResponse:
    """A response."""
    return LlmResponse(content=types.Content(role="model", parts=parts), **more)


async def gate() -> None:
    """Wait until the test opens the gate."""
    path = Path(os.environ["OSTINATO_TEST_GATE"])
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process opens it
        await asyncio.sleep(0.02)


helper = Agent(
    name="helper",
    model=Scripted(model="scripted-helper"),
    description="Helps with the rest.",
    instruction="Help.",
)
root_agent = Agent(
    name="desk",
    model=Scripted(model="scripted"),
    description="A desk that answers.",
    instruction="You help people. The last city was {last_city?}.",
    tools=[lookup, draw, FunctionTool(wire_money, require_confirmation=True)],
    sub_agents=[helper],
)
