"""Harm categories, thresholds and ratings."""

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class HarmCategory(CaseInsensitiveEnum):
    """A kind of harm."""

    HARM_CATEGORY_UNSPECIFIED = "HARM_CATEGORY_UNSPECIFIED"
    HARM_CATEGORY_HARASSMENT = "HARM_CATEGORY_HARASSMENT"
    HARM_CATEGORY_HATE_SPEECH = "HARM_CATEGORY_HATE_SPEECH"
    HARM_CATEGORY_SEXUALLY_EXPLICIT = "HARM_CATEGORY_SEXUALLY_EXPLICIT"
    HARM_CATEGORY_DANGEROUS_CONTENT = "HARM_CATEGORY_DANGEROUS_CONTENT"
    HARM_CATEGORY_CIVIC_INTEGRITY = "HARM_CATEGORY_CIVIC_INTEGRITY"
    HARM_CATEGORY_JAILBREAK = "HARM_CATEGORY_JAILBREAK"
    HARM_CATEGORY_IMAGE_HATE = "HARM_CATEGORY_IMAGE_HATE"
    HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT = "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT"
    HARM_CATEGORY_IMAGE_HARASSMENT = "HARM_CATEGORY_IMAGE_HARASSMENT"
    HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT = "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT"


class HarmBlockMethod(CaseInsensitiveEnum):
    """What a harm threshold is compared with."""

    HARM_BLOCK_METHOD_UNSPECIFIED = "HARM_BLOCK_METHOD_UNSPECIFIED"
    SEVERITY = "SEVERITY"
    PROBABILITY = "PROBABILITY"


class HarmBlockThreshold(CaseInsensitiveEnum):
    """From which probability on harm is blocked."""

    HARM_BLOCK_THRESHOLD_UNSPECIFIED = "HARM_BLOCK_THRESHOLD_UNSPECIFIED"
    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_ONLY_HIGH = "BLOCK_ONLY_HIGH"
    BLOCK_NONE = "BLOCK_NONE"
    OFF = "OFF"


class HarmProbability(CaseInsensitiveEnum):
    """How probable a harm is."""

    HARM_PROBABILITY_UNSPECIFIED = "HARM_PROBABILITY_UNSPECIFIED"
    NEGLIGIBLE = "NEGLIGIBLE"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class HarmSeverity(CaseInsensitiveEnum):
    """How severe a harm is."""

    HARM_SEVERITY_UNSPECIFIED = "HARM_SEVERITY_UNSPECIFIED"
    HARM_SEVERITY_NEGLIGIBLE = "HARM_SEVERITY_NEGLIGIBLE"
    HARM_SEVERITY_LOW = "HARM_SEVERITY_LOW"
    HARM_SEVERITY_MEDIUM = "HARM_SEVERITY_MEDIUM"
    HARM_SEVERITY_HIGH = "HARM_SEVERITY_HIGH"


class SafetySetting(Record):
    """The threshold of one harm category."""

    category: HarmCategory | None = None
    method: HarmBlockMethod | None = None
    threshold: HarmBlockThreshold | None = None


class SafetyRating(Record):
    """How a text was rated in one harm category."""

    blocked: bool | None = None
    category: HarmCategory | None = None
    overwritten_threshold: HarmBlockThreshold | None = None
    probability: HarmProbability | None = None
    probability_score: float | None = None
    severity: HarmSeverity | None = None
    severity_score: float | None = None
