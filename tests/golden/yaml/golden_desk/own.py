"""Classes of agents and tools of the folder's own."""

from typing import Any

from golden_package import BaseAgent, BaseAgentConfig, BaseTool, Event, content, types


class Greeter(BaseAgent):
    """Says one sentence; its fields come from the file as they are."""

    greeting: str = "Hello."
    times: int = 1

    async def _run_async_impl(self, ctx: Any) -> Any:
        for _ in range(self.times):
            yield Event(
                invocation_id=ctx.invocation_id,
                author=self.name,
                branch=ctx.branch,
                content=content("model", self.greeting),
            )


class PoliteConfig(BaseAgentConfig):
    """What a Polite agent's file may say."""

    model_config = {"extra": "forbid"}

    agent_class: str = "golden_desk.own.Polite"
    title: str


class Polite(Greeter):
    """Takes a title from its file and makes a greeting of it."""

    config_type = PoliteConfig

    @classmethod
    def _parse_config(cls, config: Any, config_abs_path: str, kwargs: dict[str, Any]) -> Any:
        return {**kwargs, "greeting": f"Good evening, {config.title}."}


class Stamp(BaseTool):
    """A tool that is made of args."""

    def __init__(self, *, name: str, text: str, times: int = 1) -> None:
        super().__init__(name=name, description="Stamp something.")
        self.text, self.times = text, times

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: Any, tool_context: Any) -> Any:
        return {"stamp": self.text * self.times}


class Seal(Stamp):
    """A tool that reads its args by itself."""

    @classmethod
    def from_config(cls, config: Any, config_abs_path: str) -> Any:
        return cls(name="seal", text=config.model_dump()["letters"])


doorman = Greeter(name="doorman", greeting="Good morning.")
number = 3


def make_greeter() -> Greeter:
    return Greeter(name="made")
