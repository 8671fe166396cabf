"""An agent whose answers show everything that the page renders.

Try:
- Show me markdown
- Look up the long report
- Echo **this** back
"""

from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse

MARKDOWN = """\
## The ferries to Lisbon

There are **three** ferries, and *one* of them is `fast`. See [the timetable](https://example.com/t).

| Ferry | Departs | Price |
|---|:-:|--:|
| Tejo | 08:15 | 4.50 |
| Sado | 09:40 | 3.20 |
| Douro | 11:05 | 12.00 |

1. Buy a ticket.
2. Board:
   - with a bicycle
   - without one
- [x] checked
- [ ] not checked

> The last one sails at dusk.

```python
def price(ferry: str, people: int = 1) -> float:
    # Children travel free.
    return {"Tejo": 4.5, "Sado": 3.2}[ferry] * people
```

The energy is $E = mc^2$ with `a_b` and snake_case_words.
"""

FORMULAS = r"""
The roots of $ax^2 + bx + c = 0$ are

$$
x_{1,2} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
$$

and the mean of \(n\) values is \[ \bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i \]

$$
\begin{pmatrix} \cos\varphi & -\sin\varphi \\ \sin\varphi & \cos\varphi \end{pmatrix}
$$

A step by step one:

$$
\begin{aligned}
(a + b)^2 &= a^2 + 2ab + b^2 \\
&\ge 4ab \quad\text{if } a = b
\end{aligned}
$$

Refused: $\href{javascript:alert(1)}{x}$. No TeX: $\frac{1$. Money: $5 or $6.
"""


def report(about: str) -> dict:
    """Look up a report."""
    rows = [{"id": n, "name": f"row {n}", "tags": ["a", "b"], "ok": n % 2 == 0} for n in range(120)]
    return {"about": about, "text": "A long line. " * 80, "rows": rows, "none": None}


def fails(reason: str) -> dict:
    """Fail."""
    return {"error": f"It failed: {reason}"}


class Painter(BaseLlm):
    """Answers by what the message says; `echo` repeats the rest of it."""

    async def generate_content_async(self, llm_request: Any, stream=False):
        part = llm_request.contents[-1].parts[-1]
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1200, candidates_token_count=85, cached_content_token_count=600
        )
        text = part.text or ""
        calls = {
            "long report": ("report", {"about": "ferries"}),
            "fail": ("fails", {"reason": "rain"}),
        }
        for word, (name, args) in calls.items():
            if word in text:
                thought = types.Part(text=f"I need **{name}** for that.", thought=True)
                call = types.Part(function_call=types.FunctionCall(name=name, args=args))
                yield said([thought, call], usage)
                return
        if part.function_response is not None:
            answer = "That is the **report**."
        elif text.lower().startswith("echo "):
            answer = text[5:]
        else:
            answer = FORMULAS if "math" in text else MARKDOWN
        yield said([types.Part(text=answer)], usage)


def said(parts: list, usage) -> LlmResponse:
    """A response."""
    content = types.Content(role="model", parts=parts)
    return LlmResponse(content=content, usage_metadata=usage, model_version="painter-1")


root_agent = Agent(
    name="gallery",
    model=Painter(model="painter-1"),
    description="Shows everything that the page can render.",
    tools=[report, fails],
)
