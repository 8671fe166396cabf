"""A model that a function answers, for google-adk, as `ostinato.testing.FunctionModel`."""

from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class FunctionModel(BaseLlm):
    """Answers with the text or the part that a function returns."""

    answer: Any = None

    def __init__(self, answer):
        super().__init__(model="function")
        self.answer = answer

    async def generate_content_async(self, llm_request, stream=False):
        found = self.answer(llm_request)
        part = types.Part(text=found) if isinstance(found, str) else found
        yield LlmResponse(content=types.Content(role="model", parts=[part]))
