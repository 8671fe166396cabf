"""strands-agents. A session is an Agent object that holds its messages; history trimming is off, so
that the work matches. S8: its FileSessionManager, a folder of JSON files; it has no SQL store."""

import scenarios


class A(scenarios.Adapter):
    name = "strands"
    persist_kinds = ("FileSessionManager",)
    path = None

    def load(self, variant=""):
        import strands
        from strands.agent.conversation_manager import NullConversationManager
        from strands.models import Model

        self.s, self.Model, self.Null = strands, Model, NullConversationManager

    def version(self):
        import importlib.metadata as m

        return m.version("strands-agents")

    def build(self, script, tools=("add",)):
        import asyncio
        import json

        class Fake(self.Model):
            def update_config(self, **k):
                pass

            def get_config(self):
                return {}

            def structured_output(self, *a, **k):
                raise NotImplementedError

            async def stream(self, messages, tool_specs=None, system_prompt=None, **k):
                if script.delay:
                    await asyncio.sleep(script.delay)
                n = script.calls("toolResult" not in messages[-1]["content"][-1])
                yield {"messageStart": {"role": "assistant"}}
                for _ in range(n):
                    yield {
                        "contentBlockStart": {
                            "start": {
                                "toolUse": {"toolUseId": script.new_id(), "name": script.tool}
                            }
                        }
                    }
                    yield {
                        "contentBlockDelta": {
                            "delta": {"toolUse": {"input": json.dumps(script.args())}}
                        }
                    }
                    yield {"contentBlockStop": {}}
                if not n:
                    yield {"contentBlockStart": {"start": {}}}
                    for _ in range(script.chunks or 1):
                        yield {
                            "contentBlockDelta": {
                                "delta": {
                                    "text": scenarios.CHUNK
                                    if script.chunks
                                    else scenarios.FINAL_TEXT
                                }
                            }
                        }
                    yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use" if n else "end_turn"}}

        self.model = Fake()
        self.tools = [self.s.tool(scenarios.TOOLS[x]) for x in tools]

    async def open(self, sid):
        k = {}
        if self.path:
            from strands.session.file_session_manager import FileSessionManager

            k["session_manager"] = FileSessionManager(session_id=sid, storage_dir=self.path)
        return self.s.Agent(
            model=self.model,
            tools=self.tools,
            system_prompt="You add numbers.",
            callback_handler=None,
            agent_id="bench",
            conversation_manager=self.Null(),
            **k,
        )

    async def turn(self, h):
        res = await h.invoke_async(scenarios.USER_TEXT)
        return res.message["content"][-1]["text"]

    async def stream(self, h):
        n = 0
        async for ev in h.stream_async(scenarios.USER_TEXT):
            if "data" in ev:
                n += 1
        return n

    async def persist_start(self, kind, path):
        self.path = path

    async def load_session(self, kind, path, sid):
        self.path = path
        return len((await self.open(sid)).messages)


if __name__ == "__main__":
    scenarios.main(A())
