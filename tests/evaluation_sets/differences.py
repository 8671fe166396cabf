"""Verdicts that differ from google-adk 2.3.0 on purpose: its faults, with the reason of each."""

from __future__ import annotations

_WORDS = "google-adk's words are those of a to z and 0 to 9, so equal texts of others score 0."
_STATE = "google-adk reads final_session_state and compares it with nothing."

# By file, case and metric. A metric with another verdict changes that of its case.
DIFFERENCES: dict[tuple[str, str, str], str] = {
    ("16_state.evalset.json", "right_state", "final_session_state_v1"): _STATE,
    ("16_state.evalset.json", "wrong_state", "final_session_state_v1"): _STATE,
    ("17_other_alphabets.evalset.json", "russian", "response_match_score"): _WORDS,
    ("17_other_alphabets.evalset.json", "japanese", "response_match_score"): _WORDS,
    ("18_signs.evalset.json", "emoji", "response_match_score"): _WORDS,
}

# By file and case: metrics have the same verdicts, and the case has another one.
CASE_DIFFERENCES: dict[tuple[str, str], str] = {
    ("21_unknown_metric.evalset.json", "weather"): "google-adk lets a case pass though one of its "
    "metrics has no verdict, here because there is no metric of this name.",
}
