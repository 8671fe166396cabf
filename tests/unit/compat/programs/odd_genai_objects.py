"""Objects of google.genai.types wherever a program may put them: hooks, tools, config, state."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool, ToolContext
from google.genai import types
from printing import content_text, show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


class Lookup(BaseTool):
    """Its declaration and what it adds to the request are objects of google.genai.types."""

    def _get_declaration(self):
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={"key": types.Schema(type=types.Type.STRING, enum=["a", "b"])},
            ),
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest):
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.contents.append(types.UserContent(f"(hint for {self.name})"))
        llm_request.config.safety_settings = [
            types.SafetySetting(
                category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
                threshold=types.HarmBlockThreshold.BLOCK_NONE,
            )
        ]

    async def run_async(self, *, args, tool_context):
        blob = types.Blob(data=b"bytes", mime_type="text/plain")
        await tool_context.save_artifact("found.txt", types.Part(inline_data=blob))
        return {"found": args["key"]}


class Closing(BasePlugin):
    async def after_model_callback(self, *, callback_context, llm_response):
        for part in llm_response.content.parts:
            if part.text:
                llm_response.content.parts.append(types.Part.from_text(text="(checked)"))
                return None

    async def on_event_callback(self, *, invocation_context, event):
        if event.content and event.content.parts[0].text == "Replace me.":
            event.content = types.Content(role="model", parts=[types.Part(text="Replaced.")])
            return event


def trim(callback_context, llm_request: LlmRequest):
    llm_request.contents = [c for c in llm_request.contents if c.parts[0].text != "drop"]
    llm_request.contents.append(types.Content(role="user", parts=[types.Part(text="(more)")]))
    llm_request.config.tools.append(types.Tool(google_search=types.GoogleSearch()))
    names = [
        declaration.name
        for tool in llm_request.config.tools
        for declaration in tool.function_declarations or []
    ]
    print("    declared:", names, llm_request.config.safety_settings[0].threshold.name)


def note(text: str) -> str:
    """Notes a text."""
    return text


async def main():
    agent = LlmAgent(
        name="mixed",
        model=Scripted(
            replies=[
                call("lookup_a", key="a"),
                call("note", text="x"),
                say("Said."),
                say("Replace me."),
            ]
        ),
        generate_content_config=types.GenerateContentConfig(
            temperature=0.1,
            http_options=types.HttpOptions(timeout=1000),
            thinking_config=types.ThinkingConfig(include_thoughts=True),
        ),
        tools=[Lookup(name="lookup_a", description="Looks."), note],
        before_model_callback=trim,
        static_instruction=types.Content(parts=[types.Part(text="Static.")], role="user"),
    )
    runner = InMemoryRunner(agent=agent, app_name="mixed", plugins=[Closing(name="closing")])
    await runner.session_service.create_session(app_name="mixed", user_id="u", session_id="s")
    for message in (
        types.Content(role="user", parts=[types.Part(text="look"), types.Part(text="closely")]),
        types.Content(parts=[types.Part(text="again")]),
    ):
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            show(event)
            assert event.model_dump_json() and event.model_copy(deep=True) == event
    session = await runner.session_service.get_session(
        app_name="mixed", user_id="u", session_id="s"
    )
    for event in session.events:
        print(event.author, content_text(event.content))
    found = await runner.artifact_service.load_artifact(
        app_name="mixed", user_id="u", session_id="s", filename="found.txt"
    )
    print(found.inline_data.data, found.inline_data.mime_type)
    own = InMemoryArtifactService()
    place = {"app_name": "mixed", "user_id": "u", "session_id": "s", "filename": "f"}
    print(await own.save_artifact(artifact=types.Part.from_text(text="text"), **place))
    reply = types.Part(function_response=session.events[2].content.parts[0].function_response)
    print(reply.function_response.response)


asyncio.run(main())
