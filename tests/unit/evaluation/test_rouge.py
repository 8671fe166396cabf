"""ROUGE-1: the scores and stems of the rouge-score package, and words of all scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ostinato.evaluation.eval_case import Invocation
from ostinato.evaluation.eval_metrics import EvalMetric
from ostinato.evaluation.final_response_match_v1 import RougeEvaluator
from ostinato.evaluation.rouge import score_rouge_1, split_words, stem_word
from ostinato.types import Content, FunctionCall, FunctionResponse, Part

# Words with the stems that nltk's PorterStemmer gives them.
STEMS: dict[str, str] = json.loads(
    (Path(__file__).parent / "stems.json").read_text(encoding="utf-8")
)


def test_words_have_the_stems_of_other_programs() -> None:
    assert len(STEMS) > 400
    assert {word: stem_word(word) for word in STEMS} == STEMS


# Scores that the rouge-score package gives, with its stemmer.
SCORES = [
    ("The refund was not approved.", "The refund was approved.", 8 / 9),
    ("It is sunny in Rome.", "Rome is sunny today, 24 degrees.", 6 / 11),
    ("hello", "goodbye", 0.0),
    ("", "", 0.0),
    ("the the the", "the", 0.5),
    ("Total: 1,234.50 EUR", "Total: 1234.50 EUR", 2 / 3),
]


@pytest.mark.parametrize(("found", "wanted", "score"), SCORES)
def test_scores_are_those_of_the_usual_package(found: str, wanted: str, score: float) -> None:
    assert score_rouge_1(found, wanted).fmeasure == pytest.approx(score)


@pytest.mark.parametrize("same", ["Привет, мир", "東京は晴れです", "👍", "ครับ", "—", "naïve"])
def test_identical_texts_score_one(same: str) -> None:
    assert score_rouge_1(same, same).fmeasure == 1.0


def test_dense_scripts_are_split_by_character() -> None:
    assert split_words("東京 2024") == ["東", "京", "2024"]
    assert score_rouge_1("東京は晴れ", "東京は雨").fmeasure == pytest.approx(6 / 9)


def test_precision_and_recall_differ() -> None:
    score = score_rouge_1("one two three four", "one two")
    assert (score.precision, score.recall) == (0.5, 1.0)


QUESTION = Content(parts=[Part(function_response=FunctionResponse(name="a", response={"b": 1}))])
OTHER = Content(parts=[Part(function_response=FunctionResponse(name="a", response={"b": 2}))])
CALL = Content(parts=[Part(function_call=FunctionCall(name="a", args={"id": 1}))])


@pytest.mark.parametrize(
    ("found", "wanted", "score"),
    [
        (QUESTION, QUESTION, 1.0),
        (CALL, CALL, 1.0),
        (OTHER, QUESTION, 0.0),
        (CALL, QUESTION, 0.0),
        (QUESTION, None, 0.0),
        (None, None, 0.0),
    ],
)
def test_a_turn_without_a_text_is_judged_by_how_it_ends(
    found: Content | None, wanted: Content | None, score: float
) -> None:
    user = Content(parts=[Part(text="go")])
    turns = [Invocation(user_content=user, final_response=one) for one in (found, wanted)]
    metric = EvalMetric(metric_name="response_match_score", threshold=0.8)
    result = RougeEvaluator(metric).evaluate_invocations(turns[:1], turns[1:])
    assert result.overall_score == score
