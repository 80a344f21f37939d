"""A step for a LangChain chain: checks `answer` against `documents`, and adds the report.

    chain = rag_chain | grounding(verifier)
    result = chain.invoke({"question": "When did it open?"})
    result["report"].summary.outcome

What comes in is a mapping with `answer` and `documents` (or `context`, as retrieval chains call
them), and `question` (or `input`) if there is one. All of it goes on, with `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from langchain_core.runnables import Runnable

    from veridical import SyncVerifier


def grounding(verifier: SyncVerifier) -> Runnable[Mapping[str, Any], dict[str, Any]]:
    """Return the step; `verifier` is open while the chain runs, and may serve many at once."""
    from langchain_core.runnables import RunnableLambda

    async def acheck(state: Mapping[str, Any]) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(checked, verifier, state)

    def check(state: Mapping[str, Any]) -> dict[str, Any]:
        return checked(verifier, state)

    return RunnableLambda(check, afunc=acheck, name="veridical")


def checked(verifier: SyncVerifier, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with its report."""
    documents = state["documents"] if "documents" in state else state["context"]
    question = state.get("question", state.get("input"))
    answer = getattr(state["answer"], "content", state["answer"])  # a message, or its text
    return {**state, "report": verifier.check(answer, sources_of(documents), question)}


def sources_of(documents: Iterable[Any]) -> dict[str, str]:
    """Return the texts of documents by their id, else by their number, which `[1]` cites."""
    found: dict[str, str] = {}
    for number, document in enumerate(documents, start=1):
        name = getattr(document, "id", None) or str(number)
        found[name if name not in found else f"{name}#{number}"] = document.page_content
    return found
