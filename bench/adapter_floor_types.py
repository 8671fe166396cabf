"""The lower bound with google-adk's own types: the floor's loop, but every event is a real Event,
every answer a real LlmResponse, every request a real LlmRequest. It shows what a compatible
framework pays for those types alone. Runs in google-adk's environment."""

import adapter_floor
import scenarios


class A(adapter_floor.A):
    name = "floor+types"

    def load(self, variant=""):
        super().load()
        from google.adk.events.event import Event
        from google.adk.models.llm_request import LlmRequest
        from google.adk.models.llm_response import LlmResponse
        from google.genai import types

        self.Event, self.Req, self.Resp, self.t = Event, LlmRequest, LlmResponse, types

    async def model(self, req):
        s, t, Resp = self.script, self.t, self.Resp
        if s.delay:
            await self.aio.sleep(s.delay)
        n = s.calls(req.contents[-1].parts[-1].function_response is None)
        if n:
            yield Resp(
                content=t.Content(
                    role="model",
                    parts=[
                        t.Part(
                            function_call=t.FunctionCall(id=s.new_id(), name=s.tool, args=s.args())
                        )
                        for _ in range(n)
                    ],
                )
            )
        elif s.chunks:
            for _ in range(s.chunks):
                yield Resp(
                    content=t.Content(role="model", parts=[t.Part(text=scenarios.CHUNK)]),
                    partial=True,
                )
            yield Resp(
                content=t.Content(role="model", parts=[t.Part(text=scenarios.CHUNK * s.chunks)]),
                partial=False,
            )
        else:
            yield Resp(content=t.Content(role="model", parts=[t.Part(text=scenarios.FINAL_TEXT)]))

    async def call(self, c):
        r = (await super().call({"id": c.id, "name": c.name, "args": c.args}))["result"]
        return self.t.Part(
            function_response=self.t.FunctionResponse(
                id=c.id, name=c.name, response={"result": r["value"]}
            )
        )

    def event(self, h, author, content, partial=None):
        ev = self.Event(author=author, invocation_id=h["inv"], content=content, partial=partial)
        if not partial:
            h["events"].append(ev)
            if self.db:
                self.db.execute(
                    "INSERT INTO ev VALUES(NULL,?,?,?)",
                    (h["sid"], ev.id, ev.model_dump_json(exclude_none=True)),
                )
                if self.per_event:
                    self.db.execute("COMMIT")
                    self.db.execute("BEGIN")
        return ev

    async def run(self, h, text):
        t = self.t
        if self.db:
            self.db.execute("BEGIN")
        h["inv"] = str(self.uuid4())
        self.event(h, "user", t.Content(role="user", parts=[t.Part(text=text)]))
        while True:
            req = self.Req(model="fake", contents=[])
            req.contents = [e.content for e in h["events"]]
            async for resp in self.model(req):
                ev = self.event(h, "bench", resp.content, resp.partial)
                yield ev
            calls = [p.function_call for p in ev.content.parts if p.function_call]
            if not calls:
                break
            parts = (
                [await self.call(calls[0])]
                if len(calls) == 1
                else await self.aio.gather(*map(self.call, calls))
            )
            yield self.event(h, "bench", t.Content(role="user", parts=parts))
        if self.db:
            self.db.execute("COMMIT")

    async def turn(self, h):
        async for ev in self.run(h, scenarios.USER_TEXT):
            pass
        return ev.content.parts[0].text

    async def stream(self, h):
        n = 0
        async for ev in self.run(h, scenarios.USER_TEXT):
            n += bool(ev.partial)
        return n

    def read(self, sid, db):
        return [
            self.Event.model_validate_json(d)
            for (d,) in db.execute("SELECT data FROM ev WHERE sid=? ORDER BY seq", (sid,))
        ]


if __name__ == "__main__":
    scenarios.main(A())
