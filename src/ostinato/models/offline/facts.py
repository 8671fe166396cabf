"""Facts: the names, dates, numbers and other things that stand in a text, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .words import is_everyday, is_stop, stem, stems

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATE = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?:,?\s+\d{{4}})?"
    rf"|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?"
    rf"|\b(?:next\s+|this\s+)?{_WEEKDAY}\b|\btoday\b|\btonight\b|\btomorrow\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b(?:\d{1,2}:\d\d(?:\s*[ap]m)?|\d{1,2}\s*[ap]m|noon|midnight)\b", re.I)
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_URL = re.compile(r"\bhttps?://[^\s<>\"']+[^\s<>\"'.,;:!?)]")
_PATH = re.compile(r"(?<![\w@/])[\w./~-]*\w\.[a-z]{2,4}\b(?!\.\w)")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`")
_CODE = re.compile(r"(?<![\w-])(?:[A-Za-z]{1,8}-?\d[\w-]*|\d+[A-Za-z]+\d\w*|#\w+)(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]*\d)")
_SUM = re.compile(r"[\d(][\d\s.()+*/^%-]*[+*/^-][\d\s.()+*/^%-]*[\d)]")
_CURRENCY = re.compile(r"\b[A-Z]{3}\b")
_PROPER = re.compile(
    r"\b[^\W\d_a-zß-ÿ][\w'\u2019]*(?:[ -](?:(?:de|la|le|of|am|del|upon|van|von)[ -])?"
    r"[^\W\d_a-zß-ÿ][\w'\u2019]*)*"
)
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_MONEY = re.compile(r"[$€£]\s*$")
_MONEY_AFTER = re.compile(r"^\s*(?:[$€£]|dollars?\b|euros?\b|pounds?\b|usd\b|eur\b|gbp\b)", re.I)
_LONGEST = 2000  # characters; some patterns take the square of it
_NO_NAMES = frozenset(
    "hello hi hey yes ok okay tell say ask make plan cheap morning evening afternoon week month"
    " year weekend next last cash euros dollars".split()
)


@dataclass(frozen=True, slots=True)
class Found:
    """A thing in a text: what it says, where, the word before it and the stems around it."""

    text: str
    start: int
    end: int
    before: str = ""
    near: frozenset[str] = frozenset()
    money: bool = False

    @property
    def span(self) -> tuple[int, int]:
        return (self.start, self.end)


class Facts:
    """The things that stand in one text, by kind, in the order they occur.

    Numbers within dates, times and codes are no numbers of their own. Only the start of a very long
    text is looked at.
    """

    def __init__(self, text: str) -> None:
        text = text[:_LONGEST]
        self.text = text
        self.quoted = [
            Found(next(filter(None, m.groups())), *m.span()) for m in _QUOTED.finditer(text)
        ]
        self.emails = self._all(_EMAIL)
        self.urls = self._all(_URL)
        self.dates = self._all(_DATE)
        self.times = self._all(_TIME)
        self.sums = self._all(_SUM)
        taken = [f.span for f in (*self.dates, *self.times, *self.emails, *self.urls)]
        self.codes = [f for f in self._all(_CODE) if not _overlaps(f.span, taken)]
        self.paths = [f for f in self._all(_PATH) if not _overlaps(f.span, taken)]
        self.numbers = self._numbers([*taken, *(f.span for f in self.codes)])
        self.currencies = [f for f in self._all(_CURRENCY) if not _overlaps(f.span, taken)]
        self.proper = self._proper([*taken, *(f.span for f in self.codes)])

    def _all(self, pattern: re.Pattern[str]) -> list[Found]:
        return [self._found(m.group(), m.start()) for m in pattern.finditer(self.text)]

    def _found(self, text: str, start: int) -> Found:
        before = re.search(r"([^\W\d_]+)\W*$", self.text[:start])
        end = start + len(text)
        left = re.split(r"[.;!?\n]", self.text[max(0, start - 40) : start])[-1]
        right = re.split(r"[.;!?\n]", self.text[end : end + 40])[0]
        near = frozenset(stems(left)[-3:] + stems(right)[:2])
        return Found(text, start, end, before.group(1).lower() if before else "", near)

    def _numbers(self, taken: list[tuple[int, int]]) -> list[Found]:
        found = [f for f in self._all(_NUMBER) if not _overlaps(f.span, taken)]
        for match in re.finditer(r"[a-z]+", self.text.lower()):
            if match.group() in _NUMBER_WORDS and match.group() != "one":
                word = self._found(match.group(), match.start())
                value = str(_NUMBER_WORDS[match.group()])
                found.append(Found(value, word.start, word.end, word.before, word.near))
        return sorted(map(self._as_money, found), key=lambda f: f.start)

    def _as_money(self, number: Found) -> Found:
        money = bool(
            _MONEY.search(self.text[: number.start]) or _MONEY_AFTER.match(self.text[number.end :])
        )
        text = number.text.replace(",", "")
        return Found(text, number.start, number.end, number.before, number.near, money)

    def _proper(self, taken: list[tuple[int, int]]) -> list[Found]:
        names: list[Found] = []
        for match in _PROPER.finditer(self.text):
            text, start = match.group(), match.start()
            while text and self._is_opening(text.split()[0], start):
                _, _, rest = text.partition(" ")
                start, text = start + len(text) - len(rest), rest
            if text and not _overlaps((start, start + len(text)), taken):
                names.append(self._found(text, start))
        return names

    def _is_opening(self, word: str, start: int) -> bool:
        """Whether a capital letter only opens the sentence, or the word can be no name."""
        low = re.split(r"['\u2019]", word.lower())[0]
        if is_stop(low) or low in _NO_NAMES or _NUMBER_WORDS.get(low) is not None:
            return True
        opens = not self.text[:start].strip() or self.text[:start].rstrip()[-1] in ".!?:;\n"
        if not opens:
            return False
        if is_everyday(low):
            return True
        if self.text[start + len(word) :].startswith(" to "):  # "Berlin to Lisbon, please"
            return False
        rest = self.text[start + len(word) :].replace("please", "")
        return rest != rest.title()

    def after(self, *prepositions: str) -> list[Found]:
        """Return names that follow one of the prepositions; lower-case words if none do."""
        names = [f for f in self.proper if f.before in prepositions]
        if names:
            return names
        pattern = (
            rf"\b(?:{'|'.join(prepositions)})\s+((?:(?:new|san|los|las|saint)\s)?[a-zß-ÿ]{{3,}})\b"
        )
        return [
            self._found(m[1], m.start(1))
            for m in re.finditer(pattern, self.text)
            if not is_stop(m[1])
            and not is_everyday(m[1])
            and m[1] not in _NO_NAMES
            and m[1] not in _NUMBER_WORDS and not _DATE.fullmatch(m[1])
        ]  # fmt: skip

    def phrase_after(self, pattern: str) -> str:
        """Return the words after the first match of `pattern`, up to the clause's end."""
        match = re.search(rf"\b(?:{pattern})\s+([^.,;:!?\n]+)", self.text, re.IGNORECASE)
        if match is None:
            return ""
        return re.sub(r"^(?:the|a|an|my|some|me)\s+", "", match[1].strip(), flags=re.IGNORECASE)

    def mentions(self, value: str) -> int:
        """Return where a value's words stand in the text; -1 where they do not."""
        wanted = re.sub(r"[_-]+", " ", value.lower()).strip()
        low = re.sub(r"[_-]", " ", self.text.lower())
        match = re.search(rf"\b{re.escape(wanted)}(?:s|es)?\b", low) if wanted else None
        if match:
            return match.start()
        inside = [stem(word) for word in wanted.split()]
        for match in re.finditer(r"[^\W\d_]+", low):
            if len(inside) == 1 and len(inside[0]) > 3 and stem(match.group()) == inside[0]:
                return match.start()
        return -1


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
