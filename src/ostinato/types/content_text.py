"""Text and audio of a content's parts. `utils.content_utils` is the face."""

from .content import Content, Part


def extract_text_from_content(content: Content | None) -> str:
    """Return the texts of a content joined, without thoughts; empty where there are none."""
    parts = (content.parts or []) if content else []
    return "".join(part.text for part in parts if part.text and not part.thought)


def is_audio_part(part: Part) -> bool:
    """True if the part holds audio, or names an audio file."""
    holder = part.inline_data or part.file_data
    return bool(holder and holder.mime_type and holder.mime_type.startswith("audio/"))


def filter_audio_parts(content: Content) -> Content | None:
    """Return the content without its audio parts, or None if nothing is left."""
    parts = [part for part in content.parts or [] if not is_audio_part(part)]
    return Content(role=content.role, parts=parts) if parts else None


def join_lines(content: Content | None) -> str:
    """Return the texts of a message, a line each; empty where it has none."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
