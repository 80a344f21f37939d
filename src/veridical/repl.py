"""Synchronous functions of SPEC-16 and SPEC-08.31 for notebooks, shells and sandboxes.

    from veridical.repl import verify_claim
    print(verify_claim("It has six lanes.", "It carries eight lanes."))

The settings name the backend and the text model, unless `configure` does. `namespace()` returns all
functions as a dict, for any sandbox. Bad input raises a named error of `veridical.errors`. A
measurement that failed is a value with its reason; a function that returns a plain number raises.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from veridical.core.epistemic import HallucinationReport, Verifications
from veridical.core.measurements import Unmeasured
from veridical.core.types import ensure_text
from veridical.errors import BackendError, ConfigurationError, TextError
from veridical.wiring.runtime import Comparison, Current, Runtime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.audit.auditing import StepLike, StepTrace
    from veridical.audit.values import TraceAudit
    from veridical.core.epistemic import ClaimVerification
    from veridical.core.policy import Policy
    from veridical.core.ports import Backend, TextModel
    from veridical.core.printing import Document
    from veridical.core.similarity import Consistency, Contradictions, Dependence, Similarity
    from veridical.core.sources import Sources
    from veridical.settings import Settings
    from veridical.traces.values import Trace as GoalTrace

__all__ = [
    "VerifiedAnswer",
    "answer_consistency",
    "audit_reasoning",
    "audit_trace",
    "configure",
    "consistency",
    "detect_hallucinations",
    "evidence_dependence",
    "llm",
    "measure_dependence",
    "measure_similarity",
    "namespace",
    "semantic_similarity",
    "verify_claim",
    "verify_claims",
]

SHORT = 100
"""An answer of fewer characters is likely a simple one (SPEC-16)."""

_KEEP: Any = object()  # "not given", where None means something

_current = Current()


def configure(
    *,
    backend: str | Backend | None = _KEEP,
    text_model: str | TextModel | None = _KEEP,
    policy: Policy | None = _KEEP,
    settings: Settings | None = _KEEP,
) -> None:
    """Set the backend, the text model, the policy or the settings of all later calls.

    Backend and text model are names (`"openai:MODEL"`) or objects of your own. An omitted argument
    keeps its value; None takes the value of the settings. Without a text model (`text_model`)
    `llm` cannot answer; measures that have a method without one use that. `ConfigurationError` if
    there is no backend or text model of that name.
    """
    old = _current.engine
    new = Runtime(
        old.named_backend if backend is _KEEP else backend,
        old.named_text_model if text_model is _KEEP else text_model,
        old.given_policy if policy is _KEEP else policy,
        old.given_settings if settings is _KEEP else settings,
    )
    new.backend, new.model  # noqa: B018 -- made now, so that a wrong name is said now
    _current.use(new)


def current() -> tuple[str, str | None]:
    """Return backend and text model (if there is one) as `NAME:MODEL`."""
    engine = _engine()
    info, model = engine.backend.info, engine.model
    text = None if model is None else f"{model.info.name}:{model.info.model}"
    return f"{info.name}:{info.model}", text


def current_settings() -> Settings:
    """Return the settings in force."""
    return _engine().settings


def _engine() -> Runtime:
    with _current.lock:
        return _current.engine


# --- claims ----------------------------------------------------------------------------------


def verify_claim(
    claim: str,
    evidence: str | Sources,
    confidence: float = 0.95,
    *,
    threshold: float | None = None,
    consistency: bool = False,
) -> ClaimVerification:
    """Return the verification of one claim, taken as it stands, against evidence.

    Evidence is a text, a list of texts or texts by id. `confidence` (`threshold` in SPEC-16) is
    the target probability: the evidence should provide the bits that it requires. With
    `consistency` the claim is also verified in other wordings.

        >>> verify_claim("It has six lanes.", "It carries eight lanes.").status
        <Status.CONTRADICTED: 'contradicted'>
    """
    from veridical.pipeline.judgement.epistemic import verification

    engine = _engine()
    target = confidence if threshold is None else threshold
    sources = _sources(evidence)
    policy = replace(engine.policy, target_confidence=target)
    verdict = engine.run(partial(engine.verifier.verify, claim, sources, policy=policy))
    score = None
    if consistency:
        score = engine.run(partial(engine.reasker.consistency, claim, sources))
    return verification(verdict, score)


def verify_claims(text: str, context: str | Sources) -> Verifications:
    """Return the verifications of all checked claims of a text, in its order.

    A claim is verified against the sources that it cites, or against all if it cites none.
    """
    from veridical.pipeline.judgement.epistemic import verification

    engine = _engine()
    report = engine.run(
        partial(engine.verifier.check, text, _sources(context), policy=engine.policy)
    )
    return Verifications(verification(verdict) for verdict in report.claims if verdict.checked)


def detect_hallucinations(
    response: str | None,
    context: str | Sources | None,
    *,
    skip_short: bool = False,
    contradictions: bool = True,
) -> HallucinationReport:
    """Return the claims of a response that its context does not support.

    Nothing is verified, and `skipped` is the reason, if the response is empty, without a context,
    or, with `skip_short`, if the response has fewer than 100 characters. With `contradictions`
    its claims are also compared with each other.

        >>> report = detect_hallucinations("It has six lanes [S1].", {"S1": "It has eight lanes."})
        >>> report.flagged_claims, report.gaps[0].gap_type
        (1, 'contradicted')
    """
    from veridical.pipeline.judgement.epistemic import hallucinations, not_verified

    if response is None or not _text(response).strip():
        return not_verified(response or "", "no_answer")
    if not context:
        return not_verified(response, "no_evidence")
    if skip_short and len(response) < SHORT:
        return not_verified(response, "too_short")
    engine = _engine()
    sources = _sources(context)
    report = engine.run(partial(engine.verifier.check, response, sources, policy=engine.policy))
    found: Contradictions | None = None
    if contradictions:
        from veridical.consistency import measures

        call = partial(measures.contradictions, report.claims, engine.backend, policy=engine.policy)
        found = engine.run(call)
    return hallucinations(report, found)


def _text(response: object) -> str:
    """Return a text unchanged, also an empty one; `TextError` for anything else."""
    if not isinstance(response, str):
        msg = f"the response must be text, not {type(response).__name__}"
        raise TextError(msg, hint="Pass a str")
    return response


def _sources(evidence: str | Sources) -> Sources:
    """Return evidence in a shape that the verifier takes; one text gets the id `1`."""
    if isinstance(evidence, str):
        ensure_text(evidence, "the evidence")
        return [evidence]
    return evidence


# --- reasoning -------------------------------------------------------------------------------


def audit_reasoning(steps: Iterable[Mapping[str, object]], sources: str | Sources) -> Verifications:
    """Return the verification of each step, `{"claim": ..., "cites": [...]}`, in order.

    A step may cite sources and earlier steps (`step1`, `step2`, ... or their `id`); cited steps
    count as evidence if they are ENTAILED. Citing a later step is a phantom citation. A step
    without citations is verified against all sources and earlier entailed steps.
    """
    from veridical.audit import auditing

    engine = _engine()
    call = partial(
        auditing.audit, steps, engine.verifier, sources=_sources(sources), policy=engine.policy
    )
    return Verifications(step.verification for step in engine.run(call).steps)


def audit_trace(
    steps: StepTrace | GoalTrace | Mapping[str, object] | Iterable[StepLike],
    sources: str | Sources | None = None,
    *,
    question: str | None = None,
    answer: str | None = None,
) -> TraceAudit:
    """Return the label of each step of a reasoning trace, and the first unsupported step.

    A step is a text, or `{"claim": ..., "cites": [...], "context": ...}`. Its context is evidence
    for it and for all later steps, as are earlier ENTAILED steps. An answer is derived again from
    the entailed steps, by the text model if there is a question and a model; unless
    `hallucination.trace_auditing.check_post_hoc` is off.

        >>> audit_trace(["It opened in 1998."], "Opened in 1998.", answer="1998").post_hoc.verdict
        <PostHocVerdict.DERIVABLE: 'derivable'>
    """
    from veridical.audit import auditing

    engine = _engine()
    trace = auditing.parse_trace(steps)
    trace = replace(
        trace,
        question=trace.question if question is None else question,
        answer=trace.answer if answer is None else answer,
    )
    wanted = engine.settings.hallucination.trace_auditing.check_post_hoc
    call = partial(
        auditing.audit,
        trace,
        engine.verifier,
        sources=None if sources is None else _sources(sources),
        policy=engine.policy,
        executor=auditing.AnswerDeriver(engine.backend, engine.model) if wanted else None,
    )
    return engine.run(call)


# --- asking again ----------------------------------------------------------------------------


def evidence_dependence(
    question: str | None,
    answer: str,
    evidence: str | Sources,
    *,
    by: Comparison = "entailment",
) -> float:
    """Return the dependence of an answer on the evidence, 0.0 (none) to 1.0 (full).

    `by` is the similarity by which the answers with and without evidence are compared: see
    `semantic_similarity`. `UnmeasuredError` if it cannot be measured; `measure_dependence` returns
    that as a value.
    """
    return float(measure_dependence(question, answer, evidence, by=by))


def measure_dependence(
    question: str | None,
    answer: str,
    evidence: str | Sources,
    *,
    by: Comparison = "entailment",
) -> Dependence:
    """Return `evidence_dependence` with its method and intermediate results.

    `method` names the procedure (docs/repl.md). With a text model, `answer_with` and
    `answer_without` are its answers to the question with and without the evidence.
    """
    engine = _engine()
    reasker = replace(engine.reasker, embeddings=engine.embeddings(by))
    call = partial(reasker.evidence_dependence, question, answer, _sources(evidence))
    return engine.run(call)


def consistency(claim: str, evidence: str | Sources) -> Consistency:
    """Return the stability of a claim's verdict over rewordings, 0.0 to 1.0 (stable)."""
    engine = _engine()
    return engine.run(partial(engine.reasker.consistency, claim, _sources(evidence)))


def answer_consistency(answers: Sequence[str], question: str | None = None) -> Consistency:
    """Return the mutual similarity of several answers to one question, 0.0 to 1.0 (same)."""
    from veridical.consistency import measures

    engine = _engine()
    call = partial(measures.answer_consistency, answers, engine.backend, question=question)
    return engine.run(call)


def semantic_similarity(a: str, b: str, *, by: Comparison = "entailment") -> float:
    """Return the similarity of two texts by entailment in both directions, 0.0 to 1.0.

    With `by="embeddings"` it is the cosine of their vectors, from the model of the settings
    (`embeddings.model`); `ConfigurationError` if they name none. `UnmeasuredError` if it cannot be
    measured; `measure_similarity` returns that as a value.
    """
    return float(measure_similarity(a, b, by=by))


def measure_similarity(a: str, b: str, *, by: Comparison = "entailment") -> Similarity:
    """Return `semantic_similarity` with both of its directions, or the reason for its absence."""
    from veridical.consistency import similarity

    engine = _engine()
    model = engine.embeddings(by)
    if model is None:
        return engine.run(partial(similarity.semantic_similarity, a, b, engine.backend))
    return engine.run(partial(similarity.vector_similarity, a, b, model))


# --- a text model ----------------------------------------------------------------------------


class VerifiedAnswer(str):
    """Answer of a text model: a text, with its verification as `report`.

    `report` is None if verification was switched off for this answer.
    """

    __slots__ = ("report",)
    report: HallucinationReport | None

    def __new__(cls, text: str, report: HallucinationReport | None = None) -> Self:
        """Make an answer of a text."""
        answer = super().__new__(cls, text)
        answer.report = report
        return answer

    def to_dict(self) -> Document:
        """Return the answer as a JSON object of schema `veridical.answer/1`."""
        report = None if self.report is None else self.report.to_dict()
        return {"schema": "veridical.answer/1", "text": str(self), "report": report}


def llm(query: str, context: str | Sources | None = None, verify: bool = True) -> VerifiedAnswer:  # noqa: FBT001, FBT002 -- the call of SPEC-16 is llm(query, verify=False)
    """Return the text model's answer from the context, verified unless `verify=False`.

    Without a context the model answers from its own knowledge and nothing is verified:
    `report.skipped` is the reason. `ConfigurationError` if there is no text model, `BackendError`
    if it gives no answer.
    """
    from veridical.consistency import measures
    from veridical.core.sources import as_sources
    from veridical.pipeline.judgement.epistemic import not_verified

    engine = _engine()
    if engine.model is None:
        msg = "there is no text model"
        raise ConfigurationError(msg, hint="Name one: configure(text_model='openai:MODEL')")
    if context:
        sources = as_sources(_sources(context))
        call = partial(measures.answer_from_sources, query, sources, engine.model)
    else:
        call = partial(measures.answer_without_evidence, query, engine.model)
    found = engine.run(call)
    if isinstance(found, Unmeasured):
        msg = f"the text model gave no answer ({found.reason})"
        raise BackendError(msg, hint="Check that its service runs, and the settings")
    if not verify:
        return VerifiedAnswer(found.text)
    if not engine.settings.verifies_answers:
        return VerifiedAnswer(found.text, not_verified(found.text, "disabled"))
    skip = engine.settings.verification.skip_short
    return VerifiedAnswer(found.text, detect_hallucinations(found.text, context, skip_short=skip))


def namespace() -> dict[str, Any]:
    """Return the functions by name, for any sandbox: `exec(code, {**namespace()})`."""
    return {
        name: globals()[name] for name in __all__ if name not in {"VerifiedAnswer", "namespace"}
    }
