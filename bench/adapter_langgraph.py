"""langgraph + langchain create_agent, InMemorySaver checkpointer (AsyncSqliteSaver for S8)."""

import scenarios


class A(scenarios.Adapter):
    name = "langgraph"
    persist_kinds = ("AsyncSqliteSaver",)
    saver = cm = None

    def load(self, variant=""):
        from langchain.agents import create_agent
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import AIMessage, AIMessageChunk
        from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
        from langgraph.checkpoint.memory import InMemorySaver

        self.create, self.Base, self.Saver = create_agent, BaseChatModel, InMemorySaver
        self.AI, self.AIChunk, self.Gen, self.GenChunk, self.Res = (
            AIMessage,
            AIMessageChunk,
            ChatGeneration,
            ChatGenerationChunk,
            ChatResult,
        )

    def version(self):
        import importlib.metadata as m

        return m.version("langgraph") + " / langchain " + m.version("langchain")

    def build(self, script, tools=("add",)):
        import asyncio

        from langchain_core.tools import tool

        o = self

        class Fake(self.Base):
            @property
            def _llm_type(self):
                return "fake"

            def bind_tools(self, tools, **k):
                return self

            def _generate(self, *a, **k):
                raise NotImplementedError

            async def _agenerate(self, messages, stop=None, run_manager=None, **k):
                if script.delay:
                    await asyncio.sleep(script.delay)
                n = script.calls(messages[-1].type == "human")
                if n:
                    msg = o.AI(
                        content="",
                        tool_calls=[
                            {"id": script.new_id(), "name": script.tool, "args": script.args()}
                            for _ in range(n)
                        ],
                    )
                else:
                    msg = o.AI(content=scenarios.FINAL_TEXT)
                return o.Res(generations=[o.Gen(message=msg)])

            async def _astream(self, messages, stop=None, run_manager=None, **k):
                for _ in range(script.chunks):
                    yield o.GenChunk(message=o.AIChunk(content=scenarios.CHUNK))

        self.saver = self.saver or self.Saver()
        self.agent = self.create(
            Fake(),
            tools=[tool(scenarios.TOOLS[x]) for x in tools],
            system_prompt="You add numbers.",
            checkpointer=self.saver,
        )

    async def open(self, sid):
        return {"configurable": {"thread_id": sid}, "recursion_limit": 10**9}

    async def turn(self, h):
        res = await self.agent.ainvoke(
            {"messages": [{"role": "user", "content": scenarios.USER_TEXT}]}, h
        )
        return res["messages"][-1].content

    async def stream(self, h):
        n = 0
        async for chunk, _meta in self.agent.astream(
            {"messages": [{"role": "user", "content": scenarios.USER_TEXT}]},
            h,
            stream_mode="messages",
        ):
            if chunk.content:
                n += 1
        return n

    async def persist_start(self, kind, path):
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        self.cm = AsyncSqliteSaver.from_conn_string(path)
        self.saver = await self.cm.__aenter__()
        await self.saver.setup()

    async def load_session(self, kind, path, sid):
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(path) as s:
            t = await s.aget_tuple({"configurable": {"thread_id": sid}})
            return len(t.checkpoint["channel_values"]["messages"])

    async def close(self):
        if self.cm:
            cm, self.cm = self.cm, None
            await cm.__aexit__(None, None, None)


if __name__ == "__main__":
    scenarios.main(A())
