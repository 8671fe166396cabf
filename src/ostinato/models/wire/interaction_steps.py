"""The steps of an interaction, as Gemini's interactions API writes them, and our contents."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ... import types
from ..invalid_args import call_args

_MEDIA = {"image": "image", "audio": "audio", "video": "video"}
_RESULT_OK = "OUTCOME_OK"


def input_steps(contents: Sequence[types.Content]) -> list[dict[str, Any]]:
    """Return contents as the steps of an interaction's input."""
    return [step for content in contents for step in _steps(content)]


def _steps(content: types.Content) -> Iterator[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    kind = "model_output" if content.role == "model" else "user_input"
    for part in content.parts or ():
        step = _step(part)
        if step is None:
            words = convert_part_to_interaction_content(part)
            if words is not None:
                said.append(words)
            continue
        if said:
            yield {"type": kind, "content": said}
            said = []
        yield step
    if said:
        yield {"type": kind, "content": said}


def _step(part: types.Part) -> dict[str, Any] | None:
    """Return a part that is a step by itself; None for words and media."""
    if (call := part.function_call) is not None:
        found = {"id": call.id or "", "name": call.name or "", "arguments": call.args or {}}
        return {"type": "function_call", **found}
    if (answer := part.function_response) is not None:
        return {
            "type": "function_result",
            "call_id": answer.id or "",
            "name": answer.name or "",
            "result": json.dumps(answer.response or {}),
        }
    if part.thought:
        step: dict[str, Any] = {"type": "thought"}
        if part.text:
            step["summary"] = [{"type": "text", "text": part.text}]
        if part.thought_signature:
            step["signature"] = base64.b64encode(part.thought_signature).decode()
        return step
    return None


def convert_part_to_interaction_content(part: types.Part) -> dict[str, Any] | None:
    """Return text or media as a content of an interaction; None for any other part."""
    if part.text is not None:
        return {"type": "text", "text": part.text} if part.text else None
    if (blob := part.inline_data) is not None:
        data = base64.b64encode(blob.data or b"").decode()
        return {"type": _medium(blob.mime_type), "data": data, "mime_type": blob.mime_type}
    if (file := part.file_data) is not None:
        found = {"type": _medium(file.mime_type), "uri": file.file_uri}
        return {**found, "mime_type": file.mime_type} if file.mime_type else found
    if (code := part.executable_code) is not None:
        return {"type": "text", "text": f"```python\n{code.code or ''}\n```"}
    if (result := part.code_execution_result) is not None:
        return {"type": "text", "text": result.output or ""}
    return None


def _medium(mime_type: str | None) -> str:
    return _MEDIA.get((mime_type or "").partition("/")[0], "document")


def output_parts(steps: Iterable[Mapping[str, Any]]) -> list[types.Part]:
    """Return the steps of an interaction's output as parts; those of its own tools are left out."""
    return [part for step in steps for part in _parts(step)]


def _parts(step: Mapping[str, Any]) -> Iterator[types.Part]:
    match step.get("type"):
        case "model_output":
            for content in step.get("content") or ():
                part = content_part(content)
                if part is not None:
                    yield part
        case "thought":
            text = "".join(str(x.get("text") or "") for x in step.get("summary") or ())
            signature = step.get("signature")
            yield types.Part(
                text=text,
                thought=True,
                thought_signature=base64.b64decode(signature) if signature else None,
            )
        case "function_call":
            name, args = step["name"], step.get("arguments")
            if not name:
                raise ValueError("a call without the name of its function")
            call = types.FunctionCall(id=step.get("id"), name=name, args=_args(args))
            yield types.Part(function_call=call)
        case "code_execution_call":
            asked: dict[str, Any] = step.get("arguments") or {}
            found = types.ExecutableCode(code=asked.get("code"), language=types.Language.PYTHON)
            yield types.Part(executable_code=found)
        case "code_execution_result":
            outcome = types.Outcome.OUTCOME_FAILED if step.get("is_error") else _RESULT_OK
            result = step.get("result")
            text = result if isinstance(result, str) else json.dumps(result)
            found = types.CodeExecutionResult(outcome=types.Outcome(outcome), output=text)
            yield types.Part(code_execution_result=found)
        case _:
            return


def content_part(content: Mapping[str, Any]) -> types.Part | None:
    """Return a content of an interaction as a part, or None if it is empty or unknown."""
    if content.get("type") == "text":
        return types.Part(text=str(content["text"])) if content.get("text") else None
    mime_type = content.get("mime_type")
    if data := content.get("data"):
        blob = types.Blob(data=base64.b64decode(data), mime_type=mime_type)
        return types.Part(inline_data=blob)
    if uri := content.get("uri"):
        return types.Part(file_data=types.FileData(file_uri=uri, mime_type=mime_type))
    return None


def citations(steps: Iterable[Mapping[str, Any]]) -> types.CitationMetadata | None:
    """Return the pages that the text of an interaction cites."""
    found = [
        types.Citation(
            uri=note.get("url"),
            title=note.get("title"),
            start_index=note.get("start_index"),
            end_index=note.get("end_index"),
        )
        for step in steps
        for content in (step.get("content") or () if step.get("type") == "model_output" else ())
        for note in content.get("annotations") or ()
        if note.get("type") == "url_citation"
    ]
    return types.CitationMetadata(citations=found) if found else None


def _args(arguments: Any) -> dict[str, Any]:
    """Return a call's arguments, which a stream brings as text."""
    return call_args(arguments) if isinstance(arguments, str) else dict(arguments or {})


class StepPieces:
    """Sums the steps of an interaction that is streamed."""

    def __init__(self) -> None:
        self.steps: dict[int, dict[str, Any]] = {}

    def start(self, index: int, step: Mapping[str, Any]) -> None:
        """Begin a step; what it already holds counts."""
        begun = {key: value for key, value in step.items() if value is not None}
        if begun.get("type") == "function_call" and not begun.get("arguments"):
            begun["arguments"] = ""
        self.steps[index] = begun

    def add(self, index: int, delta: Mapping[str, Any]) -> types.Part | None:
        """Add a piece to a step; return what of it can be shown at once."""
        step = self.steps.setdefault(index, {"type": "model_output"})
        match delta.get("type"):
            case "text":
                contents = step.setdefault("content", [])
                if not contents or contents[-1].get("type") != "text":
                    contents.append({"type": "text", "text": ""})
                text = str(delta.get("text") or "")
                contents[-1]["text"] += text
                return types.Part(text=text) if text else None
            case "text_annotation" | "text_annotation_delta":
                contents = step.setdefault("content", [])
                if contents:
                    notes = contents[-1].setdefault("annotations", [])
                    notes.extend(delta.get("annotations") or ())
            case "arguments_delta":
                known = step.get("arguments")
                step["arguments"] = (known if isinstance(known, str) else "") + str(
                    delta.get("arguments") or ""
                )
            case "thought_summary":
                content: dict[str, Any] = delta.get("content") or {}
                step.setdefault("summary", []).append(content)
                text = str(content.get("text") or "")
                return types.Part(text=text, thought=True) if text else None
            case "thought_signature":
                step["signature"] = delta.get("signature")
            case "image" | "audio" | "document" | "video":
                step.setdefault("content", []).append(delta)
                return content_part(delta)
            case _:
                step.update({k: v for k, v in delta.items() if k != "type" and v is not None})
        return None
