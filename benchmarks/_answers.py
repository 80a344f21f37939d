"""Ten questions over documents of the suite, with the answers of a local language model.

A schema makes the model write six to ten sentences, as a list; left alone, one this small stops
after the first. The tokens of the answer are counted on the JSON. The answers are kept
(`procedural/answers.jsonl`), with the tokens that the model's own tokenizer counts, so that a
repeated measurement has the same answers.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

import _prompted
from _suite import suite
from veridical.core.fencing import fenced
from veridical.core.measurements import Generated, TextRequest
from veridical.pipeline.inference.gguf_text import create

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.core.ports import TextModel

ANSWERS = Path(__file__).parent / "procedural" / "answers.jsonl"
MODEL = "qwen-1.5b"
MOST = 600
TIMEOUT_S = 3600.0
SYSTEM = "You answer questions from documents, thoroughly and from the documents alone."
HOW = "Answer with six to ten full sentences, each of which states one fact."
SENTENCES = {"type": "array", "items": {"type": "string"}, "minItems": 6, "maxItems": 10}
SCHEMA = {
    "type": "object",
    "properties": {"sentences": SENTENCES},
    "required": ["sentences"],
    "additionalProperties": False,
}
SHORT = {
    "contract-flat-lease": "What do the rules of this lease mean for a tenant with a cat?",
    "date-museum-hours": "How do we plan a visit of the museum on a Thursday or a Sunday?",
    "clin-psych-intake": "Summarise the findings and the plan of this first interview.",
    "table-river-gauges": "How did the water levels develop during the week?",
    "logs-payment-worker": "What happened to each of the payment jobs in this log?",
}
LONG = {
    "contracts": "Compare what these agreements say about ending them and about late payment.",
    "clinical notes": "Which of these patients were given new drugs, and which drugs?",
    "dates": "Which deadlines do these documents set, and for whom?",
    "tests": "Which of these test runs failed, and for what reason?",
    "negation": "What is allowed according to these texts, and what is not?",
}


@dataclass(frozen=True)
class Asked:
    """A question, and the documents that it is asked about."""

    name: str
    question: str
    sources: Mapping[str, str]

    @property
    def request(self) -> TextRequest:
        """The request for the answer."""
        documents = "\n\n".join(f"{name}:\n{fenced(text)}" for name, text in self.sources.items())
        user = f"{documents}\n\nQuestion: {self.question}\n{HOW}"
        return TextRequest(SYSTEM, user, schema=SCHEMA, max_tokens=MOST)


@dataclass(frozen=True)
class Answer:
    """Answer of the model, with the tokens of the request and of the answer."""

    name: str
    model: str
    text: str
    prompt_tokens: int
    output_tokens: int


def questions() -> Iterator[Asked]:
    """Yield five questions over the document of one case, and five over those of a whole kind."""
    items = suite()
    for case, question in SHORT.items():
        rows = (item.row for item in items if item.case == case)
        yield Asked(case, question, {s.id: s.text for row in rows for s in row.sources})
    for kind, question in LONG.items():
        found = [item for item in items if item.kind == kind]
        sources = {f"{i.case}/{s.id}": s.text for i in found for s in i.row.sources}
        yield Asked(kind, question, sources)


def answers(models: Path) -> dict[str, Answer]:
    """Return the answer to each question; those that are not kept yet are written now."""
    known = dict(_kept())
    missing = [asked for asked in questions() if asked.name not in known]
    if missing:
        path = _prompted.MODELS[MODEL].path(models)
        model = create(str(path), threads=1, context_tokens=8192, timeout_s=TIMEOUT_S)
        for asked in missing:
            known[asked.name] = answer = anyio.run(_answer, model, asked)
            with ANSWERS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
            print(f"{asked.name}: {answer.output_tokens} tokens", file=sys.stderr)
        model.close()
    return {asked.name: known[asked.name] for asked in questions()}


def _kept() -> Iterator[tuple[str, Answer]]:
    if ANSWERS.exists():
        for line in ANSWERS.read_text(encoding="utf-8").splitlines():
            answer = Answer(**json.loads(line))
            yield answer.name, answer


async def _answer(model: TextModel, asked: Asked) -> Answer:
    found = await model.generate(asked.request)
    match found:
        case Generated(prompt_tokens=int(read), output_tokens=int(written), cut_off=False):
            sentences: list[str] = json.loads(found.text)["sentences"]
            text = "\n".join(f"- {sentence}" for sentence in sentences)
            return Answer(asked.name, found.model, text, read, written)
    sys.exit(f"{asked.name}: the model gave no answer with tokens: {found}")


if __name__ == "__main__":
    answers(Path(sys.argv[1]))
