"""Nothing that a program sets is ignored: each field and each parameter of a public constructor has
a reader, or stands here with the reason."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.surface.readers import Sources

pytestmark = pytest.mark.long

SRC = Path(__file__).resolve().parents[2] / "src" / "ostinato"

# By reason, what nothing in the package reads.
EXCEPTIONS = {
    "It is for the code of nodes and tools to read.": [
        "agents.agent_run_result:Usage.llm_calls",
        "context.context:Context.interrupt_ids",
        "context.context:Context(attempt_count)",
        "context.context:Context(use_as_output)",
        "context.context:Context(resume_inputs)",
        "context.context:Context(parent_ctx)",
        "context.context:Context.resume_inputs",
        "context.context:Context.attempt_count",
        "context.context:Context.parent_ctx",
        "models.capabilities:ModelCapabilities.parallel_calls",
        "models.capabilities:ModelCapabilities.caching",
        "telemetry.node_tracing:TelemetryContext.otel_context",
    ],
    "It is part of a record that is handed on as a whole, as JSON.": [
        "auth.auth_credential:ServiceAccountCredential.*",
        "auth.auth_schemes:*",
        "evaluation.conversation_scenarios:ConversationGenerationConfig.*",
        "skills.models:Frontmatter.license",
        "skills.models:Frontmatter.compatibility",
        "evaluation.eval_case:EvalCase.creation_timestamp",
        "evaluation.eval_case:Invocation.creation_timestamp",
        "evaluation.eval_metrics:Interval.open_at_*",
        "evaluation.eval_result:EvalCaseResult.eval_set_file",
        "evaluation.eval_result:EvalCaseResult.session_details",
        "evaluation.eval_result:EvalSetResult.creation_timestamp",
        "evaluation.eval_set:EvalSet.creation_timestamp",
        "server.app_graph:GraphNode.is_live",
        "server.app_graph:Prices.as_of",
        "server.app_graph:Prices.currency",
        "server.approvals:CredentialRequest.*",
        "server.apps:*",
        "server.effects:EffectRecord.*",
        "sessions.store.effect_ledger:Effect.*",
        "server.health:Version.language_version",
        "server.runs:RunStatus.here",
        "server.session_branches:Branch.branches",
        "server.session_branches:StateAround.initial_known",
        "server.session_list:SessionPage.*",
        "server.session_list:SessionSummary.*",
        "server.source_place:SourcePlace.*",
        "server.traceback_recorder:TracedError.*",
        "server.tracebacks:TracebackList.*",
    ],
    "It is part of a document of a server, of which more is given than is needed.": [
        "auth.oauth2_discovery:*"
    ],
    "It has no effect in google-adk 2.3.0 either.": [
        "flows.llm_flows.audio_cache_manager:AudioCacheConfig(max_cache_duration_seconds)",
        "flows.llm_flows.audio_cache_manager:AudioCacheConfig(auto_flush_threshold)",
    ],
    "Both wires are understood, whichever is chosen.": [
        "a2a.remote_agent:RemoteA2aAgent(use_legacy)"
    ],
    "It is renamed as it comes in: its new name is read.": [
        "context.run_config:RunConfig.save_live_audio"
    ],
    "Setting it is refused or warned of, or it is not built yet.": [
        "auth.auth_credential:ServiceAccount.use_default_credential",
        "context.run_config:RunConfig.support_cfc",
        "evaluation.base_eval_service:InferenceConfig.live_timeout_seconds",
        "tools.vertex_ai_search_tool:VertexAiSearchTool(bypass_multi_tools_limit)",
    ],
}


@pytest.fixture(scope="module")
def settings() -> dict[str, bool]:
    """Every setting by its place, and whether something reads it."""
    return dict(Sources(SRC).settings())


def test_what_can_be_set_is_read(settings: dict[str, bool]) -> None:
    assert len(settings) > 1000
    excused = [place for places in EXCEPTIONS.values() for place in places]
    ignored = [
        place
        for place, is_read in settings.items()
        if not is_read and not any(fnmatchcase(place, one) for one in excused)
    ]
    assert not ignored, "let something read it, refuse it, or list it with its reason"


def test_each_exception_has_a_reason_and_names_what_is_there(settings: dict[str, bool]) -> None:
    assert all(reason.endswith(".") for reason in EXCEPTIONS)
    modules = {place.partition(":")[0] for place in settings}
    places = [place for places in EXCEPTIONS.values() for place in places]
    assert {place.partition(":")[0] for place in places} <= modules
    assert len(places) == len(set(places))


READ = """
from dataclasses import dataclass
from pydantic import BaseModel, field_validator

class Settings(BaseModel):
    read: int = 1
    by_name: int = 2
    matched: int = 3
    checked_only: int = 4
    ignored: int = 5

    @field_validator("checked_only")
    def check(cls, value):
        return value.checked_only

@dataclass
class Point:
    x: int
    y: int

class Tool:
    def __init__(self, used, kept, kept_unread, dropped, *, pair, other=None):
        self._kept, self.kept_unread = kept, kept_unread
        self._pair, self._other = pair, other
        print(used)

    def run(self):
        return self._kept, self._pair

class _Private:
    def __init__(self, dropped): ...

def use(settings, point):
    match settings:
        case Settings(matched=3):
            return settings.read, getattr(settings, "by_name"), point.x
"""


def test_the_search_sees_what_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(READ)
    found = dict(Sources(tmp_path).settings())
    unread = {place.removeprefix("sample:") for place, is_read in found.items() if not is_read}
    assert unread == {
        "Settings.checked_only",
        "Settings.ignored",
        "Point.y",
        "Tool(kept_unread)",
        "Tool(dropped)",
        "Tool(other)",
    }
    assert "sample:Tool(used)" in found and "sample:Tool(pair)" in found
