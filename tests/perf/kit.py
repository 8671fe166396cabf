"""A turn to count: an agent with one tool over a model that answers at once, and what is counted of
it. Counts are the same on every machine, so the guards need no stopwatch."""

from __future__ import annotations

import cProfile
import gc
import hashlib
import itertools
import pstats
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.models import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import Runner

FINAL = "The answer is 5."
SSE = RunConfig(streaming_mode=StreamingMode.SSE)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_soon(a: int, b: int) -> int:
    """Add two numbers, on the event loop."""
    return a + b


def content(role: str, **part: Any) -> types.Content:
    return types.Content(role=role, parts=[types.Part(**part)])


_IDS = itertools.count()  # each call has an id of its own, as most providers give


class QuickModel(BaseLlm):
    """Asks for tool calls, then answers; looks at the last part only.

    Attributes:
      tool: which tool it calls.
      fan: how many calls it asks for at once.
      steps: how often it asks within an invocation.
      chunks: with streaming, pieces of an answer that it gives instead of calls.
    """

    tool: str = "add"
    fan: int = 1
    steps: int = 1
    chunks: int = 0
    asked: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.look(llm_request.contents)
        answered = (llm_request.contents[-1].parts or [])[-1].function_response is not None
        self.asked = self.asked if answered else 0
        if stream and self.chunks:
            for _ in range(self.chunks):
                yield LlmResponse(content=content("model", text="word "), partial=True)
            yield LlmResponse(content=content("model", text="word " * self.chunks))
        elif self.asked < self.steps:
            self.asked += 1
            parts = [self.call(number) for number in range(self.fan)]
            yield LlmResponse(content=types.Content(role="model", parts=parts))
        else:
            yield LlmResponse(content=content("model", text=FINAL))

    def call(self, number: int) -> types.Part:
        # The arguments of many calls differ: a model that repeats itself is stopped.
        args = {"a": 2, "b": self.asked if self.steps > 1 else 3 + number}
        call = types.FunctionCall(id=f"call-{next(_IDS)}", name=self.tool, args=args)
        return types.Part(function_call=call)

    def look(self, contents: list[types.Content]) -> None:
        """What a subclass does with the request's contents."""


class ReadingModel(QuickModel):
    """Reads every content of every request: how many there are, and a hash over what they say."""

    seen: list[tuple[int, str]] = []

    def look(self, contents: list[types.Content]) -> None:
        digest = hashlib.sha256()
        for item in contents:
            for part in item.parts or []:
                digest.update(said(item.role, part).encode())
        self.seen.append((len(contents), digest.hexdigest()))


class ChainingModel(QuickModel):
    """A model whose provider keeps the conversation.

    Attributes:
      kept: whether the provider names its interactions.
      chained: whether the last request continued one.
    """

    use_interactions_api: bool = True
    kept: bool = True
    chained: bool = False
    count: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.chained = llm_request.previous_interaction_id is not None
        self.count += 1
        async for response in super().generate_content_async(llm_request, stream):
            response.interaction_id = f"i{self.count}" if self.kept else None
            yield response


def said(role: str | None, part: types.Part) -> str:
    """One part as a line of text."""
    if part.function_call:
        return f"{role} calls {part.function_call.name} {part.function_call.args}\n"
    if part.function_response:
        return f"{role} gets {part.function_response.name} {part.function_response.response}\n"
    return f"{role}: {part.text}\n"


def question(turn: int) -> str:
    return f"What is 2 + 3? This is question {turn}."


def expected_requests(turns: int) -> list[tuple[int, str]]:
    """What ReadingModel must have seen: two requests per turn, each with all that came before."""
    digest, items = hashlib.sha256(), 0
    requests: list[tuple[int, str]] = []
    for turn in range(turns):
        lines = [
            f"user: {question(turn)}\n",
            "model calls add {'a': 2, 'b': 3}\n",
            "user gets add {'result': 5}\n",
            f"model: {FINAL}\n",
        ]
        for number, line in enumerate(lines):
            digest.update(line.encode())
            items += 1
            if number in (0, 2):
                requests.append((items, digest.hexdigest()))
    return requests


class Bench:
    """A runner over one service, and turns on its sessions.

    Args:
      service: the session service.
      model: what answers.
      more: further arguments of the agent.
    """

    def __init__(self, service: Any, model: QuickModel, **more: Any) -> None:
        agent = LlmAgent(
            name="bench",
            model=model,
            instruction="You add numbers.",
            tools=[add, add_soon],
            **more,
        )
        self.service = service
        self.runner = Runner(agent=agent, app_name="bench", session_service=service)

    async def open(self, *sessions: str) -> None:
        for session in sessions:
            await self.service.create_session(app_name="bench", user_id="u", session_id=session)

    async def turn(self, session: str, number: int = 0, stream: bool = False) -> int:
        """Run one turn; return how many events came out of it, partial ones too."""
        last, count = None, 0
        async for event in self.runner.run_async(
            user_id="u",
            session_id=session,
            new_message=content("user", text=question(number)),
            run_config=SSE if stream else None,
        ):
            last, count = event, count + 1
        assert last is not None and last.is_final_response()
        return count

    async def turns(self, session: str, numbers: range) -> None:
        for number in numbers:
            await self.turn(session, number)


def allowed(calls: int) -> float:
    """Return a limit for the running Python: from 3.12 on the standard library calls a bit more."""
    return calls if sys.version_info < (3, 12) else calls * 1.08


async def calls(run: Callable[[], Awaitable[Any]], times: int = 5, of_loop: bool = True) -> int:
    """Python and C function calls of a piece of work on this thread.

    The least of some runs: threads that answer late only add rounds of the event loop. Where the
    work waits for threads often, each wait may add some, and those can be left out.

    Args:
      run: does the work once.
      times: how often it is done.
      of_loop: count what the event loop itself does, too.
    """
    counts: list[int] = []
    for _ in range(times):
        profile = cProfile.Profile()
        profile.enable()
        await run()
        profile.disable()
        stats: Any = pstats.Stats(profile)
        counts.append(stats.total_calls - (0 if of_loop else loop_calls(stats)))
    return min(counts)


def loop_calls(stats: pstats.Stats) -> int:
    """The calls of and by asyncio's event loop, without what its callbacks call in turn."""
    own = 0
    for (file, _, _), (_, count, _, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        if is_loop(file):
            own += count
        elif file == "~":
            own += sum(row[0] for caller, row in callers.items() if is_loop(caller[0]))
    return own


def is_loop(file: str) -> bool:
    return file.endswith("selectors.py") or "/asyncio/" in file


def kept() -> tuple[int, int]:
    """The memory blocks and the collector's objects that are alive now."""
    gc.collect()
    return sys.getallocatedblocks(), len(gc.get_objects())


def is_flat(counts: list[float], spread: float = 1.05) -> bool:
    """True where the highest count is within 5 % of the lowest."""
    return max(counts) <= min(counts) * spread
