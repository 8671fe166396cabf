"""The evaluation's routes of google-adk's page: on `ostinato web` only, in both spellings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Serve, Served

METRICS = [
    {"metricName": "tool_trajectory_avg_score", "threshold": 1.0},
    {"metricName": "response_match_score", "threshold": 0.8},
]
APP = "/dev/apps/judged"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A folder with the app `judged`."""
    app = tmp_path / "agents" / "judged"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(
        "from ostinato.agents import Agent\n"
        "from ostinato.testing import FunctionModel\n"
        "def answer(request):\n"
        "    if request.contents[-1].parts[-1].text == 'fall':\n"
        "        raise ValueError('it fell')\n"
        "    return request.contents[-1].parts[-1].text\n"
        "root_agent = Agent(name='root', model=FunctionModel(answer))\n"
    )
    return app.parent


@pytest.fixture
async def web(serve: Serve, agents: Path) -> AsyncIterator[Served]:
    """The development server, with a session of `judged`."""
    async with serve(agents=agents, page=True) as served:
        await served.ask("POST", "/apps/judged/users/ann/sessions/s1")
        message = {"role": "user", "parts": [{"text": "hello"}]}
        body = {"appName": "judged", "userId": "ann", "sessionId": "s1", "newMessage": message}
        assert (await served.ask("POST", "/run", body)).is_success
        yield served


async def ask(web: Served, method: str, path: str, body: Any = None) -> Any:
    answer = await web.ask(method, f"{APP}/{path}", body)
    assert answer.is_success, answer.text
    return answer.json()


SPELLINGS = [
    {
        "sets": "eval-sets",
        "cases": "eval-cases",
        "add": "add-session",
        "run": "run",
        "results": "eval-results",
    },
    {
        "sets": "eval_sets",
        "cases": "evals",
        "add": "add_session",
        "run": "run_eval",
        "results": "eval_results",
    },
]


@pytest.mark.parametrize("names", SPELLINGS)
async def test_a_session_becomes_a_case_that_runs(web: Served, names: dict[str, str]) -> None:
    is_new = names["sets"] == "eval-sets"

    def unpack(answer: Any, key: str) -> Any:
        return answer[key] if is_new else answer

    sets = names["sets"]
    if is_new:
        body = {"evalSet": {"evalSetId": "mine", "evalCases": []}}
        assert (await ask(web, "POST", sets, body))["evalSetId"] == "mine"
    else:
        assert await ask(web, "POST", f"{sets}/mine") is None
    assert unpack(await ask(web, "GET", sets), "evalSetIds") == ["mine"]

    added = {"evalId": "one", "sessionId": "s1", "userId": "ann"}
    assert await ask(web, "POST", f"{sets}/mine/{names['add']}", added) is None
    cases = f"{sets}/mine/{names['cases']}"
    assert await ask(web, "GET", cases) == ["one"]
    case = await ask(web, "GET", f"{cases}/one")
    assert case["conversation"][0]["finalResponse"]["parts"] == [{"text": "hello"}]

    run = f"{sets}/mine/{names['run']}"
    body = {"evalCaseIds": ["one"], "evalMetrics": METRICS}
    results = unpack(await ask(web, "POST", run, body), "runEvalResults")
    assert [(one["evalId"], one["finalEvalStatus"]) for one in results] == [("one", 1)]
    stored = unpack(await ask(web, "GET", names["results"]), "evalResultIds")
    assert len(stored) == 1
    result = await ask(web, "GET", f"{names['results']}/{stored[0]}")
    assert result["evalCaseResults"][0]["sessionDetails"]["events"]

    case["conversation"][0]["finalResponse"]["parts"] = [{"text": "something else"}]
    assert await ask(web, "PUT", f"{cases}/one", case) is None
    body = {"evalIds": ["one"], "evalMetrics": METRICS}
    results = unpack(await ask(web, "POST", run, body), "runEvalResults")
    assert results[0]["finalEvalStatus"] == 2
    assert await ask(web, "DELETE", f"{cases}/one") is None
    assert await ask(web, "GET", cases) == []


async def test_a_single_turn_becomes_a_case_with_what_came_before(web: Served) -> None:
    message = {"role": "user", "parts": [{"text": "again"}]}
    body = {"appName": "judged", "userId": "ann", "sessionId": "s1", "newMessage": message}
    (last, *_) = (await web.ask("POST", "/run", body)).json()
    await ask(web, "POST", "eval_sets/mine")
    added = {"evalId": "one", "sessionId": "s1", "userId": "ann"}
    one_turn = {**added, "invocationId": last["invocationId"]}
    await ask(web, "POST", "eval-sets/mine/add-session", one_turn)
    case = await ask(web, "GET", "eval-sets/mine/eval-cases/one")
    (turn,) = case["conversation"]
    assert turn["userContent"]["parts"] == [{"text": "again"}]
    before = [event["content"]["parts"] for event in case["sessionInput"]["events"]]
    assert before == [[{"text": "hello"}], [{"text": "hello"}]]
    unknown = {**added, "evalId": "two", "invocationId": "none"}
    answer = await web.ask("POST", f"{APP}/eval-sets/mine/add-session", unknown)
    assert (answer.status_code, "is not an invocation" in answer.text) == (400, True)


async def test_a_run_without_metrics_uses_the_agents_config(web: Served, agents: Path) -> None:
    await ask(web, "POST", "eval_sets/mine")
    added = {"evalId": "one", "sessionId": "s1", "userId": "ann"}
    await ask(web, "POST", "eval-sets/mine/add-session", added)
    config = agents / "judged" / "test_config.json"

    async def names() -> list[str]:
        found = (await ask(web, "POST", "eval-sets/mine/run", {}))["runEvalResults"]
        return [one["metricName"] for one in found[0]["overallEvalMetricResults"]]

    assert await names() == ["tool_trajectory_avg_score", "response_match_score"]
    config.write_text(json.dumps({"criteria": {"token_usage_v1": 20000}}))
    assert await names() == ["token_usage_v1"]
    config.write_text(json.dumps({"criteria": {"nope": 1}}))
    answer = await web.ask("POST", f"{APP}/eval-sets/mine/run", {})
    assert (answer.status_code, "nope" in answer.text) == (400, True)


async def test_a_session_without_a_message_becomes_no_case(web: Served) -> None:
    await ask(web, "POST", "eval_sets/mine")
    await web.ask("POST", "/apps/judged/users/ann/sessions/empty")
    added = {"evalId": "one", "sessionId": "empty", "userId": "ann"}
    answer = await web.ask("POST", f"{APP}/eval-sets/mine/add-session", added)
    assert (answer.status_code, "no message" in answer.text) == (400, True)
    assert await ask(web, "GET", "eval-sets/mine/eval-cases") == []


async def test_a_case_that_cannot_run_says_why(web: Served) -> None:
    await ask(web, "POST", "eval_sets/mine")
    added = {"evalId": "one", "sessionId": "s1", "userId": "ann"}
    await ask(web, "POST", "eval-sets/mine/add-session", added)
    case = await ask(web, "GET", "eval-sets/mine/eval-cases/one")
    case["conversation"][0]["userContent"]["parts"] = [{"text": "fall"}]
    await ask(web, "PUT", "eval-sets/mine/eval-cases/one", case)
    found = (await ask(web, "POST", "eval-sets/mine/run", {}))["runEvalResults"][0]
    assert (found["finalEvalStatus"], "it fell" in found["errorMessage"]) == (2, True)


async def test_metrics_are_described(web: Served) -> None:
    info = await ask(web, "GET", "metrics-info")
    names = [one["metricName"] for one in info["metricsInfo"]]
    assert "tool_trajectory_avg_score" in names


async def test_serve_has_no_evaluation(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents) as served:
        for path in ("eval-sets", "eval_sets", "metrics-info", "eval-results"):
            assert (await served.ask("GET", f"{APP}/{path}")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/dev/apps/none/eval-sets", None, 404),
        ("GET", f"{APP}/eval-sets/none/eval-cases/x", None, 404),
        ("GET", f"{APP}/eval_sets/none/evals", None, 400),
        ("POST", f"{APP}/eval-sets/none/run", {"evalMetrics": []}, 400),
        ("POST", f"{APP}/eval-sets", {"evalSet": {"evalSetId": "../x", "evalCases": []}}, 400),
        ("POST", f"{APP}/eval-sets", {}, 422),
        ("POST", f"{APP}/eval_sets/mine", None, 400),
        ("POST", f"{APP}/eval-sets/mine/add-session", {"evalId": "a"}, 422),
        (
            "POST",
            f"{APP}/eval-sets/mine/add-session",
            {"evalId": "a", "userId": "ann", "sessionId": "none"},
            404,
        ),
        ("PUT", f"{APP}/eval-sets/mine/eval-cases/a", {"evalId": "b", "conversation": []}, 400),
        ("PUT", f"{APP}/eval-sets/mine/eval-cases/a", {"evalId": "a", "conversation": []}, 404),
        ("DELETE", f"{APP}/eval-sets/mine/eval-cases/a", None, 404),
        ("POST", f"{APP}/eval-sets/mine/run", {"evalCaseIds": ["a"], "evalMetrics": []}, 400),
        ("POST", f"{APP}/eval-sets/mine/run", {"evalMetrics": [{"metricName": "nope"}]}, 400),
        ("GET", f"{APP}/eval-results/none", None, 404),
        ("GET", f"{APP}/eval-results/..%2F..%2Fagent", None, 404),
    ],
)
async def test_bad_requests(web: Served, method: str, path: str, body: Any, status: int) -> None:
    await ask(web, "POST", "eval_sets/mine")
    answer = await web.ask(method, path, body)
    assert answer.status_code == status, answer.text
    assert "detail" in json.loads(answer.text)
    assert "/agents/" not in answer.text
