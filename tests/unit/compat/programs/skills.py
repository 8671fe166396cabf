"""Skills from a folder, from Python and from a registry, with the tools that they bring."""

import asyncio
import pathlib
import tempfile

from google.adk import skills
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.skills import Frontmatter, Resources, Script, Skill, SkillRegistry
from google.adk.tools.skill_toolset import SkillToolset
from google.genai import types
from printing import show

SKILL = """\
---
name: weather
description: Tells the weather & <more>.
license: MIT
metadata:
  adk_additional_tools: [look_outside]
---
# Weather

Look outside.
"""


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        print(sorted(llm_request.tools_dict))
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def look_outside(window: str) -> dict:
    """Looks out of a window."""
    return {"seen": f"rain at the {window}"}


class Shelf(SkillRegistry):
    async def get_skill(self, *, name: str) -> Skill:
        if name == "broken":
            raise RuntimeError("the shelf fell")
        return Skill(
            frontmatter=Frontmatter(name=name, description="Comes from afar."),
            instructions=f"You asked for {name}.",
        )

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        return [Frontmatter(name="far", description=f"Fits {query}.")]


def load_weather():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "weather"
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL)
        (folder / "references" / "clouds.md").write_text("Clouds are white.\n")
        print(skills.list_skills_in_dir(place))
        return skills.load_skill_from_dir(folder)


weather = load_weather()
print(weather.name, "|", weather.description, "|", weather.resources.list_references())
greeting = Skill(
    frontmatter=Frontmatter(name="greeting", description="Greets."),
    instructions="Say hello.",
    resources=Resources(scripts={"hello.sh": Script(src="echo hello")}),
)
print(skills.prompt.format_skills_as_xml([weather.frontmatter, greeting.frontmatter]))
for fields in ({"name": "Bad"}, {"name": "a--b"}, {"description": ""}, {"description": "x" * 1025}):
    try:
        Frontmatter(**{"name": "good", "description": "Good.", **fields})
    except ValueError as error:
        print("refused:", [one["loc"] for one in error.errors()])
try:
    SkillToolset([greeting, greeting])
except ValueError:
    print("two of one name are refused")

toolset = SkillToolset([weather, greeting], registry=Shelf(), additional_tools=[look_outside])
print([skill.name for skill in toolset.skills])
print([skill.name for skill in toolset.clone_with_updated_skills([greeting]).skills])

agent = Agent(
    name="host",
    model=Scripted(
        replies=[
            call("list_skills"),
            call("load_skill", skill_name="weather"),
            call("look_outside", window="east"),
            call("load_skill_resource", skill_name="weather", file_path="references/clouds.md"),
            call("load_skill_resource", skill_name="weather", file_path="references/clouds.md"),
            call("search_skills", query="anything"),
            call("load_skill", skill_name="far"),
            call("load_skill", skill_name="broken"),
            call("load_skill"),
            say("It rains."),
            call("load_skill", skill_name="greeting"),
            say("Hello."),
        ]
    ),
    tools=[toolset],
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="house")
    session = await runner.session_service.create_session(app_name="house", user_id="u")
    for text in ("How is it outside?", "And a greeting?"):
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)
    session = await runner.session_service.get_session(
        app_name="house", user_id="u", session_id=session.id
    )
    print(session.state)
    await runner.close()


asyncio.run(main())
