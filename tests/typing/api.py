"""Typical user code, checked by mypy and never run."""

from __future__ import annotations

from collections.abc import Mapping

import veridical
from veridical.core.measurements import Estimate, Unmeasured
from veridical.orchestrator import FailureChoice, Orchestrator, VerificationConfig, from_text_model
from veridical.quotes.extraction import EvidenceExtractor
from veridical.testing import (
    FakeBackend,
    FakeTextModel,
    check_backend,
    check_text_model,
    fake_estimate,
)
from veridical.wiring.build import build_text_model


def one_call() -> str:
    report: veridical.Report = veridical.check("An answer.", sources={"S1": "A text."})
    report.raise_for_flagged()
    return report.to_json() + report.to_html() + str(report)


def each_claim(report: veridical.Report) -> list[float]:
    found: list[float] = []
    for verdict in report.claims:
        match verdict.p1:
            case Estimate(supported=p):
                found.append(p)
            case Unmeasured(reason=reason):
                print(reason.value)  # noqa: T201 -- an example
    return found


def kept_open(answers: list[str], text: str) -> list[veridical.Report]:
    policy = veridical.Policy(support_threshold=0.8, windows="all")
    with veridical.SyncVerifier.from_settings() as verifier:
        return [verifier.check(answer, {"S1": text}, policy=policy) for answer in answers]


async def awaited(answer: str) -> veridical.Report:
    sources = [veridical.Source("S1", "A text."), veridical.Source("S2", "Another.")]
    async with veridical.Verifier.from_settings() as verifier:
        first = await verifier.check(answer, sources, "A question?")
        await verifier.check(answer, ["A text.", "Another."])
        await verifier.check(answer, [{"id": "S1", "text": "A text."}])
    await verifier.check_many([veridical.Case(answer, sources)])
    await veridical.acheck(answer, sources, backend="embedded")
    return first


async def own_backend() -> None:
    fake = FakeBackend(lambda query: fake_estimate(0.9 if query.context else 0.1))
    await check_backend(fake)
    veridical.Verifier(fake)


async def extracted(transcript: str) -> dict[str, list[str]]:
    settings = veridical.Settings.load()
    extractor = EvidenceExtractor(build_text_model(settings, "openai:m1"), settings, keys=["mood"])
    found = await extractor.extract(transcript, participant_id=301)
    await check_text_model(FakeTextModel(lambda request: request.user))
    return {} if isinstance(found, Unmeasured) else found.evidence


def bits() -> float:
    return veridical.budget_gap_bits(0.95, 0.5, 0.99) + veridical.required_bits(0.95, 0.5)


async def orchestrated(model: FakeTextModel, text: str) -> str:
    async def generate(prompt: str, /, *, context: Mapping[str, str]) -> str:
        return prompt + "".join(context)

    def plain(prompt: str, /, *, context: Mapping[str, str]) -> str:
        return prompt + "".join(context)

    verifier = veridical.Verifier.from_settings()
    flagging = Orchestrator(generate, verifier, trajectory="runs.jsonl")
    Orchestrator(plain, veridical.SyncVerifier.from_settings(), on_failure="retry")
    Orchestrator(from_text_model(model, max_tokens=200), verifier)
    Orchestrator(
        model,
        config=VerificationConfig(on_failure="ask", mode="full"),
        ask=lambda report: FailureChoice.FLAG if report.flagged else FailureChoice.ACCEPT,
    )
    answer = await flagging.process("When did it open?", {"S1": text}, verify=True)
    return answer.text if answer.failure is None else answer.original
