"""What a program may switch on beside a plain agent, one layer at a time or all: traces to a local
collector, six plugins, a callback at every hook, a schema of the state, a planner. The code is the
same for google-adk and for ours; the hooks do nothing, so that what is left is their being called.
"""

import importlib
import subprocess
import sys
from pathlib import Path

PLUGINS = 6
HOOKS = (
    "before_agent_callback",
    "after_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "on_model_error_callback",
    "before_tool_callback",
    "after_tool_callback",
    "on_tool_error_callback",
)
PLUGIN_HOOKS = (*HOOKS, "on_user_message_callback", "before_run_callback", "on_event_callback")


async def nothing(*args, **kwargs):
    """A hook that lets everything go on."""


async def nothing_of_self(self, *args, **kwargs):
    """The same as a method."""


class Layers:
    """The layers of one process, by name: a LAYERS name of bench.py."""

    def __init__(self, pkg, name):
        self.pkg, self.name = pkg, name
        self.collector = None
        if self.has("otel"):
            self.export()

    def has(self, layer):
        return self.name in (layer, "everything")

    def mod(self, path):
        return importlib.import_module(self.pkg + "." + path)

    def agent(self):
        """Further arguments of the agent."""
        more = {}
        if self.has("callbacks"):
            more.update(dict.fromkeys(HOOKS, nothing))
        if self.has("schema"):
            from pydantic import BaseModel, create_model

            more["state_schema"] = create_model("State", __base__=BaseModel, note=(str, ""))
        if self.has("planner"):
            more["planner"] = self.mod("planners").PlanReActPlanner()
        return more

    def plugins(self):
        """The plugins of the runner."""
        if not self.has("plugins"):
            return []
        base = self.mod("plugins.base_plugin").BasePlugin
        hooks = {name: nothing_of_self for name in PLUGIN_HOOKS}
        hooks["after_run_callback"] = nothing_of_self
        kind = type("Quiet", (base,), hooks)
        return [kind(name="quiet_%d" % number) for number in range(PLUGINS)]

    def export(self):
        """Send all spans to a collector, a process of its own, in batches."""
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self.collector = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("collector.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        url = self.collector.stdout.readline().strip()
        self.provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=url + "/v1/traces")
        self.provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(self.provider)

    def close(self):
        """End the collector; fails if no span has come to it."""
        if self.collector is None:
            return
        self.provider.shutdown()
        told, _ = self.collector.communicate("")
        self.collector = None
        assert int(told) > 0, "no spans came to the collector"
