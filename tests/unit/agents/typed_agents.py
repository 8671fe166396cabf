"""What the type checker has to know of agents with deps and output; test_typed_agents.py runs it.
Lines that end in `# wrong` must be reported, and no others."""

from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel

from ostinato import Agent, Context, LlmAgent, SequentialAgent
from ostinato.agents.readonly_context import ReadonlyContext
from ostinato.tools.tool_context import ToolContext


@dataclass
class Db:
    url: str


class Bill(BaseModel):
    total: int


def look(question: str, ctx: Context[Db]) -> str:
    assert_type(ctx.deps, Db)
    return ctx.deps.url + question


def tool(tool_context: ToolContext[Db]) -> None:
    assert_type(tool_context.deps, Db)


def instruct(ctx: ReadonlyContext[Db]) -> str:
    assert_type(ctx.deps, Db)
    return ctx.deps.missing  # wrong


def untyped(ctx: Context) -> Any:
    return ctx.deps.anything


plain = Agent(name="a")
assert_type(plain.run_sync("x").output, str)
plain.run_sync("x", deps=object())

biller = Agent(name="a", deps_type=Db, output_schema=Bill, tools=[look, tool], instruction=instruct)
assert_type(biller, LlmAgent[Db, Bill])
assert_type(biller.run_sync("x", deps=Db("u")).output, Bill)
biller.run_sync("x", deps=3)  # wrong
print(biller.run_sync("x").output.subtotal)  # wrong

lister: Agent[Db, list[Bill]] = Agent[Db, list[Bill]](name="a", output_schema=list[Bill])
assert_type(lister.run_sync("x", deps=Db("u")).output, list[Bill])


async def main() -> None:
    assert_type((await biller.run("x", deps=Db("u"))).output, Bill)
    await biller.run("x", deps="u")  # wrong
    line = SequentialAgent(name="line", sub_agents=[biller, plain])
    assert_type((await line.run("x", deps=1)).output, Any)
