"""The pipeline in the order data flows: who has read this file has read the product."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import anyio.to_thread

from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import (
    Binding,
    Citation,
    CitationRef,
    Claim,
    ClaimSet,
    Measurement,
    Query,
    Span,
    Unmeasured,
    UnmeasuredReason,
    ensure_text,
)
from veridical.core.verdicts import Status, Verdict
from veridical.errors import VeridicalError
from veridical.pipeline.claims import extract_claims, select, split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve
from veridical.pipeline.judgement import (
    Look,
    Reading,
    combine,
    judge,
    quote,
    second_look,
    summarise,
)
from veridical.pipeline.reports import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from veridical.core.ports import Backend
    from veridical.core.sources import Sources
    from veridical.core.types import Passage, Source
    from veridical.settings import Settings

CHUNK = 64
"""Queries that go to the backend at once; progress is told after each chunk."""

_NOT_ASKED = Unmeasured(UnmeasuredReason.DISABLED, "not an assertion")


class Progress(Protocol):
    """Is told how many of the model's answers are in."""

    def __call__(self, done: int, total: int, /) -> None:
        """Say that `done` of `total` queries are answered; `total` may grow."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to check; what `check` takes as arguments."""

    answer: str
    sources: Sources
    question: str | None = None


@dataclass(frozen=True, slots=True)
class _Bound:
    """A claim, and the evidence to read for it."""

    claim: Claim
    binding: Binding


CheckResult: TypeAlias = Report | VeridicalError


class Verifier:
    """Checks answers against sources, claim by claim.

    Use as an async context manager. One verifier may run many checks at once.
    """

    def __init__(self, backend: Backend, *, policy: Policy | None = None) -> None:
        self._backend = backend
        self._policy = policy or Policy()

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Verifier:
        """Return the verifier that the settings describe (default: file and environment)."""
        from veridical.composition import build_verifier
        from veridical.settings import Settings

        return build_verifier(settings or Settings.load())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    async def check(
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Return the verdict on each claim of `answer`.

        `InputError` if the answer or the sources cannot be checked, `BackendError` if the backend
        cannot start. What goes wrong later is in the report, as `Unmeasured` with its reason.
        """
        started = perf_counter()
        ensure_text(answer, "the answer")
        _ensure_question(question)
        texts = as_sources(sources)
        rules = (policy or self._policy).resolved(self._backend.info)
        claims = select(extract_claims(answer, known_ids=texts), rules)
        binder, bound = await anyio.to_thread.run_sync(_bind, claims, texts, rules)
        asker = _Asker(self._backend, question, progress)
        verdicts = await self._first_look(bound, texts, rules, asker)
        verdicts = await self._second_look(verdicts, binder, texts, rules, asker)
        latency_ms = (perf_counter() - started) * 1000
        return Report(
            answer=answer,
            sources=texts,
            claims=tuple(verdicts),
            summary=summarise(
                verdicts, asker.measured, sentences=claims.sentences, latency_ms=latency_ms
            ),
            policy=rules,
            backend=self._backend.info,
            question=question,
        )

    async def verify(
        self,
        claim: str,
        sources: Sources,
        question: str | None = None,
        *,
        cites: Sequence[str] = (),
        policy: Policy | None = None,
    ) -> Verdict:
        """Return the verdict on one claim, taken as it stands: not split, nothing parsed out of it.

        Only the sources it `cites` are its evidence; if it cites none, all are. An id that does not
        exist is a phantom citation. Errors are those of `check`.
        """
        ensure_text(claim, "the claim")
        _ensure_question(question)
        texts = as_sources(sources)
        rules = (policy or self._policy).resolved(self._backend.info)
        whole = Span(0, len(claim))
        refs = tuple(CitationRef(cited, whole) for cited in cites)
        one = ClaimSet((Claim("c1", claim, whole, 0, citations=refs),), 1)
        _, bound = await anyio.to_thread.run_sync(_bind, one, texts, rules)
        (verdict,) = await self._first_look(
            bound, texts, rules, _Asker(self._backend, question, None)
        )
        return verdict

    async def check_many(
        self, cases: Iterable[Case], *, policy: Policy | None = None
    ) -> list[CheckResult]:
        """Check each case; one that cannot be checked becomes its error, the others go on."""
        return [await self._attempt(case, policy) for case in cases]

    async def _attempt(self, case: Case, policy: Policy | None) -> CheckResult:
        try:
            return await self.check(case.answer, case.sources, case.question, policy=policy)
        except VeridicalError as error:
            return error

    async def _first_look(
        self,
        bound: Sequence[_Bound],
        sources: Mapping[str, Source],
        policy: Policy,
        asker: _Asker,
    ) -> list[Verdict]:
        """Read every claim with its evidence and with the evidence scrubbed."""
        contexts = [
            (item.claim.text, passages)
            for item in bound
            for passages in (item.binding.with_evidence, item.binding.without_evidence)
        ]
        readings = await asker.read(contexts, policy)
        verdicts = []
        for item, whole, scrubbed in zip(bound, readings[::2], readings[1::2], strict=True):
            verdict = judge(item.claim, item.binding, whole, scrubbed, policy)
            verdicts.append(quote(verdict, whole, sources))
        return verdicts

    async def _second_look(
        self,
        verdicts: Sequence[Verdict],
        binder: Binder,
        sources: Mapping[str, Source],
        policy: Policy,
        asker: _Asker,
    ) -> list[Verdict]:
        """Read the conjuncts and the softened form of the claims that came out unsupported."""
        again = {v.claim.id: v for v in verdicts if v.status is Status.UNSUPPORTED}
        contexts = [
            (fragment.text, binder.bind(fragment.text, verdict.citations).with_evidence)
            for verdict in again.values()
            for fragment in verdict.claim.fragments
        ]
        readings = await asker.read(contexts, policy)
        looks = iter(map(Look, (passages for _, passages in contexts), readings))
        for claim_id, verdict in again.items():
            found = [next(looks) for _ in verdict.claim.fragments]
            again[claim_id] = second_look(verdict, found, policy, sources)
        return [again.get(verdict.claim.id, verdict) for verdict in verdicts]


def _ensure_question(question: str | None) -> None:
    if question is not None:
        ensure_text(question, "the question")


def _bind(
    claims: ClaimSet, sources: Mapping[str, Source], policy: Policy
) -> tuple[Binder, list[_Bound]]:
    binder = Binder(Corpus(sources, split_sentences), windows=policy.windows)
    bound = []
    for claim in claims.claims:
        citations = resolve(claim.citations, sources)
        binding = binder.bind(claim.text, citations) if claim.verifiable else _unbound(citations)
        bound.append(_Bound(claim, binding))
    return binder, bound


def _unbound(citations: tuple[Citation, ...]) -> Binding:
    return Binding(citations, with_evidence=(), without_evidence=(), windows_total=0)


class _Asker:
    """Puts queries to a backend, in chunks; whatever it does wrong becomes `Unmeasured`.

    `measured` is every answer so far, in the order of asking.
    """

    def __init__(self, backend: Backend, question: str | None, progress: Progress | None) -> None:
        self._backend = backend
        self._question = question
        self._progress = progress
        self._total = 0
        self.measured: list[Measurement] = []

    async def read(
        self, contexts: Sequence[tuple[str, tuple[Passage, ...]]], policy: Policy
    ) -> list[Reading]:
        """Return what the passages of each claim, read one by one, say of it together."""
        queries = [
            Query(claim, passage.text, self._question)
            for claim, passages in contexts
            for passage in passages
        ]
        measured = iter(await self._ask(queries))
        return [
            combine(passages, [next(measured) for _ in passages], policy)
            if passages
            else Reading(_NOT_ASKED)
            for _, passages in contexts
        ]

    async def _ask(self, queries: Sequence[Query]) -> list[Measurement]:
        first = len(self.measured)
        self._total += len(queries)
        self._tell()
        for start in range(0, len(queries), CHUNK):
            self.measured += await self._estimate(queries[start : start + CHUNK])
            self._tell()
        return self.measured[first:]

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(len(self.measured), self._total)

    async def _estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        try:
            measured = list(await self._backend.estimate(queries))
        except VeridicalError:
            raise
        except Exception as error:  # noqa: BLE001 -- a backend's bug must not break the host
            return [_failed(type(error).__name__)] * len(queries)
        if len(measured) != len(queries):
            return [_failed("wrong number of measurements")] * len(queries)
        return [m if isinstance(m, Measurement) else _failed("not a measurement") for m in measured]


def _failed(detail: str) -> Unmeasured:
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, detail)
