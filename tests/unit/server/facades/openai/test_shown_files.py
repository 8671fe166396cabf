"""Files that an agent answers with, and apps that cannot be loaded, over OpenAI's API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.server.conftest import Serve, Served

IMAGE = "![picture](data:image/png;base64,iVBORw==)"


@pytest.fixture
async def painter(serve: Serve, tmp_path: Path) -> AsyncIterator[Served]:
    """A server with an agent that answers with an image, and one that cannot be loaded."""
    for name, source in (
        (
            "good",
            "from ostinato import types\n"
            "from ostinato.agents import Agent\n"
            "from ostinato.testing import FunctionModel\n"
            "def paint(request):\n"
            "    blob = types.Blob(data=b'\\x89PNG', mime_type='image/png')\n"
            "    blob.display_name = '[picture]'\n"
            "    parts = [types.Part(text='Here:'), types.Part(inline_data=blob)]\n"
            "    return types.Content(role='model', parts=parts)\n"
            "root_agent = Agent(name='good', model=FunctionModel(paint))\n",
        ),
        ("broken", "raise RuntimeError('it is broken')\n"),
    ):
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        folder.joinpath("agent.py").write_text(source)
    async with serve(agents=tmp_path / "agents") as one:
        yield one


async def test_an_app_that_cannot_be_loaded_is_no_model(painter: Served) -> None:
    listed = (await painter.ask("GET", "/v1/models")).json()["data"]
    assert [one["id"] for one in listed] == ["good"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_image_is_a_link_in_a_completion(painter: Served, stream: bool) -> None:
    messages = [{"role": "user", "content": "paint"}]
    body = {"model": "good", "messages": messages, "stream": stream}
    answer = await painter.ask("POST", "/v1/chat/completions", body)
    if stream:
        assert IMAGE in answer.text
    else:
        assert answer.json()["choices"][0]["message"]["content"] == f"Here:\n\n{IMAGE}"


async def test_an_image_is_a_link_in_a_response(painter: Served) -> None:
    made = (await painter.ask("POST", "/v1/responses", {"model": "good", "input": "paint"})).json()
    texts = [one["content"][0]["text"] for one in made["output"]]
    assert texts == ["Here:", IMAGE]
    again = (await painter.ask("GET", f"/v1/responses/{made['id']}")).json()
    assert [one["content"][0]["text"] for one in again["output"]] == texts
    streamed = await painter.ask(
        "POST", "/v1/responses", {"model": "good", "input": "paint", "stream": True}
    )
    assert IMAGE in streamed.text
