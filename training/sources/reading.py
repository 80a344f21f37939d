"""Questions on texts, and statements on stories and studies.

- MCTest as inference (github.com/salesforce/DocNLI, BSD-3; MCTest by Microsoft Research): answers
  of children's stories turned into statements by the authors of DocNLI; two-way labels.
- Multiple-choice questions of four protocols (github.com/nyu-mll/crowdsourcing-protocol-comparison,
  CC BY 4.0; passages of the open American National Corpus): a question with each of its options as
  a statement (statements.py); only answers that three quarters of their readers confirm.
- QED (github.com/google-research-datasets/QED, CC BY-SA 3.0): questions that people typed, with the
  paragraph of Wikipedia that answers them; its development part.
- PubMedQA (github.com/pubmedqa/pubmedqa, MIT; abstracts of PubMed): an abstract without its
  conclusion, and the conclusion; that of a similar abstract is what it does not say.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from cutting import coverage
from programmatic.base import NOT_IN_CONTEXT, NOT_SUPPORTED, SUPPORTED, Pair

from sources.statements import PAST, statement
from veridical.pipeline.evidence.corpus import Ranking
from veridical.pipeline.evidence.tokens import words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from sources.git_files import Repository

MOST_WORDS = 290
"""Of a passage: about 384 word pieces with its claim."""


def mctest(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield the statements on stories."""
    del rng
    parts = ("mc160.train", "mc160.dev", "mc160.test", "mc500.dev", "mc500.test")
    for part in parts:
        for line in repository.text(f"Data/MCTest-NLI/{part}_in_entail.txt").splitlines():
            label, story, claim = line.split("\t")
            said = sentence(claim, story)
            if said is not None and len(story.split()) <= MOST_WORDS:
                held = SUPPORTED if label == "entailment" else NOT_SUPPORTED
                yield Pair(spaces(story), said, held, "mctest")


_JOINTS = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "in",
        "on",
        "at",
        "to",
        "the",
        "a",
        "because",
        "has",
        "had",
        "with",
        "for",
        "of",
        "and",
        "be",
        "by",
    ]
)
_BROKEN = re.compile(
    r"\b(?:did|does|do|\w+do|\w+did)\b|^(?:to|by|for)\b|"
    r"\b(?:into|to|for|with|from|of|at|about) (?:on|at|in|for|to|by|when|after)\b|"
    r"\b(?:in|of|for|with|to|at|on|from|by|because)\.?$|colou?r\b|"
    r"\b(?:is|was|are) (?:name|birthday)\b|has that|"
    r"\b(?:for|to|at|after|before|with|\w+ing|is|was) (?:was|were|is|are|saw|ate|went|took)\b|"
    r"\b(?:visited|saw|took|found|gave|ate) (?:first|at|with|on|in|to|for)\b",
    re.IGNORECASE,
)

_SENTENCE = re.compile(
    r"^(?:(?:the|a|an|his|her|their) )?(?:[\w'-]+ ){1,3}?(?:and (?:the |his |her )?[\w']+ )?"
    rf"(?:is|are|was|were|had|has|{'|'.join(sorted(PAST))}) "
    r"(?!(?:was|were|is|are|to and)\b).*$",
    re.IGNORECASE,
)


def sentence(claim: str, story: str) -> str | None:
    """Return a made statement as a sentence, or nothing if its answer stands in the wrong place.

    The answer keeps its capital: where that follows a verb or a noun, the words are not in order.
    """
    words_of = spaces(claim).rstrip(" .").split(" ")
    if len(words_of) < 4 or _BROKEN.search(claim) or not _SENTENCE.match(claim):
        return None
    if any(a.lower() == b.lower() for a, b in pairwise(words_of)):
        return None
    for place in range(1, len(words_of)):
        word = words_of[place]
        if (
            word[0].isupper()
            and word != "I"
            and not re.search(rf"(?<![.!?] )\b{re.escape(word)}\b", story)
        ):
            if words_of[place - 1].lower() not in _JOINTS:
                return None
            words_of[place] = word.lower()
    return first(" ".join(words_of)) + "."


def protocols(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield the options of multiple-choice questions as statements."""
    del rng
    stages = [
        f"intermediate_stages/{who}_stage{n}" for who in ("crowd", "expert") for n in (1, 2, 3)
    ]
    met: set[tuple[str, str]] = set()
    for name in ("baseline", "crowd", "justification", *stages):
        for row in repository.json(f"data/{name}.json"):
            key = row["document"], row["question"]
            if key in met or not agreed(row) or len(row["document"].split()) > MOST_WORDS:
                continue
            met.add(key)
            right = int(row["gold_answer"].removeprefix("option")) - 1
            for place, option in enumerate(row["options"]):
                claim = statement(row["question"], option)
                if claim is not None:
                    label = SUPPORTED if place == right else NOT_SUPPORTED
                    yield Pair(spaces(row["document"]), claim, label, "protocols")


def agreed(row: dict) -> bool:
    """Tell whether the readers of a question, where there are any, chose the writer's answer."""
    if not re.fullmatch(r"option[1-4]", row.get("gold_answer") or ""):
        return False
    chosen = [said["worker_answer"] for said in row.get("validation_data") or []]
    return not chosen or chosen.count(row["gold_answer"]) >= 0.75 * len(chosen)


def qed(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield answered questions, and the same with an answer of another question, if it is near."""
    rows = [json.loads(line) for line in repository.text("qed-dev.jsonlines").splitlines()]
    rows = [row for row in rows if row.get("annotation", {}).get("answer")]
    answers = [row["annotation"]["answer"][0]["paragraph_reference"]["string"] for row in rows]
    for row, answer in zip(rows, answers, strict=True):
        text, claim = tidy(row["paragraph_text"]), statement(row["question_text"], tidy(answer))
        if claim is None or len(text.split()) > MOST_WORDS:
            continue
        yield Pair(text, claim, SUPPORTED, "qed")
        alike = [a for a in answers if kind(a) == kind(answer) and tidy(a) not in text]
        other = rng.choice(alike or [""])
        wrong = statement(row["question_text"], tidy(other))
        if wrong is not None:
            yield Pair(text, wrong, NOT_SUPPORTED, "qed")


def kind(answer: str) -> tuple[bool, bool]:
    """Return whether an answer has digits, and whether it begins with a capital."""
    return any(c.isdigit() for c in answer), answer[:1].isupper()


def pubmed(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield abstracts with their own conclusion, and with that of a similar one."""
    del rng
    rows = list(repository.json("data/ori_pqal.json").values())
    texts = [spaces(" ".join(row["CONTEXTS"])) for row in rows]
    said = [conclusion(row["LONG_ANSWER"]) for row in rows]
    ranking = Ranking([words(text) for text in texts])
    for place, (text, claim) in enumerate(zip(texts, said, strict=True)):
        if not claim or len(text.split()) > MOST_WORDS - 30:
            continue
        if coverage(claim, text) >= 0.5:
            yield Pair(text, claim, SUPPORTED, "pubmedqa")
        scores = ranking.scores(words(claim))
        near = sorted(range(len(rows)), key=lambda i: -scores[i])[:20]
        other = next((i for i in near if i != place and coverage(claim, texts[i]) < 0.5), None)
        if other is not None and len(texts[other].split()) <= MOST_WORDS - 30:
            yield Pair(texts[other], claim, NOT_IN_CONTEXT, "pubmedqa")


def conclusion(text: str) -> str:
    """Return the sentences that say what was found, or nothing."""
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z])", spaces(text))
    wish = re.compile(
        r"\b(?:should|recommend|need|further|future|may|might|could|suggest)\w*\b", re.IGNORECASE
    )
    found = [part for part in parts if not wish.search(part) and len(part.split()) >= 5]
    return " ".join(found[:2])


def first(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def tidy(text: str) -> str:
    """Return a text that was split into tokens with its usual spacing."""
    text = re.sub(r" (['’]s|n't|[.,;:!?%)\]])(?=\s|$|[.,])", r"\1", text)
    text = (
        re.sub(r"([(\[]) ", r"\1", text)
        .replace(" -- ", "–")
        .replace("`` ", '"')
        .replace(" ''", '"')
    )
    return spaces(re.sub(r"(?<=\w) - (?=\w)", "-", text))


def spaces(text: str) -> str:
    """Return a text with single spaces."""
    return re.sub(r"\s+", " ", text).strip()
