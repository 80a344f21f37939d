"""Checkers on the page of proof: what pip installs, its adapter, and what was unfair to whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Checker:
    """Checker: what pip installs, its adapter, what it reads, and what was unfair to whom."""

    name: str
    package: str
    adapter: str
    note: str
    quotes: bool = False
    model: bool = False


SHARES_ANSWERS = {"budget gap"}
"""Checkers that find the answers of the model in the cache of another: no cost is theirs."""

CHECKERS = (
    Checker(
        "veridical",
        f"{HERE.parent}[quotes]",
        "veridical",
        "for it: its developers wrote the answers and the quantities, and tuned on dev. "
        "Against it: claims came without their answer, which `check` reads",
    ),
    Checker(
        "contexttrace",
        "contexttrace==1.3.0",
        "contexttrace",
        "against it: mode lexical, the default; its modes with a model need a hub. It reads whole "
        "traces, and got one claim at a time",
    ),
    Checker(
        "grounded-check",
        "grounded-check==0.1.2",
        "grounded_check",
        "against it: it promises to look up names, numbers, quotations and citations, no more",
    ),
    Checker(
        "hallucination-check",
        "hallucination-check==0.1.0",
        "hallucination_check",
        "against it: no embedding function was given, which it takes as an option",
    ),
    Checker(
        "groundrails",
        "groundrails==1.1.2",
        "groundrails",
        "against it: lexical part only; its models and WordNet are downloads that were not at hand",
    ),
    Checker(
        "veridical, quotes",
        f"{HERE.parent}[quotes]",
        "veridical_quotes",
        "for it: the labels follow a rule of normalisation close to that of its default mode",
        quotes=True,
    ),
    Checker(
        "veridical, quotes, mode fuzzy",
        f"{HERE.parent}[quotes]",
        "veridical_quotes_fuzzy",
        "against it: by the labels a slip of wording is no quote; this mode accepts slips on "
        "purpose. It is not the default, and is here so that both modes are seen",
        quotes=True,
    ),
    Checker(
        "gtrex",
        "gtrex==1.1.0",
        "gtrex",
        "none known: its default policy is as strict as the labels",
        quotes=True,
    ),
    Checker(
        "veridical, language model",
        f"{HERE.parent}[openai]",
        "veridical_model",
        "against it: the model is far below what veridical is meant for. For it: its prompt asks "
        "for a single word, which suits a small model",
        model=True,
    ),
    Checker(
        "budget gap",
        f"{HERE.parent}[openai]",
        "budget_gap",
        "strawberry's method: supported if p1 against p0 pays for a confidence of .95. No package "
        "of that name on PyPI is a checker, so p1 and p0 are veridical's, from the same model and "
        "the cache of the row above: its cost is no figure of its own",
        model=True,
    ),
    Checker(
        "uqlm",
        "uqlm==0.6.7 langchain-openai==1.7.4 pyarrow==21.0.0",
        "uqlm",
        "against it: P(True) is meant for a model's own answers to a question; here the claim is "
        "the answer, and the sources are the question. pip chooses a pyarrow that its numpy "
        "refuses, so pyarrow was pinned",
        model=True,
    ),
    Checker(
        "DeepEval",
        "deepeval==4.3.1",
        "deepeval",
        "against it: its prompts hold long examples and ask for lists, which so small a model "
        "hardly writes: a list without end is cut at 256 tokens, and its row is undetermined. For "
        "it: the server holds the replies to its schemas",
        model=True,
    ),
)
ABSENT = (
    (
        "touchstone",
        "version 2.0.3 on PyPI is a container for dependency injection; no checker has that name",
    ),
    ("LettuceDetect", "its model is on a hub, which was not within reach"),
    (
        "Ragas",
        "version 0.4.3, as pip installs it, fails at import: langchain-community lacks a module",
    ),
)
