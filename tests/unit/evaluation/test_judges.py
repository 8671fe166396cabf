"""Judges: majority, parallel requests, cached verdicts, rubrics and grounding."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.evaluation.app_details import AgentDetails, AppDetails
from ostinato.evaluation.eval_metrics import (
    BaseCriterion,
    EvalMetric,
    EvalStatus,
    JudgeModelOptions,
)
from ostinato.evaluation.eval_rubrics import Rubric, RubricContent
from ostinato.evaluation.final_response_match_v2 import parse_verdict
from ostinato.evaluation.judge import Judge
from ostinato.evaluation.llm_as_judge_utils import Label, get_text_from_content
from ostinato.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from ostinato.evaluation.rubric_based_evaluator import DefaultAutoRaterResponseParser
from tests.support.optionals import parts_of

from .builders import recorded, turn

VALID = '{"reasoning": "", "is_the_agent_response_valid": "valid"}'
INVALID = '{"reasoning": "", "is_the_agent_response_valid": "invalid"}'


def metric_of(name: str, samples: int = 3, threshold: float = 0.5, **fields: Any) -> EvalMetric:
    criterion = BaseCriterion.model_validate(
        {
            "threshold": threshold,
            "judge_model_options": {"judge_model": "judge-1", "num_samples": samples},
            **fields,
        }
    )
    return EvalMetric(metric_name=name, threshold=threshold, criterion=criterion)


def evaluator(name: str, samples: int = 3, **fields: Any) -> Any:
    return DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric_of(name, samples, **fields))


def in_turn(*answers: str) -> Any:
    left = list(answers)
    return lambda prompt: left.pop(0)


@pytest.mark.parametrize(
    ("answers", "score"),
    [
        ((VALID, INVALID, VALID), 1.0),
        ((INVALID, VALID, INVALID), 0.0),
        ((VALID, "no idea", INVALID), 0.0),  # a tie
        ((VALID, "no idea", "no idea"), 1.0),
        (("I refuse", "x", ""), None),
    ],
)
async def test_the_majority_decides(judge: Any, answers: Any, score: float | None) -> None:
    judge.answer = in_turn(*answers)
    result = await evaluator("final_response_match_v2").evaluate_invocations(
        [turn("q", "a")], [turn("q", "b")]
    )
    assert result.overall_score == score
    wanted = {1.0: EvalStatus.PASSED, 0.0: EvalStatus.FAILED, None: EvalStatus.NOT_EVALUATED}
    assert result.overall_eval_status is wanted[score]


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (VALID, Label.VALID),
        (INVALID, Label.INVALID),
        ('{"is_the_agent_response_valid": ["partially valid"]}', Label.INVALID),
        ('{"is_the_agent_response_valid": true}', Label.VALID),
        ('{"is_the_agent_response_invalid": true}', Label.INVALID),
        ('{"is_the_agent_response_invalid": false}', Label.VALID),
        ("```json\n" + VALID + "\n```", Label.VALID),
        ('{"is_the_agent_response_valid": "unsure"}', Label.NOT_FOUND),
        ("valid", Label.NOT_FOUND),
        (VALID + INVALID, Label.NOT_FOUND),  # such as a quotation from the rated answer
        (VALID + VALID, Label.VALID),
        ('{"is_the_agent_response_valid": "valid" or "invalid"}', Label.NOT_FOUND),  # the prompt's
        ('Form: {"is_the_agent_response_valid": "valid" or "invalid"} ' + INVALID, Label.INVALID),
    ],
)
def test_a_verdict_is_read(answer: str, label: Label) -> None:
    assert parse_verdict(answer) is label


@pytest.mark.parametrize(
    ("words", "score"),
    [
        ("yes", 1.0),
        ("**Yes**, no word is missing.", 1.0),
        ("No: it does not say yes.", 0.0),
        ("The answer is yes.", 1.0),
        ("yes or no", None),
        ("yes/no", None),
        ("unclear", None),
    ],
)
def test_the_verdict_on_a_rubric_is_its_first_word(words: str, score: float | None) -> None:
    answer = f"Property: It is short.\nRationale: r\nVerdict: {words}\n"
    assert [one.score for one in DefaultAutoRaterResponseParser().parse(answer)] == [score]


async def test_texts_of_the_turn_are_in_the_prompt(judge: Any) -> None:
    judge.answer = lambda prompt: VALID
    asked = evaluator("final_response_match_v2", samples=1)
    await asked.evaluate_invocations([turn("the question", "{braces}")], [turn("x", "the truth")])
    (prompt,) = judge.prompts
    assert "{braces}" in prompt and "the truth" in prompt


async def test_the_same_question_is_asked_once(judge: Any) -> None:
    judge.answer = lambda prompt: VALID
    for _ in range(2):
        asked = evaluator("final_response_match_v2", samples=2)
        await asked.evaluate_invocations([turn("q", "a")], [turn("q", "b")])
    assert len(judge.prompts) == 2


async def test_more_samples_ask_only_for_the_rest(judge: Any) -> None:
    judge.answer = lambda prompt: "x"
    for samples in (1, 3):
        answers = await Judge(JudgeModelOptions(judge_model="judge-1")).ask("q", samples=samples)
        assert len(answers) == samples
    assert len(judge.prompts) == 3


async def test_empty_answers_are_not_cached(judge: Any) -> None:
    judge.answer = in_turn("", "x")
    asked = Judge(JudgeModelOptions(judge_model="judge-1"))
    assert await asked.ask("q", samples=1) == [""]


def rubric(name: str, words: str, kind: str | None = None) -> Rubric:
    content = RubricContent(text_property=words)
    return Rubric(rubric_id=name, rubric_content=content, type=kind)


POLITE, SHORT = rubric("polite", "It is polite."), rubric("short", "It is short.")


def verdicts(**found: str) -> str:
    texts = {"polite": "It is polite.", "short": "it is SHORT."}
    return "\n\n".join(
        f"Property: {texts[name]}\nRationale: because\nVerdict: {verdict}"
        for name, verdict in found.items()
    )


async def test_each_rubric_has_its_majority(judge: Any) -> None:
    judge.answer = in_turn(
        verdicts(polite="yes", short="no"),
        verdicts(polite="no", short="no"),
        verdicts(polite="yes", short="yes"),
    )
    name = "rubric_based_final_response_quality_v1"
    asked = evaluator(name, rubrics=[POLITE.model_dump(), SHORT.model_dump()])
    result = await asked.evaluate_invocations([turn("q", "a")])
    assert result.overall_score == 0.5
    scores = {one.rubric_id: one.score for one in result.overall_rubric_scores}
    assert scores == {"polite": 1.0, "short": 0.0}


async def test_rubrics_of_a_case_count_by_their_type(judge: Any) -> None:
    judge.answer = lambda prompt: verdicts(polite="yes", short="no")
    actual = turn("q", "a")
    actual.rubrics = [
        rubric("polite", "It is polite.", "FINAL_RESPONSE_QUALITY"),
        rubric("short", "It is short.", "TOOL_USE_QUALITY"),
    ]
    for name, score in (
        ("rubric_based_final_response_quality_v1", 1.0),
        ("rubric_based_tool_use_quality_v1", 0.0),
    ):
        result = await evaluator(name, samples=1).evaluate_invocations([actual])
        assert result.overall_score == score


@pytest.mark.parametrize("given", [[], [POLITE.model_dump(), POLITE.model_dump()]])
async def test_rubrics_must_be_there_and_unlike(judge: Any, given: Any) -> None:
    asked = evaluator("rubric_based_tool_use_quality_v1", rubrics=given)
    with pytest.raises(InputValidationError, match=r"no rubrics|used twice"):
        await asked.evaluate_invocations([turn("q", "a")])


async def test_a_conversation_is_judged_once(judge: Any) -> None:
    judge.answer = lambda prompt: verdicts(polite="yes")
    name = "rubric_based_multi_turn_trajectory_quality_v1"
    asked = evaluator(name, samples=1, rubrics=[POLITE.model_dump()])
    result = await asked.evaluate_invocations([turn("first one", "a"), turn("second one", "b")])
    (prompt,) = judge.prompts
    assert "first one" in prompt and "second one" in prompt
    statuses = [one.eval_status for one in result.per_invocation_results]
    assert statuses == [EvalStatus.NOT_EVALUATED, EvalStatus.PASSED]


def test_answers_with_markdown_are_read() -> None:
    answer = "* **Property:** It is polite.\n* **Rationale:** r\n* **Verdict:** Yes.\nother words"
    (found,) = DefaultAutoRaterResponseParser().parse(answer)
    assert (found.property_text, found.score) == ("It is polite.", 1.0)
    assert DefaultAutoRaterResponseParser().parse("Verdict: yes") == []


async def test_sentences_are_checked_against_the_context(judge: Any) -> None:
    def answer(prompt: str) -> str:
        if prompt.startswith("Split"):
            return "<sentence>Rome is sunny.</sentence>\n<sentence>Bring a boat.</sentence>"
        labels = ("supported", "unsupported")
        return "\n".join(f"sentence: s\nlabel: {one}\nrationale: r" for one in labels)

    judge.answer = answer
    actual = turn("weather?", "Rome is sunny. Bring a boat.")
    details = AgentDetails(name="helper", instructions="Be exact.")
    actual.app_details = AppDetails(agent_details={"helper": details})
    result = await evaluator("hallucinations_v1").evaluate_invocations([actual])
    assert result.overall_score == 0.5
    assert "Be exact." in judge.prompts[1] and "weather?" in judge.prompts[1]


async def test_nonsense_about_sentences_is_no_verdict(judge: Any) -> None:
    judge.answer = lambda prompt: "I would rather not."
    result = await evaluator("hallucinations_v1").evaluate_invocations([turn("q", "a")])
    assert result.overall_eval_status is EvalStatus.NOT_EVALUATED


def test_a_judge_metric_needs_a_criterion() -> None:
    metric = EvalMetric(metric_name="final_response_match_v2", threshold=0.5)
    with pytest.raises(ValueError, match="needs a criterion"):
        DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)


@pytest.mark.parametrize("name", ["multi_turn_task_success_v1", "multi_turn_tool_use_quality_v1"])
def test_metrics_of_googles_sdk_say_what_to_use(name: str) -> None:
    metric = EvalMetric(metric_name=name, threshold=0.5)
    found = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)
    with pytest.raises(NotImplementedError, match="rubric_based_multi_turn"):
        found.evaluate_invocations([turn("q", "a")])


def test_intermediate_texts_can_be_part_of_the_answer() -> None:
    one = turn("q", "end")
    recorded(one).intermediate_responses = [("a", [parts_of(turn("before").user_content)[0]])]
    whole = get_text_from_content(one, include_intermediate_responses_in_final=True)
    assert whole == "before\nend"
    assert get_text_from_content(one) == "end"
