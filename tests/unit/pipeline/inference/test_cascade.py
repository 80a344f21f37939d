from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Thread

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.assessment import CascadeUsage
from veridical.core.certainty import CertaintyModel, Fit, log_odds
from veridical.core.measurements import (
    UNKNOWN,
    BackendInfo,
    BilledFailure,
    CascadeBranch,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import Backend, estimators_of
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.aliases import HAIKU, Operation, resolve_alias
from veridical.pipeline.inference.cascade import Cascade, create
from veridical.pipeline.inference.pooling import pooled, pooled_probability
from veridical.testing import FakeBackend, check_backend, fake_estimate
from veridical.verification.verifier import Verifier

FIRST = BackendInfo("small", "s1", Estimator.CROSS_ENCODER, "aaa", 0.5, 0.5)
SECOND = BackendInfo("large", "l1", Estimator.LOGPROBS, "bbb", 0.7, 0.6)
DOWN = Unmeasured(UnmeasuredReason.TIMEOUT)
LOST = replace(DOWN, stage=CascadeBranch.SECOND)


def small(*values: float | Measurement) -> FakeBackend:
    """Return a first backend that answers the query "0" with the first value, and so on."""
    answers = [fake_estimate(v, 0.0) if isinstance(v, float) else v for v in values]
    return FakeBackend(lambda query: answers[int(query.claim)], FIRST)


def large(measurement: Measurement | None = None) -> FakeBackend:
    answer = measurement or replace(fake_estimate(0.6, 0.1), model="l1")
    return FakeBackend(lambda _: answer, SECOND)


def ask(cascade: Cascade, count: int = 1) -> list[Measurement]:
    queries = [Query(str(i), "context") for i in range(count)]
    return list(anyio.run(cascade.estimate, queries))


def asked(backend: FakeBackend) -> list[str]:
    return [query.claim for query in backend.queries]


def test_only_what_is_near_the_threshold_goes_to_the_second() -> None:
    first, second = small(0.02, 0.149, 0.15, 0.5, 0.85, 0.851, 0.99), large()
    measured = ask(Cascade(first, second), 7)
    assert asked(second) == ["2", "3", "4"]
    models = [m.model for m in measured if isinstance(m, Estimate)]
    assert models == ["fake", "fake", *["fake+l1"] * 3, "fake", "fake"]


def test_the_saving_is_counted_over_calls() -> None:
    cascade = Cascade(small(0.02, 0.5, 0.99, 0.98), large())
    assert cascade.savings == CascadeUsage()
    assert cascade.savings.saved is None
    ask(cascade, 4)
    ask(cascade, 1)
    assert cascade.savings == CascadeUsage(asked_first=5, asked_second=1)
    assert cascade.savings.saved == 0.8


def test_each_measurement_says_whether_the_second_was_asked() -> None:
    answers = [fake_estimate(0.6), DOWN, DOWN]
    second = FakeBackend(lambda query: answers[int(query.claim) - 1], SECOND)
    measured = ask(Cascade(small(0.99, 0.5, 0.4, 0.6), second), 4)
    assert [m.stage for m in measured] == [
        CascadeBranch.FIRST,
        CascadeBranch.SECOND,
        CascadeBranch.STOOD_IN,
        CascadeBranch.SECOND,
    ]
    assert isinstance(measured[3], Unmeasured)
    assert CascadeUsage.of(measured) == CascadeUsage(asked_first=4, asked_second=3, stood_in=1)
    assert CascadeUsage.of([fake_estimate(0.9), DOWN]) == CascadeUsage()


def test_threads_that_ask_at_once_lose_no_count() -> None:
    cascade = Cascade(small(0.5, 0.99), large())
    threads = [Thread(target=partial(ask, cascade, 2)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cascade.savings == CascadeUsage(asked_first=16, asked_second=8)


def test_the_second_is_not_called_when_nothing_is_in_doubt() -> None:
    second = FakeBackend(lambda _: pytest.fail("asked"), SECOND)
    assert len(ask(Cascade(small(0.99, 0.01), second), 2)) == 2


def fitted(flag: float | None, passed: float | None) -> CertaintyModel:
    """Return a model with sure verdicts from these scores on."""
    sure = partial(Fit, 0.0, (("score", 1.0),), 0.9)
    return CertaintyModel(sure(passed), sure(flag), sure(flag))


@pytest.mark.parametrize(
    ("model", "doubts"),
    [
        (fitted(log_odds(0.99), log_odds(0.98)), [0.011, 0.02, 0.16, 0.5, 0.84, 0.9, 0.979]),
        (fitted(log_odds(0.7), log_odds(0.6)), [0.31, 0.5, 0.59]),
        (fitted(None, None), [0.16, 0.5, 0.59, 0.84]),
        (None, [0.16, 0.31, 0.5, 0.59, 0.84]),
    ],
    ids=["surer", "less sure", "never sure", "not fitted"],
)
def test_what_the_first_is_not_sure_of_goes_to_the_second(
    model: CertaintyModel | None, doubts: list[float]
) -> None:
    outside = [0.002, 0.998]
    first, second = small(*doubts, *outside), large(replace(fake_estimate(0.6, 0.1), model="l1"))
    first.info = replace(FIRST, certainty=model)
    second.info = replace(SECOND, support_threshold=0.5, contradiction_threshold=0.5)
    ask(Cascade(first, second), len(doubts) + len(outside))
    assert asked(second) == [str(i) for i in range(len(doubts))]


def test_the_band_is_configurable() -> None:
    second = large()
    ask(create(first=small(0.3, 0.45, 0.6), second=second, low=0.4, high=0.5), 3)
    # .6 is supported at .5 but not at .6376, the cascade's threshold: a doubt outside of the band.
    assert asked(second) == ["1", "2"]


def test_equal_thresholds_are_those_of_the_cascade() -> None:
    for shared in (0.5, 0.7, 0.93):
        info = replace(SECOND, support_threshold=shared, contradiction_threshold=shared)
        first, second = (FakeBackend(lambda _: DOWN, info) for _ in range(2))
        found = Cascade(first, second, high=0.95).info
        assert (found.support_threshold, found.contradiction_threshold) == (shared, shared)


def test_the_second_alone_counts_only_where_its_thresholds_and_the_cascades_read_it_alike() -> None:
    too_long = Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)
    lost = replace(too_long, stage=CascadeBranch.SECOND)
    # What the second took is unknown, and that is said with the failure.
    unknown = BilledFailure.of(lost, UNKNOWN)
    assert ask(Cascade(small(too_long), large(fake_estimate(0.65, 0.1)))) == [unknown]


def test_what_the_first_could_not_measure_goes_to_the_second_as_it_is() -> None:
    answer = replace(fake_estimate(0.9, 0.0), cost_usd=0.001, tokens=7, latency_ms=2.0)
    too_long = Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)
    expected = replace(answer, stage=CascadeBranch.SECOND)
    assert ask(Cascade(small(too_long), large(answer))) == [expected]


def test_what_both_measured_is_pooled_and_carries_what_both_took() -> None:
    one = replace(fake_estimate(0.5, 0.0), cost_usd=0.0, tokens=10, latency_ms=1.0)
    two = replace(fake_estimate(0.9, 0.0), cost_usd=0.002, tokens=200, latency_ms=30.0, model="l1")
    cascade = Cascade(small(one), large(two))
    (both,) = ask(cascade)
    assert both == replace(
        pooled(one, two),
        cost_usd=0.002,
        tokens=210,
        latency_ms=31.0,
        stage=CascadeBranch.SECOND,
        model="fake+l1",
        fingerprint=cascade.info.fingerprint,
    )
    (unknown,) = ask(Cascade(small(one), large(replace(two, cost_usd=None))))
    assert isinstance(unknown, Estimate)
    assert unknown.cost_usd is None


@pytest.mark.parametrize(
    ("first_cached", "second_cached", "took"),
    [
        (False, False, (1100, 11.0, False)),
        (False, True, (100, 1.0, False)),
        (True, False, (1000, 10.0, False)),
        (True, True, (1100, 11.0, True)),
    ],
)
def test_what_one_of_the_two_has_in_a_cache_was_paid_before(
    first_cached: bool, second_cached: bool, took: tuple[int, float, bool]
) -> None:
    one = replace(fake_estimate(0.5, 0.0), tokens=100, cost_usd=1.0, cached=first_cached)
    other = replace(fake_estimate(0.6, 0.1), tokens=1000, cost_usd=10.0, cached=second_cached)
    (found,) = ask(Cascade(small(one), large(other)))
    assert isinstance(found, Estimate)
    assert (found.tokens, found.cost_usd, found.cached) == took


def test_a_cost_that_is_unknown_stays_so_unless_it_was_paid_before() -> None:
    one = replace(fake_estimate(0.5, 0.0), tokens=None, cost_usd=None, cached=True)
    other = replace(fake_estimate(0.6, 0.1), tokens=1000, cost_usd=10.0)
    (found,) = ask(Cascade(small(one), large(other)))
    assert isinstance(found, Estimate)
    assert (found.tokens, found.cost_usd) == (1000, 10.0)


def test_the_first_stands_in_where_the_second_is_down() -> None:
    cascade = Cascade(small(0.3, 0.8), large(DOWN))
    assert ask(cascade, 2) == [
        replace(fake_estimate(share, 0.0), stage=CascadeBranch.STOOD_IN) for share in (0.3, 0.8)
    ]
    assert cascade.savings == CascadeUsage(2, 2, stood_in=2)


@pytest.mark.parametrize("supported", [0.5, 0.55, 0.6])  # supported at .5, but not at .6376
def test_but_not_where_the_two_thresholds_read_it_differently(supported: float) -> None:
    cascade = Cascade(small(supported), large(DOWN))
    assert ask(cascade) == [LOST]
    assert cascade.savings.stood_in == 0


def test_a_contradiction_between_the_two_thresholds_is_a_doubt() -> None:
    doubtful, clear = fake_estimate(0.05, 0.55), fake_estimate(0.05, 0.65)
    second = large()
    ask(Cascade(small(doubtful, clear), second), 2)
    assert asked(second) == ["0"]


def test_a_yes_no_only_first_is_read_by_its_support_threshold() -> None:
    # Opposed is what is at most 1 - threshold: .5 for the first, .3 for the second.
    second = large()
    first = small(fake_estimate(0.4, None), fake_estimate(0.2, None))
    ask(Cascade(first, second, low=0.45, high=0.55), 2)
    assert asked(second) == ["0"]


unit = st.floats(0, 1)


@given(unit, unit, unit, unit, unit, unit)
def test_no_threshold_of_either_changes_what_the_first_decides_alone(  # noqa: PLR0913, PLR0917
    supported: float, share: float, ts1: float, ts2: float, tc1: float, tc2: float
) -> None:
    estimate = fake_estimate(supported, (1 - supported) * share)
    first = replace(FIRST, support_threshold=ts1, contradiction_threshold=tc1)
    second = replace(SECOND, support_threshold=ts2, contradiction_threshold=tc2)
    cascade = Cascade(
        FakeBackend(lambda _: estimate, first),
        FakeBackend(lambda _: DOWN, second),
        low=min(0.15, ts1),
        high=max(0.85, ts1),
    )
    (measurement,) = ask(cascade)
    if isinstance(measurement, Estimate):
        assert replace(measurement, stage=None) == estimate
        assert estimate.contradicted is not None
        for info in (first, cascade.info):
            assert (estimate.supported >= info.support_threshold) == (supported >= ts1)
            assert (estimate.contradicted >= info.contradiction_threshold) == (
                estimate.contradicted >= tc1
            )


def test_info_names_both_and_reads_at_thresholds_between_theirs() -> None:
    info = Cascade(small(), large()).info
    assert (info.name, info.model) == ("cascade", "s1+l1")
    assert (info.support_threshold, info.contradiction_threshold) == (0.6376, 0.5672)
    assert estimators_of(Cascade(small(), large())) == {
        Estimator.CROSS_ENCODER,
        Estimator.LOGPROBS,
    }


def test_a_model_of_two_classes_does_not_thin_out_the_contradictions_of_the_other() -> None:
    answer = replace(fake_estimate(0.4, 0.0), model="l1")
    two_classes = replace(SECOND, tells_contradiction=False, measures_dependence=False)
    cascade = Cascade(small(fake_estimate(0.4, 0.3)), FakeBackend(lambda _: answer, two_classes))
    (found,) = ask(cascade)
    assert isinstance(found, Estimate)
    assert found.contradicted == pytest.approx((1.0 - found.supported) / 2)
    assert (cascade.info.tells_contradiction, cascade.info.measures_dependence) == (True, False)


def test_two_models_of_two_classes_know_no_contradiction_together() -> None:
    answer = replace(fake_estimate(0.4, 0.0), model="l1")
    first, second = (replace(info, tells_contradiction=False) for info in (FIRST, SECOND))
    cascade = Cascade(
        FakeBackend(lambda _: fake_estimate(0.5, 0.0), first),
        FakeBackend(lambda _: answer, second),
    )
    (found,) = ask(cascade)
    assert isinstance(found, Estimate)
    assert (found.contradicted, cascade.info.tells_contradiction) == (0.0, False)


def test_the_fingerprint_is_of_both_and_of_the_band() -> None:
    def fingerprint(first: BackendInfo = FIRST, second: BackendInfo = SECOND, **band: float) -> str:
        one, two = (FakeBackend(lambda _: DOWN, info) for info in (first, second))
        return Cascade(one, two, **band).info.fingerprint

    changed = [
        fingerprint(),
        fingerprint(replace(FIRST, fingerprint="x")),
        fingerprint(second=replace(SECOND, fingerprint="x")),
        fingerprint(second=replace(SECOND, support_threshold=0.8)),
        fingerprint(FIRST, SECOND, low=0.1),
        fingerprint(FIRST, SECOND, high=0.9),
    ]
    assert len(set(changed)) == len(changed)
    assert fingerprint() == fingerprint()


@pytest.mark.parametrize(
    "band", [(0.6, 0.9), (0.1, 0.4), (0.9, 0.1), (-0.1, 0.9), (0.1, 1.1), (float("nan"), 0.9)]
)
def test_a_band_that_does_not_hold_the_threshold_is_a_configuration_error(
    band: tuple[float, float],
) -> None:
    with pytest.raises(ConfigurationError):
        Cascade(small(), large(), low=band[0], high=band[1])


def test_a_cascade_takes_no_model() -> None:
    with pytest.raises(ConfigurationError, match="model"):
        create("m", first=small(), second=large())


class _Short(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        return (await super().estimate(queries))[1:]


@pytest.mark.parametrize("which", [0, 1])
def test_a_backend_that_loses_measurements_is_named(which: int) -> None:
    backends: list[Backend] = [small(0.5), large()]
    backends[which] = _Short(lambda _: DOWN, (FIRST, SECOND)[which])
    with pytest.raises(BackendError, match="0 measurements for 1"):
        ask(Cascade(*backends))


@pytest.mark.parametrize("which", [0, 1])
def test_a_backend_that_gives_no_measurements_is_named(which: int) -> None:
    backends: list[Backend] = [small(0.5), large()]
    backends[which] = FakeBackend(lambda _: 0.5, (FIRST, SECOND)[which])  # type: ignore[arg-type, return-value]
    with pytest.raises(BackendError, match="no measurement"):
        ask(Cascade(*backends))


@pytest.mark.spec("SPEC-08.28")
@pytest.mark.spec("SPEC-08.29")
def test_a_cascade_keeps_the_promises_of_the_port() -> None:
    # Two of the probes are in doubt: one by its probability, one by its length.
    def answer(query: Query) -> Measurement:
        if len(query.context) > 10_000:
            return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)
        return fake_estimate(0.5 if "1850" in query.claim else 0.95)

    first = FakeBackend(answer, replace(FIRST, estimator=Estimator.DECISION))
    second = FakeBackend(
        lambda _: replace(fake_estimate(0.9), estimator=Estimator.LOGPROBS), SECOND
    )
    cascade = create(first=first, second=second)
    assert isinstance(cascade, Backend)
    anyio.run(check_backend, cascade)
    assert cascade.savings == CascadeUsage(asked_first=12, asked_second=4)


def test_each_report_says_what_was_saved_in_its_own_check() -> None:
    def share(query: Query) -> Measurement:
        return fake_estimate(0.5 if "ferry" in query.claim else 0.99)

    class Slow(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.sleep(0.01)  # so that the checks below are under way at the same time
            return await super().estimate(queries)

    cascade = Cascade(Slow(share, FIRST), Slow(lambda _: fake_estimate(0.9), SECOND))
    verifier = Verifier(cascade)
    answers = ["The ferry sank.", "The bridge opened.", "The bridge opened. The ferry sank."] * 3
    found: dict[int, CascadeUsage | None] = {}

    async def check(number: int, answer: str) -> None:
        report = await verifier.check(answer, {"S1": "The ferry sank. The bridge opened."})
        found[number] = report.summary.cascade

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for number, answer in enumerate(answers):
                tasks.start_soon(check, number, answer)

    anyio.run(at_once)
    saved = [saving.saved if saving else None for _, saving in sorted(found.items())]
    assert saved == [0.0, 1.0, 0.5] * 3
    assert sum((saving for saving in found.values() if saving), CascadeUsage()) == cascade.savings


# --- passages and the whole ------------------------------------------------------------------

READER = replace(SECOND, reads=Reads.WHOLE)


def test_the_second_reads_the_whole_once_for_all_passages_in_doubt() -> None:
    answer = replace(fake_estimate(0.9, 0.0), cost_usd=0.002, tokens=200, latency_ms=30.0)
    second = FakeBackend(lambda _: answer, READER)
    first = FakeBackend(lambda q: fake_estimate(0.95 if q.context == "c" else 0.4), FIRST)
    cascade = Cascade(first, second)
    assert cascade.info.reads is Reads.BOTH
    queries = [Query("claim", context, None, "a b c") for context in "abc"]
    found = list(anyio.run(cascade.estimate, queries))
    assert first.queries == [Query("claim", context) for context in "abc"]
    assert second.queries == [Query("claim", "a b c")]
    assert [m.stage for m in found] == [
        CascadeBranch.SECOND,
        CascadeBranch.SECOND,
        CascadeBranch.FIRST,
    ]
    assert [m.supported for m in found if isinstance(m, Estimate)][:2] == [
        pooled_probability(0.4, 0.9)
    ] * 2


def test_what_a_shared_answer_took_counts_once() -> None:
    answer = replace(fake_estimate(0.9, 0.0), cost_usd=0.002, tokens=200, latency_ms=30.0)
    one = replace(fake_estimate(0.4), cost_usd=0.0, tokens=10, latency_ms=1.0)
    cascade = Cascade(FakeBackend(lambda _: one, FIRST), FakeBackend(lambda _: answer, READER))
    queries = [Query("claim", context, None, "a b") for context in "ab"]
    found = [m for m in anyio.run(cascade.estimate, queries) if isinstance(m, Estimate)]
    assert [m.cost_usd for m in found] == [0.002, 0.0]
    assert [m.tokens for m in found] == [210, 10]
    assert [m.latency_ms for m in found] == [31.0, 1.0]


def test_a_second_that_reads_passages_gets_passages() -> None:
    second = large()
    cascade = Cascade(small(0.5), second)
    assert cascade.info.reads is Reads.PASSAGES
    anyio.run(cascade.estimate, [Query("0", "a", None, "a b")])
    assert second.queries == [Query("0", "a")]


# --- names over backends ---------------------------------------------------------------------

SET = {"self": "openai:gpt-4.1", "external": "http://x", "memory": "haiku", "trace": "embedded"}


@pytest.mark.spec("SPEC-08.27")
@pytest.mark.parametrize(
    ("name", "operation", "backend"),
    [
        ("self", "check", "openai:gpt-4.1"),
        ("external", "check", "http://x"),
        ("haiku", "output", HAIKU),
        ("configurable", "trace", "embedded"),
        ("configurable", "memory", HAIKU),
        ("embedded", "check", "embedded"),
        ("openai:self", "check", "openai:self"),
        ("nobody", "check", "nobody"),
    ],
)
def test_a_name_stands_for_the_backend_that_is_set(
    name: str, operation: Operation, backend: str
) -> None:
    assert resolve_alias(name, aliases=SET, operation=operation) == backend


def test_haiku_may_be_set() -> None:
    assert resolve_alias("haiku", aliases={"haiku": "anthropic:x"}) == "anthropic:x"
    assert resolve_alias("haiku", aliases={"haiku": None}) == HAIKU


@pytest.mark.parametrize(
    ("name", "aliases", "message"),
    [
        ("self", {}, "'self' is not set"),
        ("external", {"external": None}, "'external' is not set"),
        ("configurable", {"memory": "embedded"}, "not set for the operation 'check'"),
        ("self:gpt", SET, "takes no model"),
        ("self", {"self": "external", "external": "self"}, "self -> external -> self"),
        ("configurable", {"check": "configurable"}, "configurable -> configurable"),
    ],
)
def test_a_name_that_stands_for_nothing_says_what_to_set(
    name: str, aliases: dict[str, str | None], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        partial(resolve_alias, aliases=aliases)(name)
    assert caught.value.hint


def test_a_second_that_was_billed_and_failed_is_counted() -> None:
    first = replace(fake_estimate(0.5), tokens=10, cost_usd=0.0)
    billed = BilledFailure(UnmeasuredReason.MALFORMED_REPLY, tokens=90, cost_usd=0.5)
    (found,) = ask(Cascade(small(first), large(billed)))
    assert (getattr(found, "tokens", None), getattr(found, "cost_usd", None)) == (100, 0.5)
