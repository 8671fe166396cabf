"""Adapter for any package with ADK's module layout. OURS_PKG names the package root (default
ostinato); OURS_TYPES names the module holding Content and Part (default <package>.types, else
google.genai.types)."""

import importlib
import os

import scenarios


class Adk(scenarios.Adapter):
    persist_kinds = ("SqliteSessionService", "DatabaseSessionService")
    layers = None
    wires = ("chat", "gemini", "anthropic")

    def __init__(self, pkg):
        self.pkg = self.name = pkg
        self.svc = None
        self.run_config = None

    def mod(self, path):
        return importlib.import_module(self.pkg + "." + path if path else self.pkg)

    def load(self, variant=""):
        names = (
            [os.environ["OURS_TYPES"]]
            if "OURS_TYPES" in os.environ
            else (
                ["google.genai.types"]
                if self.pkg == "google.adk"
                else [self.pkg + ".types", "google.genai.types"]
            )
        )
        for n in names:
            try:
                self.t = importlib.import_module(n)
                break
            except ImportError:
                if n == names[-1]:
                    raise
        self.Agent = self.mod("agents").LlmAgent
        self.Runner = self.mod("runners").Runner
        self.BaseLlm = self.mod("models").BaseLlm
        self.LlmResponse = self.mod("models.llm_response").LlmResponse
        self.InMemory = self.mod("sessions").InMemorySessionService
        rc = self.mod("agents.run_config")
        self.sse = rc.RunConfig(streaming_mode=rc.StreamingMode.SSE)
        # google-adk without its a2a extra retries a failing import each invocation; this hides it
        if variant == "a2a_stub":
            import sys
            import types

            m = types.ModuleType(self.pkg + ".agents.remote_a2a_agent")
            m.RemoteA2aAgent = type("RemoteA2aAgent", (), {})
            sys.modules[m.__name__] = m
        if variant == "threads":
            self.run_config = rc.RunConfig(
                tool_thread_pool_config=rc.ToolThreadPoolConfig(max_workers=32)
            )
        if variant == "inline":  # plain functions within the event loop, as google-adk calls them
            self.run_config = rc.RunConfig(sync_tools="inline")
        if variant == "lightcopy":
            self.mod("features").override_feature_enabled(
                self.mod("features").FeatureName.IN_MEMORY_SESSION_SERVICE_LIGHT_COPY, True
            )

    def version(self):
        return getattr(self.mod("version"), "__version__", "?")

    def build(self, script, tools=("add",)):
        t, LlmResponse = self.t, self.LlmResponse
        Content, Part, Call = t.Content, t.Part, t.FunctionCall

        class Fake(self.BaseLlm):
            async def generate_content_async(self, llm_request, stream=False):
                if script.delay:
                    await sleep(script.delay)
                last = llm_request.contents[-1].parts[-1]
                n = script.calls(last.function_response is None)
                if n:
                    yield LlmResponse(
                        content=Content(
                            role="model",
                            parts=[
                                Part(
                                    function_call=Call(
                                        id=script.new_id(), name=script.tool, args=script.args()
                                    )
                                )
                                for _ in range(n)
                            ],
                        )
                    )
                elif script.chunks and stream:
                    for _ in range(script.chunks):
                        yield LlmResponse(
                            content=Content(role="model", parts=[Part(text=scenarios.CHUNK)]),
                            partial=True,
                        )
                    yield LlmResponse(
                        content=Content(
                            role="model", parts=[Part(text=scenarios.CHUNK * script.chunks)]
                        ),
                        partial=False,
                    )
                else:
                    yield LlmResponse(
                        content=Content(role="model", parts=[Part(text=scenarios.FINAL_TEXT)])
                    )

        import asyncio

        sleep = asyncio.sleep
        more, plugins = {}, None
        if self.layer != "none":
            from layers import Layers

            self.layers = self.layers or Layers(self.pkg, self.layer)
            more, plugins = self.layers.agent(), self.layers.plugins()
        agent = self.Agent(
            name="bench",
            model=self.client(script) if script.wire else Fake(model="fake"),
            instruction="You add numbers.",
            tools=[scenarios.TOOLS[x] for x in tools],
            **more,
        )
        self.svc = self.svc or self.InMemory()
        self.runner = self.Runner(
            agent=agent, app_name="bench", session_service=self.svc, plugins=plugins
        )

    def client(self, script):
        """The real model client of a format."""
        if script.wire == "chat":
            return self.mod("models.openai_llm").OpenAILlm(
                model="fake", base_url=script.url + "/v1", api_key="none"
            )
        if script.wire == "anthropic":
            return self.mod("models.anthropic_llm").AnthropicLlm(
                model="claude-sonnet-4-6", base_url=script.url, api_key="none"
            )
        os.environ.update(GOOGLE_API_KEY="none", GOOGLE_GEMINI_BASE_URL=script.url)
        return self.mod("models.google_llm").Gemini(model="gemini-2.5-flash")

    async def open(self, sid):
        await self.svc.create_session(app_name="bench", user_id="u", session_id=sid)
        return sid

    async def turn(self, sid):
        t = self.t
        text = None
        async for ev in self.runner.run_async(
            user_id="u",
            session_id=sid,
            run_config=self.run_config,
            new_message=t.Content(role="user", parts=[t.Part(text=scenarios.USER_TEXT)]),
        ):
            if ev.content and ev.content.parts and ev.content.parts[0].text:
                text = ev.content.parts[0].text
        return text

    async def stream(self, sid):
        t = self.t
        n = 0
        async for ev in self.runner.run_async(
            user_id="u",
            session_id=sid,
            run_config=self.sse,
            new_message=t.Content(role="user", parts=[t.Part(text=scenarios.USER_TEXT)]),
        ):
            if ev.partial:
                n += 1
        return n

    def make(self, kind, path):
        s = self.mod("sessions")
        if kind.startswith("SqliteSessionService"):
            more = {"synchronous": kind.split()[1]} if " " in kind else {}
            return self.mod("sessions.sqlite_session_service").SqliteSessionService(path, **more)
        return s.DatabaseSessionService("sqlite+aiosqlite:///" + path)

    async def persist_start(self, kind, path):
        self.svc = self.make(kind, path)

    async def open_stored(self, kind, path, sid):
        svc = self.make(kind, path)
        s = await svc.get_session(app_name="bench", user_id="u", session_id=sid)
        if hasattr(svc, "close"):
            await svc.close()
        return s

    async def load_session(self, kind, path, sid):
        return len((await self.open_stored(kind, path, sid)).events)

    async def close(self):
        if self.svc is not None and hasattr(self.svc, "close"):
            await self.svc.close()
        if self.layers is not None:
            self.layers.close()


class Ours(Adk):
    variants = ("",)
    persist_kinds = (
        "SqliteSessionService NORMAL",
        "SqliteSessionService FULL",
        "DatabaseSessionService",
    )


if __name__ == "__main__":
    scenarios.main(Ours(os.environ.get("OURS_PKG", "ostinato")))
