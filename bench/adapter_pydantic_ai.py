"""pydantic-ai. It has no session object: the caller keeps message_history, as its documents show.
S8: message JSON in sqlite3 by hand, one row per turn, the whole history read back each turn."""

from datetime import UTC

import scenarios


class A(scenarios.Adapter):
    name = "pydantic-ai"
    persist_kinds = ("by-hand sqlite3",)
    wires = ("chat",)
    db = None

    def load(self, variant=""):
        import pydantic_ai
        from pydantic_ai import messages, models, usage

        self.p, self.m, self.models, self.u = pydantic_ai, messages, models, usage

    def version(self):
        return self.p.__version__

    def build(self, script, tools=("add",)):
        import asyncio
        from contextlib import asynccontextmanager
        from datetime import datetime

        m, models, u = self.m, self.models, self.u

        class Streamed(models.StreamedResponse):
            async def _get_event_iterator(self):
                for _ in range(script.chunks):
                    for e in self._parts_manager.handle_text_delta(
                        vendor_part_id="c", content=scenarios.CHUNK
                    ):
                        yield e

            @property
            def model_name(self):
                return "fake"

            @property
            def provider_name(self):
                return "fake"

            @property
            def provider_url(self):
                return None

            @property
            def timestamp(self):
                return datetime.now(UTC)

        class Fake(models.Model):
            @property
            def model_name(self):
                return "fake"

            @property
            def system(self):
                return "fake"

            async def request(self, messages, model_settings, params):
                self.prepare_request(model_settings, params)
                if script.delay:
                    await asyncio.sleep(script.delay)
                n = script.calls(isinstance(messages[-1].parts[-1], m.UserPromptPart))
                if n:
                    parts = [
                        m.ToolCallPart(script.tool, script.args(), tool_call_id=script.new_id())
                        for _ in range(n)
                    ]
                else:
                    parts = [m.TextPart(scenarios.FINAL_TEXT)]
                return m.ModelResponse(parts=parts, usage=u.RequestUsage(), model_name="fake")

            @asynccontextmanager
            async def request_stream(self, messages, model_settings, params, run_context=None):
                self.prepare_request(model_settings, params)
                yield Streamed(model_request_parameters=params)

        self.agent = self.p.Agent(
            self.client(script) if script.wire else Fake(),
            instructions="You add numbers.",
            tools=[self.p.Tool(scenarios.TOOLS[x]) for x in tools],
        )
        self.limits = u.UsageLimits(request_limit=None)

    def client(self, script):
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url=script.url + "/v1", api_key="none")
        return OpenAIChatModel("fake", provider=provider)

    async def open(self, sid):
        return sid if self.db else []

    async def turn(self, h):
        if self.db:
            hist = self.read(h)
            res = await self.agent.run(
                scenarios.USER_TEXT, message_history=hist, usage_limits=self.limits
            )
            self.db.execute(
                "INSERT INTO msgs(sid, data) VALUES(?, ?)", (h, res.new_messages_json())
            )
            self.db.commit()
            return res.output
        res = await self.agent.run(scenarios.USER_TEXT, message_history=h, usage_limits=self.limits)
        h.extend(res.new_messages())
        return res.output

    async def stream(self, h):
        n = 0
        async with self.agent.run_stream(scenarios.USER_TEXT, message_history=h) as res:
            async for _ in res.stream_text(delta=True, debounce_by=None):
                n += 1
        return n

    def connect(self, path):
        import sqlite3

        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE IF NOT EXISTS msgs(id INTEGER PRIMARY KEY, sid TEXT, data BLOB)")
        db.execute("CREATE INDEX IF NOT EXISTS i ON msgs(sid, id)")
        return db

    def read(self, sid, db=None):
        out = []
        for (d,) in (db or self.db).execute(
            "SELECT data FROM msgs WHERE sid=? ORDER BY id", (sid,)
        ):
            out.extend(self.m.ModelMessagesTypeAdapter.validate_json(d))
        return out

    async def persist_start(self, kind, path):
        self.db = self.connect(path)

    async def load_session(self, kind, path, sid):
        db = self.connect(path)
        n = len(self.read(sid, db))
        db.close()
        return n


if __name__ == "__main__":
    scenarios.main(A())
