"""The command `ostinato models`: which providers there are, what they lack, whether one answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from .. import types
from .._aclosing import Aclosing
from ..errors import ModelUnavailableError, OstinatoError, ProviderError
from ..hosting.dotenv import load_env
from ..models.base_llm import BaseLlm
from ..models.http.observers import ObservedAnswer, observe_answers
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..models.packaged_models import GROUP, PackagedModel, list_packaged_models
from ..models.provider_llm import ProviderLlm
from ..models.providers import PROVIDERS, Provider, provider_of
from ..models.registry import LLMRegistry, check_model
from ..models.retry_policy import RetryPolicy
from .cli_error import FAILED
from .screen import Screen
from .shorten import cut, one_line

_QUESTION = "Answer with the one word: pong"
_GOOD, _OPEN = ("✓ ", "green"), ("· ", "dim")
_LONGEST_ANSWER = 60
_NOT_IMPORTED = (
    "This command imports no agent, so a class that only a module registers is unknown to it: give "
    f"the class an entry point of the group {GROUP}."
)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    load_env(Path())
    if args.ping:
        return asyncio.run(_ping(args.ping, args.json))
    if args.model:
        return _one(args.model, args.json)
    packaged = list_packaged_models()
    if args.json:
        _write([*map(_as_json, PROVIDERS), *map(_packaged_as_json, packaged)])
        return 0
    screen = Screen()
    rows = [(one.name, one.title, not one.lack, state_of(one)) for one in PROVIDERS]
    rows += [(one.prefix, title_of(one), not one.problem, state_of_class(one)) for one in packaged]
    names = max(len(name) for name, *_ in rows) + 3
    titles = max(len(title) for _, title, *_ in rows) + 2
    for name, title, is_ready, state in rows:
        text = f"{name + ':':<{names}}{title:<{titles}}"
        screen.line(_GOOD if is_ready else _OPEN, text, (state, "" if is_ready else "dim"))
    screen.line()
    screen.text(
        "A model is named by its provider's prefix, as in openai:gpt-5. Gemini, Gemma, Claude and "
        "OpenAI's own names need none. ostinato models NAME tells what a model can do; "
        "ostinato models --ping NAME asks it.",
        style="dim",
    )
    screen.end_text()
    return 0


def state_of(provider: Provider) -> str:
    """Return what a provider lacks, or how it is reached; names of keys, and no values."""
    if not provider.is_installed:
        return provider.install_line
    if not provider.has_login:
        return f"set {' or '.join(provider.keys)}"
    is_own = not (provider.keys and provider.needs_key)
    if provider.key_name is not None:
        return f"{provider.key_name} is set{_at(provider) if is_own else ''}"
    return f"needs no key{_at(provider)}" if is_own else "logged in"


def title_of(packaged: PackagedModel) -> str:
    """Return the title of a model class of an installed package."""
    name = packaged.home.rpartition(":")[2]
    return f"{name} of {packaged.package}" if packaged.package else name


def state_of_class(packaged: PackagedModel) -> str:
    """Return what is wrong with a model class of an installed package, or where it is."""
    return packaged.problem or f"entry point {packaged.home}"


def _packaged_as_json(packaged: PackagedModel) -> dict[str, Any]:
    return {
        "name": packaged.prefix,
        "title": title_of(packaged),
        "installed": not packaged.problem,
        "install": None,
        "keys": [],
        "keyNeeded": False,
        "keySet": None,
        "available": not packaged.problem,
        "baseUrl": None,
        "entryPoint": packaged.home,
        "names": list(packaged.names),
        "problem": packaged.problem or None,
    }


def _at(provider: Provider) -> str:
    return f", at {provider.url}" if provider.url else ""


def _as_json(provider: Provider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "title": provider.title,
        "installed": provider.is_installed,
        "install": provider.install_line if provider.module else None,
        "keys": list(provider.keys),
        "keyNeeded": bool(provider.keys) and provider.needs_key,
        "keySet": provider.key_name,
        "available": not provider.lack,
        "baseUrl": provider.url,
    }


def _one(model: str, as_json: bool) -> int:
    """Tell who serves a model and what it can do."""
    llm = _make_llm(model)
    check_model(model)
    can = asdict(llm.capabilities)
    home = f"{type(llm).__module__}.{type(llm).__qualname__}"
    if as_json:
        _write({"model": model, "name": llm.model, "class": home, "capabilities": can})
        return 0
    screen = Screen()
    screen.line((model, "bold"), f"  {home}")
    for name, able in can.items():
        screen.line(_GOOD if able else _OPEN, (name.replace("_", " "), "" if able else "dim"))
    return 0


def _make_llm(model: str) -> BaseLlm:
    """Return a model object; the error for an unknown name tells what this command cannot know."""
    try:
        return LLMRegistry.new_llm(model)
    except ModelUnavailableError as error:
        if error.provider:
            raise
        text = f"{error} {_NOT_IMPORTED}"
        raise ModelUnavailableError(text, model=model, reason=error.reason) from None


async def _ping(model: str, as_json: bool) -> int:
    """Send a model one tiny request without retries, and show its answer, status and times."""
    found: dict[str, Any] = {"model": model}
    try:
        llm = _make_llm(model)
        if isinstance(llm, ProviderLlm):
            llm.retry_policy = RetryPolicy(attempts=1)
        known = provider_of(model)
        if known is not None and known[0].module:
            began = perf_counter()
            import_module(known[0].module)
            found["sdkImportSeconds"] = perf_counter() - began
        with observe_answers(partial(_note_answer, found)):
            answer = await _ask(llm, found)
    except OstinatoError as error:
        if not as_json:
            raise
        _write({**found, "error": _error_as_json(error)})
        return FAILED
    found |= {"version": answer.model_version, **_tokens(answer)}
    found["text"] = _text(answer)
    if answer.error_code:
        found["error"] = {"type": str(answer.error_code), "message": answer.error_message}
    if as_json:
        _write(found)
    else:
        _show(found)
    return FAILED if answer.error_code else 0


async def _ask(llm: BaseLlm, found: dict[str, Any]) -> LlmResponse:
    """Ask, and note the times."""
    content = types.UserContent(parts=[types.Part(text=_QUESTION)])
    request = LlmRequest(model=llm.model, contents=[content])
    began = perf_counter()
    last = LlmResponse(error_code="EMPTY_RESPONSE", error_message="The model answered nothing.")
    try:
        async with Aclosing(llm.generate_content_async(request, stream=True)) as responses:
            async for response in responses:
                last = response
                found.setdefault("firstByteSeconds", perf_counter() - began)
    finally:
        found["totalSeconds"] = perf_counter() - began
        await llm.aclose()
    return last


def _note_answer(found: dict[str, Any], answer: ObservedAnswer) -> None:
    found["status"] = answer.status
    if answer.request_id:
        found["requestId"] = answer.request_id


def _text(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content is not None else None) or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


def _tokens(response: LlmResponse) -> dict[str, int]:
    usage = response.usage_metadata
    if usage is None:
        return {}
    made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return {"tokensIn": usage.prompt_token_count or 0, "tokensOut": made}


def _error_as_json(error: OstinatoError) -> dict[str, Any]:
    found: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, ProviderError):
        found |= {"status": error.status, "retryAfter": error.retry_after}
        found["requestId"] = error.request_id or None
    return {name: value for name, value in found.items() if value is not None}


def _show(found: dict[str, Any]) -> None:
    screen = Screen()
    version = f" ({found['version']})" if found["version"] else ""
    error = found.get("error")
    if error is not None:
        said = f"{error['type']}: {error['message'] or 'no more is known'}"
        screen.line(("✗ ", "red"), (found["model"], "bold"), f"{version} ", (said, "red"))
    else:
        answer = cut(one_line(found["text"]), _LONGEST_ANSWER)
        screen.line(_GOOD, (found["model"], "bold"), f"{version} answered: {answer}")
    for title, key in {"HTTP status": "status", "request id": "requestId"}.items():
        if key in found:
            screen.line(f"{title:<14}{found[key]}", indent=2)
    rows = {"SDK import": "sdkImportSeconds", "first byte": "firstByteSeconds"}
    for title, key in {**rows, "total": "totalSeconds"}.items():
        if key in found:
            screen.line(f"{title:<14}{found[key] * 1000:,.0f} ms", indent=2)
    if "tokensIn" in found:
        tokens = f"{found['tokensIn']:,} in, {found['tokensOut']:,} out"
        screen.line(f"{'tokens':<14}{tokens}", indent=2)


def _write(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
