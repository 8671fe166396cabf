"""The HTTP server: agents over REST, server-sent events and WebSocket.

`app.make_app` builds it, and `serving.serve` runs it for `ostinato serve` and `ostinato web`.
"""
