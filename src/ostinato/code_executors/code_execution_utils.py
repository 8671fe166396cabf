"""Input and output of code execution, and their conversion to and from contents."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from .. import types


@dataclass(frozen=True)
class File:
    """A file that code reads or has made.

    Attributes:
      name: relative path.
      content: the bytes, or their base64 text.
      mime_type: its MIME type.
    """

    name: str
    content: str | bytes
    mime_type: str = "text/plain"

    def read_bytes(self) -> bytes:
        """Return the content as bytes.

        Raises:
          ValueError: the content is text but not base64.
        """
        if isinstance(self.content, bytes):
            return self.content
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error as error:
            raise ValueError(
                f"File {self.name!r}: content is a str that is not base64. Give plain text as "
                "bytes (text.encode())."
            ) from error


@dataclass
class CodeExecutionInput:
    """One run of code.

    Attributes:
      code: Python source.
      input_files: files the code finds in its working directory.
      execution_id: names the state that a stateful executor keeps between runs.
    """

    code: str
    input_files: list[File] = field(default_factory=list[File])
    execution_id: str | None = None


@dataclass
class CodeExecutionResult:
    """How a run of code ended.

    Attributes:
      stdout: what it printed.
      stderr: why it failed; empty if it succeeded.
      output_files: files it made or changed.
    """

    stdout: str = ""
    stderr: str = ""
    output_files: list[File] = field(default_factory=list[File])


class CodeExecutionUtils:
    """Conversions between code, its results and the parts of a content (Spec 1 §16)."""

    @staticmethod
    def get_encoded_file_content(data: bytes) -> bytes:
        """Return `data` as base64; data that is base64 already is returned unchanged."""
        try:
            if base64.b64encode(base64.b64decode(data, validate=True)) == data:
                return data
        except binascii.Error:
            pass
        return base64.b64encode(data)

    @staticmethod
    def extract_code_and_truncate_content(
        content: types.Content, code_block_delimiters: list[tuple[str, str]]
    ) -> str | None:
        """Return the first code of a content, and cut the content behind it (FEATURES row 167).

        That is an executable_code part whose result does not follow, else the first delimited
        block of text. Texts are joined by newlines to find it. What stood before the block stays
        as text, the block becomes an executable_code part, everything after it goes: the model
        wrote that without having seen the result.

        Args:
          content: an answer of a model; its `parts` are replaced, the parts are not edited.
          code_block_delimiters: pairs of texts that open and close a block.

        Returns:
          The code, or None if the content holds none; then it is unchanged.
        """
        parts = content.parts or []
        for index, part in enumerate(parts):
            following = parts[index + 1] if index + 1 < len(parts) else None
            if part.executable_code is not None and (
                following is None or following.code_execution_result is None
            ):
                content.parts = parts[: index + 1]
                return part.executable_code.code
        texts = [part for part in parts if part.text]
        block = _find_block("\n".join(p.text or "" for p in texts), code_block_delimiters)
        if block is None:
            return None
        before, code = block
        content.parts = [
            *_cut_texts(texts, len(before)),
            CodeExecutionUtils.build_executable_code_part(code),
        ]
        return code

    @staticmethod
    def build_executable_code_part(code: str) -> types.Part:
        """Return a part that holds Python code."""
        return types.Part.from_executable_code(code=code, language=types.Language.PYTHON)

    @staticmethod
    def build_code_execution_result_part(
        code_execution_result: CodeExecutionResult,
    ) -> types.Part:
        """Return a part that tells how code ended: its errors, else its output and its files."""
        result = code_execution_result
        if result.stderr:
            return types.Part.from_code_execution_result(
                outcome=types.Outcome.OUTCOME_FAILED, output=result.stderr
            )
        sections: list[str] = []
        if result.stdout or not result.output_files:
            sections.append(f"Code execution result:\n{result.stdout}\n")
        if result.output_files:
            names = ",".join(f"`{file.name}`" for file in result.output_files)
            sections.append(f"Saved artifacts:\n{names}")
        return types.Part.from_code_execution_result(
            outcome=types.Outcome.OUTCOME_OK, output="\n\n".join(sections)
        )

    @staticmethod
    def convert_code_execution_parts(
        content: types.Content,
        code_block_delimiter: tuple[str, str],
        execution_result_delimiters: tuple[str, str],
    ) -> None:
        """Turn code at a content's end, or a lone result, into delimited text.

        For models that know neither kind of part. A result becomes a user's content: the model did
        not write it.

        Args:
          content: changed in place; its parts are replaced, not edited.
          code_block_delimiter: texts around code.
          execution_result_delimiters: texts around a result.
        """
        if not content.parts:
            return
        last = content.parts[-1]
        if last.executable_code is not None:
            text = _enclose_text(last.executable_code.code, code_block_delimiter)
            content.parts = [*content.parts[:-1], types.Part(text=text)]
        elif len(content.parts) == 1 and last.code_execution_result is not None:
            text = _enclose_text(last.code_execution_result.output, execution_result_delimiters)
            content.parts = [types.Part(text=text)]
            content.role = "user"


def _enclose_text(text: str | None, delimiters: tuple[str, str]) -> str:
    return delimiters[0] + text + delimiters[1] if text else ""


def _find_block(text: str, delimiters: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Return what stands before the first block that is not empty, and the code in it."""
    opening = "|".join(re.escape(start) for start, _ in delimiters)
    closing = {start: end for start, end in reversed(delimiters)}
    missing: set[str] = set()  # no later block can end where an earlier one found no end
    for found in re.finditer(opening, text) if opening else ():
        mark = closing[found[0]]
        if mark in missing:
            continue
        end = text.find(mark, found.end())
        if end < 0:
            missing.add(mark)
            continue
        code = text[found.end() : end]
        if code.strip():
            return text[: found.start()], code
    return None


def _cut_texts(texts: list[types.Part], length: int) -> list[types.Part]:
    """Return the first `length` characters of the newline-joined texts.

    The texts become one part, but leading thoughts stay separate parts, because the text after
    them is not a thought.
    """
    kept: list[types.Part] = []
    while len(texts) > 1 and texts[0].thought and not texts[1].thought:
        size = len(texts[0].text or "")
        if size > length:
            break
        kept.append(texts[0])
        texts = texts[1:]
        length -= size + 1
    rest = "\n".join(part.text or "" for part in texts)[: max(length, 0)]
    if rest:
        kept.append(texts[0].model_copy(update={"text": rest}))
    return kept
