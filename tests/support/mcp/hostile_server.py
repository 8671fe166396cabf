"""An MCP server on standard input and output that answers with given lines.

    python hostile_server.py FILE

The file holds JSON: by method, a list of raw lines that answer it, in which `ID` stands for the
request's id and `TOKEN` for its progress token; `{"repeat": [line, count]}` writes a line often,
`{"flood": text}` writes a text without a line break and without an end, and `{"exit": code}`
ends the process. Methods that it does not name are answered properly.
"""

import json
import sys

with open(sys.argv[1]) as file:
    SCRIPT = json.load(file)

PROPER = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "hostile", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
}


def write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "surrogatepass") + b"\n")
    sys.stdout.buffer.flush()


def answer(request: dict) -> None:
    method, number = request.get("method"), request.get("id")
    if method not in SCRIPT:
        if number is None:
            return
        reply = {"jsonrpc": "2.0", "id": number}
        if method in PROPER:
            reply["result"] = PROPER[method]
        else:
            reply["error"] = {"code": -32601, "message": "unknown"}
        write(json.dumps(reply))
        return
    token = ((request.get("params") or {}).get("_meta") or {}).get("progressToken")
    for step in SCRIPT[method]:
        if isinstance(step, dict) and "exit" in step:
            sys.exit(step["exit"])
        while isinstance(step, dict) and "flood" in step:
            sys.stdout.buffer.write(step["flood"].encode() * 10_000)
        line, count = step["repeat"] if isinstance(step, dict) else (step, 1)
        line = line.replace("TOKEN", json.dumps(token)).replace("ID", json.dumps(number))
        for _ in range(count):
            write(line)


for received in sys.stdin:
    answer(json.loads(received))
