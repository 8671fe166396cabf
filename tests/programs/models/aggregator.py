"""The aggregator of streamed answers: texts, thoughts and streamed arguments of a call."""

import asyncio

from google.adk.utils.streaming_utils import StreamingResponseAggregator
from google.genai import types
from showing import show


def answer(*parts, **fields):
    content = types.Content(role="model", parts=list(parts))
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content, **fields)])


async def run(name, *chunks):
    aggregator = StreamingResponseAggregator()
    for chunk in chunks:
        async for response in aggregator.process_response(chunk):
            show(name=name, partial=response.partial, content=response.content)
    last = aggregator.close()
    if last is not None:
        show(name=name, last=last.content, error=last.error_code)


async def main():
    done = types.FinishReason.STOP
    await run(
        "texts",
        answer(types.Part(text="He")),
        answer(types.Part(text="llo")),
        answer(finish_reason=done),
    )
    await run(
        "thought",
        answer(types.Part(text="hm", thought=True)),
        answer(types.Part(text="Yes.")),
        answer(finish_reason=done),
    )
    await run(
        "call",
        answer(types.Part(text="So:")),
        answer(types.Part.from_function_call(name="f", args={"a": 1}), finish_reason=done),
    )


asyncio.run(main())
