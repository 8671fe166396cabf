"""The HTTP server: agents of a folder over REST, server-sent events and WebSocket.

`app.make_app` builds it, `serving.serve` runs it; `ostinato serve` and `ostinato web` call that.
"""
