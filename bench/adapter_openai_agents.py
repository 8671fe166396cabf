"""openai-agents. A session is its SQLiteSession (in memory, a file for S8), as its documents show.
Tracing is off (by default it exports to a hosted service). Variant "list": history by hand."""

import scenarios


class A(scenarios.Adapter):
    name = "openai-agents"
    persist_kinds = ("SQLiteSession",)
    variants = ("", "list", "tracing")
    path = ":memory:"
    wires = ("chat",)

    def load(self, variant=""):
        import agents

        self.g = agents
        self.variant = variant
        agents.set_tracing_disabled(variant != "tracing")
        from openai.types import responses

        self.r = responses

    def version(self):
        import importlib.metadata as m

        return m.version("openai-agents")

    def build(self, script, tools=("add",)):
        import asyncio
        import json

        g, r = self.g, self.r

        class Fake(g.Model):
            def out(self, input):
                last = input[-1] if isinstance(input, list) else {"role": "user"}
                n = script.calls(last.get("role") == "user")
                if n:
                    return [
                        r.ResponseFunctionToolCall(
                            call_id=script.new_id(),
                            name=script.tool,
                            arguments=json.dumps(script.args()),
                            type="function_call",
                        )
                        for _ in range(n)
                    ]
                return self.message(
                    scenarios.CHUNK * script.chunks if script.chunks else scenarios.FINAL_TEXT
                )

            def message(self, text):
                return [
                    r.ResponseOutputMessage(
                        id=script.new_id(),
                        role="assistant",
                        status="completed",
                        type="message",
                        content=[
                            r.ResponseOutputText(text=text, type="output_text", annotations=[])
                        ],
                    )
                ]

            async def get_response(self, system_instructions, input, *a, **k):
                if script.delay:
                    await asyncio.sleep(script.delay)
                return g.ModelResponse(output=self.out(input), usage=g.Usage(), response_id=None)

            async def stream_response(self, system_instructions, input, *a, **k):
                for i in range(script.chunks):
                    yield r.ResponseTextDeltaEvent(
                        content_index=0,
                        delta=scenarios.CHUNK,
                        item_id="m",
                        output_index=0,
                        sequence_number=i,
                        type="response.output_text.delta",
                        logprobs=[],
                    )
                resp = r.Response(
                    id="r",
                    created_at=0,
                    model="fake",
                    object="response",
                    output=self.out(input),
                    tool_choice="none",
                    tools=[],
                    parallel_tool_calls=True,
                )
                yield r.ResponseCompletedEvent(
                    response=resp, type="response.completed", sequence_number=script.chunks
                )

        self.agent = g.Agent(
            name="bench",
            instructions="You add numbers.",
            model=self.client(script) if script.wire else Fake(),
            tools=[g.function_tool(scenarios.TOOLS[x]) for x in tools],
        )

    def client(self, script):
        from openai import AsyncOpenAI

        return self.g.OpenAIChatCompletionsModel(
            "fake", AsyncOpenAI(base_url=script.url + "/v1", api_key="none")
        )

    async def open(self, sid):
        return [] if self.variant == "list" else self.g.SQLiteSession(sid, self.path)

    async def turn(self, h):
        if self.variant == "list":
            h.append({"role": "user", "content": scenarios.USER_TEXT})
            res = await self.g.Runner.run(self.agent, h, max_turns=None)
            h[:] = res.to_input_list()
        else:
            res = await self.g.Runner.run(
                self.agent, scenarios.USER_TEXT, session=h, max_turns=None
            )
        return res.final_output

    async def stream(self, h):
        n = 0
        res = self.g.Runner.run_streamed(
            self.agent, scenarios.USER_TEXT, session=h if h != [] else None
        )
        async for ev in res.stream_events():
            if ev.type == "raw_response_event" and ev.data.type == "response.output_text.delta":
                n += 1
        return n

    async def persist_start(self, kind, path):
        self.path = path

    async def load_session(self, kind, path, sid):
        s = self.g.SQLiteSession(sid, path)
        items = await s.get_items()
        s.close()
        return len(items)


if __name__ == "__main__":
    scenarios.main(A())
