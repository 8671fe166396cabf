"""A collector of traces that takes what comes over OTLP's HTTP and drops it. Prints its address,
serves until its standard input ends, then prints how many requests with spans there were."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

received = []


class Collector(BaseHTTPRequestHandler):
    """Answers every batch with an empty success."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        received.append(len(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Nothing is logged."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("http://127.0.0.1:%d" % server.server_port, flush=True)
    sys.stdin.read()
    print(len(received))
