"""Words of a text, as memories are found by: whole words, and pairs of characters where a script
puts no spaces between words.

A trigram index would find `cat` in `concatenate` and miss the two-character words that most Chinese
and Japanese ones are, and SQLite's own `unicode61` takes a whole Chinese sentence for one word. So
words are taken here, the same for every service, and a store only compares them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Scripts without spaces between words, or (Korean) with endings that stick to them: Thai, Lao,
# Burmese, Khmer, kana, Han, Hangul.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LONGEST = 100  # characters of a word that are compared


def words(text: str) -> list[str]:
    """Return the words that a text is found by, in order and with repetitions.

    A word is a run of letters, digits and underscores, without regard to case and to the forms that
    Unicode takes for the same. A run in a dense script gives each character, and each pair.
    """
    return _take(text, single=True)


def asked_words(query: str) -> list[str]:
    """Return the words to look for, each once. A dense run of two or more characters gives only its
    pairs, which are more specific.
    """
    return list(dict.fromkeys(_take(query, single=False)))


@cache
def _compile_runs() -> re.Pattern[str]:
    # When first used, as it takes longer than the import of most modules.
    return re.compile(rf"([{_DENSE}]+)|[^\W{_DENSE}]+")


def _take(text: str, *, single: bool) -> list[str]:
    taken: list[str] = []
    for match in _compile_runs().finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match[0]
        if match[1] is None:
            taken.append(run[:_LONGEST])
            continue
        if single or len(run) == 1:
            taken.extend(run)
        taken.extend(run[at : at + 2] for at in range(len(run) - 1))
    return taken
