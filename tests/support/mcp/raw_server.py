"""An MCP server on standard input and output, in nothing but the standard library.

    python raw_server.py [behaviour=value ...]

It starts in a few hundredths of a second, and it misbehaves as it is told:

    effects=FILE    each call of `pay` appends a line with its idempotency key to the file
    die=after|before   end the process after (or before) the effect, without an answer
    kill=before|after|answered   kill the client before or after the effect, or after the answer
    pages=N         one tool per page of the list, N pages; `loop=yes` repeats the last cursor
    log=yes         lines of a log and invalid UTF-8 between the messages
    flood=N         N notifications and N lines of a log before the answer to a call
    reverse=N       answer calls in batches of N, the last one first
    silent=yes      leave unknown requests unanswered
    strict=yes|always   end at any request before the handshake, or at the handshake, too
    mute=yes        answer nothing at all
    pid=FILE        write the process id
    helper=FILE     start a process that ends only if it is ended, and write its process id
    asked=FILE      append each request's method
"""

import json
import os
import signal
import subprocess
import sys

OPTIONS = dict(word.split("=", 1) for word in sys.argv[1:])
TOOLS = ("echo", "fail", "hang", "image", "ok", "pay", "progress", "read")


def send(message: dict) -> None:
    if OPTIONS.get("log"):
        sys.stdout.buffer.write(b"INFO a line of a log\n\xff\xfe not UTF-8\n")
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def append(name: str, line: str) -> None:
    if name in OPTIONS:
        with open(OPTIONS[name], "a") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())


def kill_client(point: str) -> None:
    if OPTIONS.get("kill") == point:
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)


def describe(name: str) -> dict:
    hints = {"read": {"readOnlyHint": True}, "ok": {"idempotentHint": True}}
    tool = {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}}
    return tool | ({"annotations": hints[name]} if name in hints else {})


def list_tools(params: dict) -> dict:
    pages = int(OPTIONS.get("pages", 0))
    if not pages:
        return {"tools": [describe(name) for name in reversed(TOOLS)]}
    page = int(params.get("cursor") or 0)
    result: dict = {"tools": [describe(f"tool_{page:03}")]}
    if page + 1 < pages:
        result["nextCursor"] = str(page + 1)
    elif OPTIONS.get("loop"):
        result["nextCursor"] = str(page)
    return result


def text(value: str, **more: object) -> dict:
    return {"content": [{"type": "text", "text": value}], **more}


def call(params: dict) -> dict | None:
    name, args = params["name"], params.get("arguments") or {}
    meta = params.get("_meta") or {}
    if name == "pay":
        if OPTIONS.get("die") == "before":
            os._exit(1)
        kill_client("before")
        append("effects", str(meta.get("ostinato/idempotencyKey")))
        kill_client("after")
        if OPTIONS.get("die") == "after":
            os._exit(1)
        return text("paid")
    if name == "fail":
        return text("no such account", isError=True)
    if name == "hang":
        return None
    if name == "image":
        return {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}
    if name == "progress":
        for step in range(int(args.get("steps", 3))):
            note = {"progressToken": meta.get("progressToken"), "progress": step, "message": "x"}
            send({"method": "notifications/progress", "params": note})
            if args.get("gate"):
                open(args["gate"]).read()  # a pipe: waits for the test
        return text("done")
    return text(json.dumps({"args": args, "meta": meta}))


def answer(message: dict) -> dict | None:
    method, params = message["method"], message.get("params") or {}
    append("asked", method)
    strictness = OPTIONS.pop("strict", "")
    if strictness == "always" or (strictness and method != "initialize"):
        sys.exit(1)
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    if method == "tools/list":
        return list_tools(params)
    if method == "tools/call":
        return call(params)
    raise LookupError(method)


def note_processes() -> None:
    if "pid" in OPTIONS:
        append("pid", str(os.getpid()))
    if "helper" in OPTIONS:
        words = [sys.executable, "-c", "import signal; signal.alarm(60); signal.pause()"]
        null = subprocess.DEVNULL
        append("helper", str(subprocess.Popen(words, stdin=null, stdout=null, stderr=null).pid))


def main() -> None:
    note_processes()
    batch, waiting = int(OPTIONS.get("reverse", 0)), []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or OPTIONS.get("mute"):
            continue
        try:
            result = answer(message)
        except LookupError:
            if not OPTIONS.get("silent"):
                send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
            continue
        if result is None:
            continue
        for _ in range(int(OPTIONS.get("flood", 0)) if message["method"] == "tools/call" else 0):
            note = {"level": "info", "data": "x" * 200}
            send({"method": "notifications/message", "params": note})
            sys.stdout.buffer.write(b"a line of a log\n")
        reply = {"id": message["id"], "result": result}
        if batch and message["method"] == "tools/call":
            waiting.append(reply)
            if len(waiting) == batch:
                while waiting:
                    send(waiting.pop())
        else:
            send(reply)
            if message["method"] == "tools/call":
                kill_client("answered")


main()
