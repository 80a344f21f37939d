"""Verification pipeline, in the order of the data flow."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Self, TypeAlias

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, ClaimSet
from veridical.core.verdicts import Status, Verdict
from veridical.errors import VeridicalError
from veridical.pipeline.judgement import (
    PooledEstimate,
    SubclaimScore,
    attach_evidence,
    judge_claim,
    merge_scored,
    rated,
    rescore_subclaims,
    subclaims,
    summarise,
)
from veridical.pipeline.logs import claim_hash, log_event
from veridical.pipeline.reports import Report
from veridical.verification.bound_claims import BoundClaim, fragment_contexts
from veridical.verification.check_events import CheckEvents, CheckWatcher
from veridical.verification.decomposer import ModelDecomposer
from veridical.verification.preparation import Preparation
from veridical.verification.rule_stage import RuleStage
from veridical.verification.scoring import CHUNK, ClaimScorer, Progress
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import TracebackType

    from veridical.core.limits import Limits
    from veridical.core.ports import Backend, TextModel
    from veridical.core.sources import Sources
    from veridical.core.types import Source
    from veridical.pipeline.evidence import Binder
    from veridical.pipeline.inference.aliases import Operation
    from veridical.settings import Settings
    from veridical.verification.preparation import BoundAnswer


logger = logging.getLogger("veridical.verifier")  # a documented name

_NO_P0 = Unmeasured(UnmeasuredReason.DISABLED, "this backend does not measure p0")


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to check: the arguments of `check`."""

    answer: str = field(repr=False)
    sources: Sources = field(repr=False)
    question: str | None = field(default=None, repr=False)


CheckResult: TypeAlias = Report | VeridicalError


class Verifier:
    """Verifier of answers against sources, claim by claim.

    Use as an async context manager. One verifier may run many checks at once.

    With a `claims_model` answers are taken apart by that, else by rules; a reply of it may have
    `claims_max_tokens` and take `claims_timeout_s`. The rules take over where it fails.
    `batch_size` is how many queries go to the backend at once; progress is reported after each
    batch. Texts beyond the `limits` are refused. The deadline of a check is that of the
    `core.cancellation` around it. With a `hash_key` the hashes of claims in logs can be compared
    with those of other processes.
    """

    def __init__(  # noqa: PLR0913 -- a keyword for each thing that may be told
        self,
        backend: Backend,
        *,
        policy: Policy | None = None,
        claims_model: TextModel | None = None,
        claims_max_tokens: int = 2048,
        claims_timeout_s: float = 120.0,
        batch_size: int = CHUNK,
        limits: Limits | None = None,
        hash_key: str | None = None,
    ) -> None:
        self._backend = backend
        self._batch_size = batch_size
        self._hash_key = hash_key
        self._policy = policy or Policy()
        self._preparation = Preparation(
            limits,
            ModelDecomposer(claims_model, claims_max_tokens, claims_timeout_s)
            if claims_model is not None
            else None,
        )

    @classmethod
    def from_settings(
        cls, settings: Settings | None = None, *, operation: Operation = "check"
    ) -> Verifier:
        """Return the verifier that the settings describe (default: file and environment).

        With the operation `output` it is the verifier of answers on their way to a user: the blocks
        of hosts in the settings then give its backend and the lifetime of its estimates.
        """
        from veridical.settings import Settings
        from veridical.wiring.build import build_verifier

        return build_verifier(settings or Settings.load(), operation=operation)

    @property
    def policy(self) -> Policy:
        """Policy of checks that bring none of their own."""
        return self._policy

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    async def check(  # noqa: PLR0913 -- what is checked, by what rules, who is told
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
        watcher: CheckWatcher | None = None,
    ) -> Report:
        """Return the verdict on each claim of `answer`.

        `progress` receives the number of finished queries, `watcher` the final verdicts.
        `InputError` if the answer or the sources cannot be checked, `TimeLimitError` if there is no
        time to find the claims, `BackendError` if the backend cannot start. Later failures are in
        the report, as `Unmeasured` with its reason.
        """
        started = perf_counter()
        texts = self._preparation.accepted(answer, "the answer", sources, question)
        rules = (policy or self._policy).resolved(self._backend.info)
        watch = CheckEvents(watcher)
        claims = await self._preparation.claims(answer, texts, question, rules)
        watch.stage("claims")
        found = await self._preparation.bound(claims, texts, rules)
        watch.stage("evidence")
        asker = self._asker(texts, question, progress)
        verdicts = await self._verdicts(found, rules, asker, watch)
        for verdict in verdicts:
            watch.decided(verdict)
            await asyncio.sleep(0)
        watch.stage("inference")
        await in_worker_thread(partial(self._log, verdicts))
        return self._report(answer, claims, verdicts, rules, asker, started=started)

    async def verify(  # noqa: PLR0913 -- what is verified, on which evidence, by what rules
        self,
        claim: str,
        sources: Sources,
        question: str | None = None,
        *,
        cites: Sequence[str] = (),
        always_read: Collection[str] = (),
        policy: Policy | None = None,
    ) -> Verdict:
        """Return the verdict on one claim, taken as it stands: nothing is parsed out of it.

        A claim of several sentences is read whole and sentence by sentence: it is supported if it
        is as a whole, unless one of them is contradicted more surely, or if each of them is. Only
        the sources it `cites` are its evidence; if it cites none, all are. An id that does not
        exist is a phantom citation. Of its evidence, the sources to be `always_read` are read even
        where others are nearer. Errors are those of `check`.
        """
        report = await self.check_claim(
            claim, sources, question, cites=cites, always_read=always_read, policy=policy
        )
        return report.claims[0]

    async def check_claim(  # noqa: PLR0913 -- the arguments of `verify`
        self,
        claim: str,
        sources: Sources,
        question: str | None = None,
        *,
        cites: Sequence[str] = (),
        always_read: Collection[str] = (),
        policy: Policy | None = None,
    ) -> Report:
        """Return the report on one claim, taken as it stands: its verdict is that of `verify`."""
        started = perf_counter()
        texts = self._preparation.accepted(claim, "the claim", sources, question)
        rules = (policy or self._policy).resolved(self._backend.info)
        taken = replace(
            Claim.of_text(claim, cites=cites), parts=await self._preparation.parts(claim)
        )
        one = ClaimSet((taken,), 1)
        found = await self._preparation.bound(one, texts, rules, always_read)
        asker = self._asker(texts, question)
        verdicts = await self._verdicts(found, rules, asker, by_sentence=True)
        self._log(verdicts)
        return self._report(claim, one, verdicts, rules, asker, started=started)

    async def _verdicts(
        self,
        found: BoundAnswer,
        policy: Policy,
        asker: ClaimScorer,
        watch: CheckEvents | None = None,
        *,
        by_sentence: bool = False,
    ) -> list[Verdict]:
        """Return the verdicts on bound claims: read, read again in parts, decided by rules."""
        sources = asker.sources
        verdicts = await self._first_look(found.claims, sources, policy, asker, watch)
        verdicts = await self._second_look(
            verdicts, found.binder, sources, policy, asker, by_sentence=by_sentence
        )
        stage = RuleStage(found.binder, sources, policy, asker)
        return await self._by_rule(stage, verdicts, found.claims)

    def _report(  # noqa: PLR0913 -- what was asked, what was found, by what rules, since when
        self,
        answer: str,
        claims: ClaimSet,
        verdicts: Sequence[Verdict],
        policy: Policy,
        asker: ClaimScorer,
        *,
        started: float,
    ) -> Report:
        """Return the report on verdicts on claims of `answer`; `started` is when the check did."""
        info = self._backend.info
        summary = summarise(
            verdicts,
            asker.measured,
            sentences=claims.sentences,
            latency_ms=(perf_counter() - started) * 1000,
            extraction=claims.extraction,
            certainty=info.certainty,
        )
        found = tuple(verdicts)
        return Report(answer, asker.sources, found, summary, policy, info, asker.question)

    def _log(self, verdicts: Iterable[Verdict]) -> None:
        """Log the flagged claims, by id, hash and rule, and the reasons for unmeasured ones."""
        lost: Counter[str] = Counter()
        for verdict in verdicts:
            if verdict.flagged:
                hashed = claim_hash(verdict.claim.text, self._hash_key)
                fields = {"claim_id": verdict.claim.id, "claim_hash": hashed}
                fields |= {"status": verdict.status.value, "rule": verdict.rule}
                log_event(logger, logging.INFO, "claim_flagged", fields)
            elif verdict.checked and isinstance(verdict.p1, Unmeasured):
                lost[verdict.p1.reason.value] += 1
        for reason, count in lost.items():
            failed = {"backend": self._backend.info.name, "reason": reason, "claims": count}
            log_event(logger, logging.WARNING, "claims_unmeasured", failed)

    async def check_many(
        self, cases: Iterable[Case], *, policy: Policy | None = None
    ) -> list[CheckResult]:
        """Check each case; one that cannot be checked becomes its error, the others go on."""
        return [await self._attempt(case, policy) for case in cases]

    def _asker(
        self, sources: Mapping[str, Source], question: str | None, progress: Progress | None = None
    ) -> ClaimScorer:
        return ClaimScorer(self._backend, sources, question, progress, batch_size=self._batch_size)

    async def _attempt(self, case: Case, policy: Policy | None) -> CheckResult:
        try:
            return await self.check(case.answer, case.sources, case.question, policy=policy)
        except VeridicalError as error:
            return error

    async def _first_look(
        self,
        bound: Sequence[BoundClaim],
        sources: Mapping[str, Source],
        policy: Policy,
        asker: ClaimScorer,
        watch: CheckEvents | None = None,
    ) -> list[Verdict]:
        """Read every claim with its evidence and with the evidence scrubbed.

        Where the evidence is a hint that does not lead to support, read it again without the hint.
        """
        first = await self._looked_at(bound, sources, policy, asker, watch)
        verdicts = {verdict.claim.id: verdict for verdict in first}
        hinted = {item.claim.id: item for item in bound if item.claim.evidence_map is not None}
        again = []
        for claim_id, item in hinted.items():
            if verdicts[claim_id].status is Status.SUPPORTED:
                verdicts[claim_id] = _by_hint(verdicts[claim_id])
            elif item.otherwise is not None:
                again.append(replace(item, binding=item.otherwise))
        for verdict in await self._looked_at(again, sources, policy, asker):
            verdicts[verdict.claim.id] = merge_scored(verdict, verdicts[verdict.claim.id])
        return list(verdicts.values())

    async def _looked_at(
        self,
        bound: Sequence[BoundClaim],
        sources: Mapping[str, Source],
        policy: Policy,
        asker: ClaimScorer,
        watch: CheckEvents | None = None,
    ) -> list[Verdict]:
        measures_p0 = self._backend.info.measures_dependence
        contexts = [
            (item.text, None if item.late else passages)
            for item in bound
            for passages in (
                item.binding.with_evidence,
                item.binding.without_evidence if measures_p0 else (),
            )
        ]
        readings = asker.readings(contexts, policy)
        verdicts = []
        async with aclosing(readings):
            for item in bound:
                whole, scrubbed = await anext(readings), await anext(readings)
                scrubbed = scrubbed if measures_p0 else PooledEstimate(_NO_P0)
                verdict = judge_claim(item.claim, item.binding, whole, scrubbed, policy)
                verdicts.append(
                    self._rated(
                        attach_evidence(verdict, whole, sources, item.binding.nearest), policy
                    )
                )
                if watch is not None:
                    watch.first_look(verdicts[-1], item, sources)
        return verdicts

    async def _second_look(  # noqa: PLR0913 -- what was found, where to look again, by what rules
        self,
        verdicts: Sequence[Verdict],
        binder: Binder | None,
        sources: Mapping[str, Source],
        policy: Policy,
        asker: ClaimScorer,
        *,
        by_sentence: bool = False,
    ) -> list[Verdict]:
        """Read the `subclaims` of the claims on their own."""
        looked = ((v, subclaims(v, by_sentence=by_sentence)) for v in verdicts)
        again = [(verdict, read) for verdict, read in looked if read]
        if not again:
            return list(verdicts)
        texts = [(part.text, verdict) for verdict, read in again for part in read]
        contexts = await in_worker_thread(partial(fragment_contexts, texts, binder))
        readings = await asker.read(contexts, policy)

        def refine() -> dict[str, Verdict]:
            pairs = zip(contexts, readings, strict=True)
            looks = iter([SubclaimScore(found or (), reading) for (_, found), reading in pairs])
            return {
                verdict.claim.id: rescore_subclaims(
                    verdict, [next(looks) for _ in read], policy, sources
                )
                for verdict, read in again
            }

        refined = await in_worker_thread(refine)
        return [refined.get(verdict.claim.id, verdict) for verdict in verdicts]

    async def _by_rule(
        self, stage: RuleStage, verdicts: Sequence[Verdict], bound: Iterable[BoundClaim]
    ) -> list[Verdict]:
        decided = await stage.decide(verdicts, bound)
        return [self._rated(verdict, stage.policy) for verdict in decided]

    def _rated(self, verdict: Verdict, policy: Policy) -> Verdict:
        return rated(verdict, self._backend.info.certainty, policy)


def _by_hint(verdict: Verdict) -> Verdict:
    """Record that the sources that a model named support the claim."""
    claim = verdict.claim
    named = claim.evidence_map and replace(claim.evidence_map, used=True)
    return replace(verdict, claim=replace(claim, evidence_map=named))
