"""Agents cloned with updates, and the ways to build a wrong tree."""

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


base = LlmAgent(name="base", model=Scripted(replies=[say("Hi.")]), instruction="Be short.")
twin = base.clone(update={"name": "twin", "instruction": "Be long."})
show(name=twin.name, told=twin.instruction, same_model=twin.model is base.model)
team = SequentialAgent(name="team", sub_agents=[base, twin])
copy = team.clone()
show(
    names=[one.name for one in copy.sub_agents],
    new=[one is not old for one, old in zip(copy.sub_agents, team.sub_agents, strict=True)],
    parents=[one.parent_agent is copy for one in copy.sub_agents],
)
for make in (
    lambda: LlmAgent(name="two", sub_agents=[base]),
    lambda: LlmAgent(name="user"),
    lambda: LlmAgent(name="not a name"),
    lambda: LlmAgent(name="extra", no_such_field=1),
    lambda: base.clone(update={"parent_agent": team}),
    lambda: base.clone(update={"no_such_field": 1}),
):
    try:
        print("made", make().name)
    except ValueError as error:
        print("refused", isinstance(error, ValueError))
