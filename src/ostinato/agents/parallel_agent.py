"""ParallelAgent: runs its sub-agents side by side, each on a branch of its own."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from .._aclosing import Aclosing
from ..context.invocation import InvocationContext
from ..events.event import Event
from .base_agent import BaseAgent, BaseAgentState, is_paused


class ParallelAgent(BaseAgent):
    """Runs its sub-agents concurrently; none sees the others' events (FEATURES row 75)."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        if self._load_agent_state(ctx, BaseAgentState) is None:
            ctx.reset_sub_agent_states(self.name)
            ctx.set_agent_state(self.name, agent_state=BaseAgentState())
            if ctx.is_resumable:
                yield self._create_agent_state_event(ctx)
        runs: list[AsyncGenerator[Event, None]] = []
        for sub_agent in self.sub_agents:
            branch = _create_branch_ctx_for_sub_agent(self, sub_agent, ctx)
            runs.append(sub_agent.run_async(branch))
        async with Aclosing(_merge_agent_run(runs)) as events:
            async for event in events:
                yield event
        if is_paused(ctx):
            return
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)


def _create_branch_ctx_for_sub_agent(
    agent: BaseAgent, sub_agent: BaseAgent, invocation_context: InvocationContext
) -> InvocationContext:
    """Return a context whose branch is `parent.child` below the current one (FEATURES A.27 X5)."""
    suffix = f"{agent.name}.{sub_agent.name}"
    outer = invocation_context.branch
    branch = f"{outer}.{suffix}" if outer else suffix
    return invocation_context.model_copy(update={"branch": branch})


async def _merge_agent_run(
    agent_runs: Sequence[AsyncGenerator[Event, None]],
) -> AsyncGenerator[Event, None]:
    """Run generators concurrently and yield their events as they come.

    Each generator goes on only when its event was taken, so an event is committed before its agent
    sees the next line. Where one raises, the others are cancelled and closed.
    """
    queue: asyncio.Queue[tuple[Event, asyncio.Event] | None] = asyncio.Queue()

    async def drain(run: AsyncGenerator[Event, None]) -> None:
        async with Aclosing(run) as events:
            try:
                async for event in events:
                    taken = asyncio.Event()
                    queue.put_nowait((event, taken))
                    await taken.wait()
            finally:
                queue.put_nowait(None)

    tasks = [asyncio.create_task(drain(run)) for run in agent_runs]
    try:
        running = len(tasks)
        while running:
            item = await queue.get()
            if item is None:
                running -= 1
                _raise_first_error(tasks)
                continue
            event, taken = item
            yield event
            taken.set()
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _raise_first_error(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            task.result()
