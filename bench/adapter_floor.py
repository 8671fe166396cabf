"""The lower bound: a minimal asyncio loop over plain dicts, no framework. Each turn yields events
through an async generator, every event has an id and a time, tools run as tasks when a response has
more than one. S8: raw sqlite3, one row per event and one commit per event or per turn, on the event
loop's thread; history is read once, when the session is opened."""

import scenarios

# By format: where to post, the list of the conversation, and one message of each kind.
WIRES = {
    "chat": (
        "/v1/chat/completions",
        "/v1/chat/completions",
        "messages",
        {
            "user": '{"role": "user", "content": %s}',
            "text": '{"role": "assistant", "content": %s}',
            "call": '{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", '
            '"type": "function", "function": {"name": "add", "arguments": '
            '"{\\"a\\": 2, \\"b\\": 3}"}}]}',
            "result": '{"role": "tool", "tool_call_id": "call_1", "content": "{\\"result\\": 5}"}',
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        "contents",
        {
            "user": '{"role": "user", "parts": [{"text": %s}]}',
            "text": '{"role": "model", "parts": [{"text": %s}]}',
            "call": '{"role": "model", "parts": [{"functionCall": {"name": "add", '
            '"args": {"a": 2, "b": 3}}}]}',
            "result": '{"role": "user", "parts": [{"functionResponse": {"name": "add", '
            '"response": {"result": 5}}}]}',
        },
    ),
    "anthropic": (
        "/v1/messages",
        "/v1/messages",
        "messages",
        {
            "user": '{"role": "user", "content": [{"type": "text", "text": %s}]}',
            "text": '{"role": "assistant", "content": [{"type": "text", "text": %s}]}',
            "call": '{"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", '
            '"name": "add", "input": {"a": 2, "b": 3}}]}',
            "result": '{"role": "user", "content": [{"type": "tool_result", '
            '"tool_use_id": "call_1", "content": "5"}]}',
        },
    ),
}


class A(scenarios.Adapter):
    name = "floor"
    wires = tuple(WIRES)
    streaming = False
    client = None
    persist_kinds = (
        "WAL NORMAL commit/event",
        "WAL FULL commit/event",
        "WAL NORMAL commit/turn",
        "WAL FULL commit/turn",
    )
    db = None

    def load(self, variant=""):
        import asyncio
        import inspect
        import uuid
        from time import time

        self.aio, self.iscoro, self.uuid4, self.time = (
            asyncio,
            inspect.iscoroutinefunction,
            uuid.uuid4,
            time,
        )

    def build(self, script, tools=("add",)):
        self.script = script
        self.tools = {x: (scenarios.TOOLS[x], self.iscoro(scenarios.TOOLS[x])) for x in tools}

    async def posted(self, contents):
        """The bound of the scenario `wire`: one post with httpx2, each line or the body read as
        JSON, and nothing else; messages are written from ready text."""
        import json

        if self.client is None:
            import httpx2

            self.client = httpx2.AsyncClient()
        whole, streamed, name, forms = WIRES[self.script.wire]
        said = []
        for content in contents:
            (part,) = content["parts"]
            kind = "user" if "text" in part and content["role"] == "user" else next(iter(part))
            form = forms[kind]
            said.append(form % json.dumps(part["text"]) if "%s" in form else form)
        more = '"stream": true, ' if self.streaming else ""
        body = '{"model": "m", %s"%s": [%s]}' % (more, name, ", ".join(said))
        url = self.script.url + (streamed if self.streaming else whole)
        if not self.streaming:
            answer = await self.client.post(url, content=body.encode())
            json.loads(answer.content)
            asks = "result" not in contents[-1]["parts"][-1]
            call = {"id": "call_1", "name": "add", "args": {"a": 2, "b": 3}}
            part = {"call": call} if asks else {"text": scenarios.FINAL_TEXT}
            yield {"role": "model", "parts": [part]}
            return
        async with self.client.stream("POST", url, content=body.encode()) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    json.loads(line[6:])
                    yield {"role": "model", "parts": [{"text": ""}], "partial": True}
        yield {"role": "model", "parts": [{"text": scenarios.FINAL_TEXT}]}

    async def model(self, system, contents, tools):
        s = self.script
        if s.wire:
            async for message in self.posted(contents):
                yield message
            return
        if s.delay:
            await self.aio.sleep(s.delay)
        n = s.calls("result" not in contents[-1]["parts"][-1])
        if n:
            yield {
                "role": "model",
                "parts": [
                    {"call": {"id": s.new_id(), "name": s.tool, "args": s.args()}} for _ in range(n)
                ],
            }
        elif s.chunks:
            for _ in range(s.chunks):
                yield {"role": "model", "parts": [{"text": scenarios.CHUNK}], "partial": True}
            yield {"role": "model", "parts": [{"text": scenarios.CHUNK * s.chunks}]}
        else:
            yield {"role": "model", "parts": [{"text": scenarios.FINAL_TEXT}]}

    async def call(self, c):
        fn, is_async = self.tools[c["name"]]
        if is_async:
            r = await fn(**c["args"])
        elif c["name"] == "block":
            r = await self.aio.get_running_loop().run_in_executor(
                self.pool(), lambda: fn(**c["args"])
            )
        else:
            r = fn(**c["args"])
        return {"result": {"id": c["id"], "name": c["name"], "value": r}}

    _pool = None

    def pool(self):
        if not self._pool:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(32)
        return self._pool

    def event(self, h, author, msg):
        ev = {"id": str(self.uuid4()), "time": self.time(), "author": author, **msg}
        if not msg.get("partial"):
            h["events"].append(ev)
            if self.db:
                self.db.execute(
                    "INSERT INTO ev VALUES(NULL,?,?,?)", (h["sid"], ev["id"], self.dumps(ev))
                )
                if self.per_event:
                    self.db.execute("COMMIT")
                    self.db.execute("BEGIN")
        return ev

    async def run(self, h, text):
        if self.db:
            self.db.execute("BEGIN")
        self.event(h, "user", {"role": "user", "parts": [{"text": text}]})
        while True:
            async for msg in self.model("You add numbers.", list(h["events"]), self.tools):
                ev = self.event(h, "bench", msg)
                yield ev
            calls = [p["call"] for p in ev["parts"] if "call" in p]
            if not calls:
                break
            parts = (
                [await self.call(calls[0])]
                if len(calls) == 1
                else await self.aio.gather(*map(self.call, calls))
            )
            yield self.event(h, "bench", {"role": "user", "parts": parts})
        if self.db:
            self.db.execute("COMMIT")

    async def open(self, sid):
        return {"sid": sid, "events": self.read(sid, self.db) if self.db else []}

    async def turn(self, h):
        async for ev in self.run(h, scenarios.USER_TEXT):
            pass
        return ev["parts"][0].get("text")

    async def stream(self, h):
        n = 0
        self.streaming = bool(self.script.wire)
        async for ev in self.run(h, scenarios.USER_TEXT):
            n += "partial" in ev
        return n

    def connect(self, kind, path):
        import json
        import sqlite3

        self.dumps, self.loads = json.dumps, json.loads
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=" + kind.split()[1])
        db.execute(
            "CREATE TABLE IF NOT EXISTS ev(seq INTEGER PRIMARY KEY, sid TEXT, id TEXT, data TEXT)"
        )
        db.execute("CREATE INDEX IF NOT EXISTS i ON ev(sid, seq)")
        self.per_event = kind.endswith("event")
        return db

    def read(self, sid, db):
        return [
            self.loads(d)
            for (d,) in db.execute("SELECT data FROM ev WHERE sid=? ORDER BY seq", (sid,))
        ]

    async def persist_start(self, kind, path):
        self.db = self.connect(kind, path)

    async def load_session(self, kind, path, sid):
        db = self.connect(kind, path)
        n = len(self.read(sid, db))
        db.close()
        return n

    async def close(self):
        if self.db:
            self.db.close()
            self.db = None


if __name__ == "__main__":
    scenarios.main(A())
