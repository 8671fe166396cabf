"""Usage, log probabilities and citations of responses of OpenAI's APIs, in either format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import types
from .reading import fields_of, items_of, number_of, text_of


def usage_of(usage: object) -> types.GenerateContentResponseUsageMetadata | None:
    """Return token counts, by either format's names; thoughts are not counted as output."""
    given = fields_of(usage)
    if not given:
        return None
    prompt = number_of(given.get("prompt_tokens", given.get("input_tokens")))
    output = number_of(given.get("completion_tokens", given.get("output_tokens")))
    read = fields_of(given.get("prompt_tokens_details") or given.get("input_tokens_details"))
    made = fields_of(given.get("completion_tokens_details") or given.get("output_tokens_details"))
    thoughts = number_of(made.get("reasoning_tokens"))
    total = number_of(given.get("total_tokens"))
    # Most servers count thoughts as output, some beside it: the total tells.
    if output is not None and thoughts and (total is None or total <= (prompt or 0) + output):
        output = max(output - thoughts, 0)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        cached_content_token_count=number_of(read.get("cached_tokens")),
        candidates_token_count=output,
        thoughts_token_count=thoughts,
        total_token_count=total,
    )


def logprobs_of(tokens: Iterable[Any]) -> tuple[float, types.LogprobsResult] | None:
    """Return the mean log probability and all of them, or None if there are none."""
    listed = [fields_of(one) for one in tokens]
    chosen = [_candidate(one) for one in listed]
    known = [one.log_probability for one in chosen if one.log_probability is not None]
    if not known:
        return None
    top = [
        types.LogprobsResultTopCandidates(
            candidates=[_candidate(fields_of(x)) for x in items_of(one.get("top_logprobs"))]
        )
        for one in listed
    ]
    total = sum(known)
    result = types.LogprobsResult(
        chosen_candidates=chosen, top_candidates=top, log_probability_sum=total
    )
    return total / len(known), result


def _candidate(token: dict[str, Any]) -> types.LogprobsResultCandidate:
    value = token.get("logprob")
    return types.LogprobsResultCandidate(
        token=text_of(token.get("token")),
        log_probability=float(value) if isinstance(value, (int, float)) else None,
    )


def citations_of(annotations: Iterable[Any]) -> types.CitationMetadata | None:
    """Return the cited sources of either format's annotations, or None if there are none."""
    found: list[types.Citation] = []
    for one in annotations:
        fields = fields_of(one)
        cited = fields_of(fields.get("url_citation")) or fields
        name = text_of(cited.get("url")) or text_of(cited.get("file_id"))
        if name:
            found.append(
                types.Citation(
                    uri=name,
                    title=text_of(cited.get("title")) or text_of(cited.get("filename")) or None,
                    start_index=number_of(cited.get("start_index")),
                    end_index=number_of(cited.get("end_index")),
                )
            )
    return types.CitationMetadata(citations=found) if found else None


def grounding_of(urls: Iterable[str], queries: Iterable[str]) -> types.GroundingMetadata | None:
    """Return the web pages and queries behind an answer, or None if there are none."""
    pages = [
        types.GroundingChunk(web=types.GroundingChunkWeb(uri=url)) for url in dict.fromkeys(urls)
    ]
    asked = list(dict.fromkeys(queries))
    if not pages and not asked:
        return None
    return types.GroundingMetadata(grounding_chunks=pages or None, web_search_queries=asked or None)
