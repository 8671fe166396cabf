"""ROUGE-1: the overlap of the words of two texts, with Porter's stemmer for English."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

# Scripts without spaces between words: each character counts as a word.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# A word is a run of letters, marks and digits; the sign of an emoji or a symbol counts alone.
_WORD = re.compile(rf"[{_DENSE}]|(?:(?![{_DENSE}_])\w)+")
_PLAIN = re.compile(r"[a-z0-9]+")
_STEMMED_LENGTH = 3  # shorter words stay whole, as in the rouge-score package


class RougeScore(NamedTuple):
    """A ROUGE score.

    Attributes:
      precision: share of the candidate's words that the reference has, too.
      recall: share of the reference's words that the candidate has, too.
    """

    precision: float
    recall: float

    @property
    def fmeasure(self) -> float:
        """Their harmonic mean, from 0 to 1."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def score_rouge_1(candidate: str, reference: str) -> RougeScore:
    """Return the overlap of words of two texts; identical texts score 1.

    Args:
      candidate: the text to judge.
      reference: the text to compare it with.
    """
    if candidate == reference and candidate.strip():
        return RougeScore(1.0, 1.0)
    found, wanted = split_words(candidate), split_words(reference)
    if not found or not wanted:
        return RougeScore(0.0, 0.0)
    shared = sum((Counter(found) & Counter(wanted)).values())
    return RougeScore(shared / len(found), shared / len(wanted))


def split_words(text: str) -> list[str]:
    """Return the stemmed words of a text, in lower case.

    Args:
      text: any text. Chinese, Japanese and other scripts without spaces are split by character.
    """
    folded = unicodedata.normalize("NFC", text).lower()
    words = _WORD.findall(folded)
    if not words:
        words = [one for one in folded if not one.isspace() and not _is_punctuation(one)]
    return [stem_word(word) for word in words]


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PCZ"


def stem_word(word: str) -> str:
    """Return the stem of an English word; words of other alphabets are returned unchanged.

    Args:
      word: in lower case.
    """
    if len(word) <= _STEMMED_LENGTH or not _PLAIN.fullmatch(word):
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for step in (_step_1a, _step_1b, _step_1c, _step_2, _step_3, _step_4, _step_5):
        word = step(word)
    return word


# Words that the rules below would treat wrongly, with the stems that other programs give them.
_IRREGULAR = {
    "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
    "cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed",
    "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

_STEP_2 = (
    ("ational", "ate"), ("fulli", "ful"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"),
    ("izer", "ize"), ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"),
    ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
    ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"),  # codespell:ignore ative
    ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement",
    "ment", "ent", "ion", "ou",  # codespell:ignore ment
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _is_consonant(word: str, at: int) -> bool:
    if word[at] in "aeiou":
        return False
    return not (word[at] == "y" and at > 0 and _is_consonant(word, at - 1))


def _measure(stem: str) -> int:
    """Return how often a vowel is followed by a consonant."""
    kinds = [_is_consonant(stem, at) for at in range(len(stem))]
    return sum(1 for before, after in pairwise(kinds) if after and not before)


def _has_vowel(stem: str) -> bool:
    return any(not _is_consonant(stem, at) for at in range(len(stem)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant, the last not w, x or y."""
    if len(word) == 2:
        return not _is_consonant(word, 0) and _is_consonant(word, 1)
    return (
        len(word) > 2
        and _is_consonant(word, len(word) - 3)
        and not _is_consonant(word, len(word) - 2)
        and _is_consonant(word, len(word) - 1)
        and word[-1] not in "wxy"
    )


def _step_1a(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    for suffix, put in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: -len(suffix)] + put
    return word


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    stem = next((word[: -len(s)] for s in ("ed", "ing") if word.endswith(s)), None)
    if stem is None or not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if _ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _step_1c(word: str) -> str:
    if word.endswith("y") and len(word) > 2 and _is_consonant(word, len(word) - 2):
        return f"{word[:-1]}i"
    return word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(f"{word[:-4]}al")
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_suffix(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replace_suffix(word, _STEP_3)


def _replace_suffix(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, put in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + put if _measure(stem) > 0 else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if _measure(stem) <= 1 or (suffix == "ion" and stem[-1:] not in ("s", "t")):
                return word
            return stem
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _ends_short(stem)):
            word = stem
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word
