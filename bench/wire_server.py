"""A model server that answers at once, for the scenario `wire`: OpenAI's chat completions,
Gemini's generateContent and Anthropic's messages, each whole and streamed. Prints its address and
serves until its standard input ends. Run by scenarios.py as a process of its own, so that its CPU
is not the client's.

  wire_server.py chunks=500"""

import asyncio
import json
import sys

CHUNK, FINAL_TEXT = "word ", "The answer is 5."
CALL = {"a": 2, "b": 3}


def chat_whole(asks, place=1):
    call = {
        "id": "call_%d" % place,  # the API gives each call an id of its own
        "type": "function",
        "function": {"name": "add", "arguments": json.dumps(CALL)},
    }
    message = {"role": "assistant", "content": None if asks else FINAL_TEXT}
    if asks:
        message["tool_calls"] = [call]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if asks else "stop"}
    return {**chat_frame("chat.completion"), "choices": [choice]}


def chat_frame(kind):
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return {"id": "c", "object": kind, "created": 0, "model": "fake", "usage": usage}


def chat_stream(chunks):
    frame = {**chat_frame("chat.completion.chunk"), "usage": None}
    delta = {"role": "assistant", "content": CHUNK}
    for _ in range(chunks):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {**chat_frame("chat.completion.chunk"), "choices": []}


def gemini(part, finish=None):
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}


def gemini_stream(chunks):
    for i in range(chunks):
        yield gemini({"text": CHUNK}, "STOP" if i == chunks - 1 else None)


def claude(block, reason):
    usage = {"input_tokens": 9, "output_tokens": 9}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "fake", "usage": usage}
    return {**head, "content": [block] if block else [], "stop_reason": reason}


def claude_stream(chunks):
    yield {"type": "message_start", "message": claude(None, None)}
    start = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    for _ in range(chunks):
        delta = {"type": "text_delta", "text": CHUNK}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def claude_answer(body):
    last = body["messages"][-1]["content"]
    if "tool_result" in json.dumps(last):
        return claude({"type": "text", "text": FINAL_TEXT}, "end_turn")
    # The API gives each call an id of its own; the history's length makes one.
    call_id = "call_%d" % len(body["messages"])
    return claude({"type": "tool_use", "id": call_id, "name": "add", "input": CALL}, "tool_use")


def answer(path, body, chunks):
    """The whole answer, or the pieces of a streamed one and what ends them."""
    if "generateContent" in path or "streamGenerateContent" in path:
        if "streamGenerateContent" in path:
            return None, list(gemini_stream(chunks)), ""
        last = body["contents"][-1]["parts"][-1]
        call = {"functionCall": {"name": "add", "args": CALL}}
        asks = "functionResponse" not in last
        return gemini(call if asks else {"text": FINAL_TEXT}, "STOP"), None, ""
    if path.endswith("/messages"):
        if body.get("stream"):
            return None, list(claude_stream(chunks)), ""
        return claude_answer(body), None, ""
    if body.get("stream"):
        return None, list(chat_stream(chunks)), "data: [DONE]\n\n"
    messages = body["messages"]
    return chat_whole(messages[-1]["role"] == "user", len(messages)), None, ""


async def serve(chunks):
    ready = {}

    async def connected(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                size = next(
                    int(line.split(":")[1])
                    for line in head.split("\r\n")
                    if line.lower().startswith("content-length:")
                )
                whole, pieces, end = answer(
                    path, json.loads(await reader.readexactly(size)), chunks
                )
                if whole is not None:
                    data = json.dumps(whole).encode()
                    kind = "application/json"
                else:  # made once: one body of many events
                    key = path
                    data = ready.get(key)
                    if data is None:
                        text = "".join(
                            "event: %s\ndata: %s\n\n" % (piece["type"], json.dumps(piece))
                            if "type" in piece
                            else "data: %s\n\n" % json.dumps(piece)
                            for piece in pieces
                        )
                        data = ready[key] = (text + end).encode()
                    kind = "text/event-stream"
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
                    % (kind.encode(), len(data))
                    + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 24)
    print("http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(dict(a.split("=", 1) for a in sys.argv[1:]).get("chunks", 500))))
