"""Adapter of DeepEval: faithfulness of a claim by the language model that a server offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources

QUESTION = "Which statement do the sources support?"
REPLY_TOKENS = 256


def load() -> Judge:
    """Return the judge; it flags what misses the metric's own threshold.

    A claim about which the model's reply is no JSON has neither score nor decision: lists of a
    small model often have no end.
    """
    import os

    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval.errors import DeepEvalError
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    class Constrained(LocalModel):
        """Its model for local servers, whose replies the server holds to the metric's schema."""

        def generate(self, prompt: str, schema: type | None = None, audio: None = None) -> object:
            form = {"name": "reply", "schema": schema.model_json_schema()} if schema else {}
            kind = {"type": "json_schema", "json_schema": form} if schema else {"type": "text"}
            self.generation_kwargs["response_format"] = kind
            return super().generate(prompt, schema, audio)

    model = Constrained(
        model="local",
        api_key="none",
        base_url=os.environ["MODEL_URL"],
        generation_kwargs={"max_tokens": REPLY_TOKENS},
    )
    metric = FaithfulnessMetric(model=model, async_mode=False, include_reason=False)

    def judge(claim: str, sources: Sources) -> Judgement:
        texts = [text for _, text in sources]
        case = LLMTestCase(input=QUESTION, actual_output=claim, retrieval_context=texts)
        try:
            score = metric.measure(case, _show_indicator=False)
        except DeepEvalError as error:
            print(type(error).__name__)
            return None, None
        return score, not metric.success

    return judge
