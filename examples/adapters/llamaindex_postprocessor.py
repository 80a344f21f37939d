"""A postprocessor for responses of LlamaIndex: checks them against the nodes that they rest on.

    response = index.as_query_engine().query("When did it open?")
    report = postprocess(response, verifier, question="When did it open?")

The report is in `response.metadata["veridical"]`, too, as JSON. With `CitationQueryEngine` the
answer cites nodes by number, `[1]`, and a number that does not exist is a phantom citation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical import SyncVerifier
    from veridical.pipeline.reports import Report


def postprocess(
    response: Any,  # noqa: ANN401 -- a Response, which this file does not import
    verifier: SyncVerifier,
    question: str | None = None,
) -> Report:
    """Check a response, and leave the report in its metadata."""
    report = verifier.check(str(response), sources_of(response.source_nodes), question)
    response.metadata = {**(response.metadata or {}), "veridical": report.to_dict()}
    return report


def sources_of(nodes: Iterable[Any]) -> dict[str, str]:
    """Return the texts of nodes by number: that is how answers cite them."""
    return {str(number): node.get_content() for number, node in enumerate(nodes, start=1)}
