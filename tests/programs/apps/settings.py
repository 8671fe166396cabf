"""What an App holds and refuses: names, root agents, plugins, configs."""

from google.adk.agents import Agent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App, ResumabilityConfig
from google.adk.apps.app import EventsCompactionConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from showing import show

agent = Agent(name="desk")
app = App(
    name="my_app",
    root_agent=agent,
    plugins=[BasePlugin(name="p")],
    context_cache_config=ContextCacheConfig(cache_intervals=3, ttl_seconds=60, min_tokens=10),
    resumability_config=ResumabilityConfig(is_resumable=True),
    events_compaction_config=EventsCompactionConfig(compaction_interval=3, overlap_size=1),
)
show(
    name=app.name,
    root=app.root_agent is agent,
    plugins=[plugin.name for plugin in app.plugins],
    cache=app.context_cache_config.ttl_string,
    resumable=app.resumability_config.is_resumable,
    interval=app.events_compaction_config.compaction_interval,
)
for make in (
    lambda: App(name="not a name", root_agent=agent),
    lambda: App(name="user", root_agent=agent),
    lambda: App(name="x", root_agent=None),
    lambda: App(name="x", root_agent=agent, extra=1),
    lambda: App(name="../x", root_agent=agent),
    lambda: ContextCacheConfig(cache_intervals=0),
    lambda: ContextCacheConfig(ttl_seconds=0),
    lambda: ContextCacheConfig(min_tokens=-1),
    lambda: EventsCompactionConfig(compaction_interval=0, overlap_size=0),
    lambda: EventsCompactionConfig(compaction_interval=2, overlap_size=-1),
    lambda: EventsCompactionConfig(compaction_interval=2, overlap_size=0, token_threshold=5),
    lambda: InMemoryRunner(),
):
    try:
        print("made", type(make()).__name__)
    except ValueError:
        print("refused")
runner = InMemoryRunner(app=app)
show(app_name=runner.app_name, agent=runner.agent is agent)
show(plugins=len(runner.plugin_manager.plugins))
