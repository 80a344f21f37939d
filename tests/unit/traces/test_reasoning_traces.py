"""Reasoning traces, in SQLite; the backend is fake where it is not the point."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.verdicts import Status
from veridical.errors import (
    BackendError,
    ConfigurationError,
    InputError,
    SourceError,
    StoreError,
    TextError,
)
from veridical.settings import Settings
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.traces import EdgeLabel, NodeKind, ReasoningTraces
from veridical.verification.verifier import Verifier

Make = Callable[..., ReasoningTraces]


def answer(query: Query) -> Measurement:
    """Support claims that the context holds verbatim; oppose claims with "six"."""
    if query.claim in query.context:
        return fake_estimate(0.99)
    return fake_estimate(0.01, 0.98 if "six" in query.claim else 0.0)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make traces in one store, each with the backend that is wanted."""
    opened = []

    def new(backend: object = None) -> ReasoningTraces:
        chosen = Settings(threads=1, store={"url": f"sqlite:///{tmp_path}/traces.db"})
        verifier = Verifier(backend or FakeBackend(answer))  # type: ignore[arg-type]
        opened.append(ReasoningTraces(verifier=verifier, settings=chosen))
        return opened[-1]

    yield new
    for one in opened:
        one.close()


@pytest.fixture
def traces(make: Make) -> ReasoningTraces:
    return make()


@pytest.fixture
def goal(traces: ReasoningTraces) -> str:
    return traces.add_goal("Say how wide the bridge is")


@pytest.fixture
def decision(traces: ReasoningTraces, goal: str) -> str:
    return traces.add_decision(goal, "Read the notice")


# --- nodes and edges -------------------------------------------------------------------------


def test_every_kind_of_node_hangs_where_it_was_put(traces: ReasoningTraces, goal: str) -> None:
    decision = traces.add_decision(goal, "Read the notice")
    option = traces.add_option(decision, "Read it", chosen=True)
    action = traces.add_action(option, "open notice.txt")
    outcome = traces.add_outcome(action, "It has eight lanes.")
    seen = traces.add_observation(outcome, "It is short.")
    claim = traces.add_claim(decision, "It has eight lanes.", [outcome])
    made = traces.verify_claim(claim).id
    kinds = [node.kind for node in traces.tree(goal).nodes]
    assert sorted(kinds) == sorted(NodeKind)
    assert [node.id for node in traces.path(seen)] == [
        goal, decision, option, action, outcome, seen
    ]  # fmt: skip
    assert [node.id for node in traces.children(decision)] == [option, claim]
    assert [node.id for node in traces.path(made)] == [goal, decision, claim, made]


def test_edges_say_how_nodes_belong_together(traces: ReasoningTraces, goal: str) -> None:
    decision = traces.add_decision(goal, "Read the notice")
    chosen, other = traces.add_option(decision, "a", chosen=True), traces.add_option(decision, "b")
    traces.link(decision, "rejected", other)
    traces.link(decision, "rejected", other)
    sub_goal = traces.add_goal("Find the notice", goal)
    tree = traces.tree(goal)
    assert tree.labels(goal, decision) == (EdgeLabel.HAS_DECISION,)
    assert tree.labels(goal, sub_goal) == (EdgeLabel.HAS_SUBGOAL,)
    assert tree.labels(decision, chosen) == (EdgeLabel.CONSIDERS, EdgeLabel.CHOSE)
    assert tree.labels(decision, other) == (EdgeLabel.CONSIDERS, EdgeLabel.REJECTED)


@pytest.mark.spec("SPEC-16.11", "SPEC-16.13", "SPEC-16.15")
def test_a_claim_is_a_node_with_an_edge_to_each_evidence_it_cites(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    source = traces.add_evidence(goal, "S1", "It has eight lanes.")
    seen = traces.add_observation(decision, "It is long.")
    claim = traces.add_claim(decision, "It has eight lanes.", ["S1", seen])
    node, tree = traces.node(claim), traces.tree(goal)
    assert node.kind is NodeKind.CLAIM
    assert node.data == {"evidence_ids": ["S1", seen], "confidence": 0.5}
    assert tree.labels(decision, claim) == (EdgeLabel.ASSERTS,)
    assert tree.labels(claim, source) == tree.labels(claim, seen) == (EdgeLabel.CITES,)


def test_what_makes_no_sense_is_a_named_error(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    option = traces.add_option(decision, "a")
    elsewhere = traces.add_decision(traces.add_goal("another"), "b")
    wrong: list[Callable[[], object]] = [
        lambda: traces.add_option(goal, "an option of a goal"),
        lambda: traces.add_outcome(decision, "an outcome of a decision"),
        lambda: traces.add_goal("under an option", option),
        lambda: traces.add_claim(traces.add_claim(decision, "x"), "a claim of a claim"),
        lambda: traces.add_claim(decision, "x", [option]),
        lambda: traces.add_claim(decision, "x", "S1"),
        lambda: traces.add_claim(decision, "x", [1]),  # type: ignore[list-item]
        lambda: traces.add_claim(decision, "x", [], 1.5),
        lambda: traces.add_claim(decision, "x", [], float("nan")),
        lambda: traces.add_decision("no-such-node", "x"),
        lambda: traces.add_decision(None, "x"),  # type: ignore[arg-type]
        lambda: traces.add_goal(" "),
        lambda: traces.add_goal("a\0b"),
        lambda: traces.add_goal("\ud800"),
        lambda: traces.link(goal, "chose", option),
        lambda: traces.link(decision, "cites", option),
        lambda: traces.link(decision, "nonsense", option),
        lambda: traces.link(elsewhere, "chose", option),
        lambda: traces.verify_claim(decision),
        lambda: traces.verify_claim("no-such-claim"),
        lambda: traces.tree(decision),
        lambda: traces.get_verification_report("no-such-goal"),
        lambda: traces.claims(goal, "fine"),
        lambda: traces.search(""),
        lambda: traces.search("x", kind="fine"),
        lambda: traces.find_goal("goal-"),
        lambda: traces.find_goal(decision),
        lambda: traces.remove(traces.add_goal("sub", goal)),
    ]
    for call in wrong:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.hint
        assert "an option of a goal" not in str(caught.value)


def test_evidence_of_one_id_is_kept_once_and_never_replaced(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    first = traces.add_evidence(goal, "S1", "It has eight lanes.")
    assert traces.add_evidence(decision, "S1", "It has eight lanes.") == first
    with pytest.raises(SourceError, match="S1"):
        traces.add_evidence(goal, "S1", "It has six lanes.")
    with pytest.raises(TextError):
        traces.add_evidence(goal, "S2", "")
    assert traces.add_evidence(traces.add_goal("another"), "S1", "other") != first


# --- verification ----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.12", "SPEC-16.14", "SPEC-16.16")
@pytest.mark.parametrize(
    ("claim", "status", "label"),
    [
        ("It has eight lanes.", Status.SUPPORTED, EdgeLabel.VERIFIES),
        ("It has six lanes.", Status.CONTRADICTED, EdgeLabel.REFUTES),
        ("It is blue.", Status.UNSUPPORTED, EdgeLabel.REFUTES),
    ],
)
def test_a_verification_is_a_node_that_verifies_or_refutes_its_claim(
    traces: ReasoningTraces, goal: str, claim: str, status: Status, label: EdgeLabel
) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim_id = traces.add_claim(goal, claim, ["S1"])
    result = traces.verify_claim(claim_id)
    assert (result.status, result.label, result.model) == (status, label, "fake")
    assert result.verification.claim_id == result.claim_id == claim_id
    assert traces.node(result.id).kind is NodeKind.VERIFICATION
    assert traces.tree(goal).labels(result.id, claim_id) == (label,)
    assert traces.claims(goal)[0].latest == result


def test_a_support_of_zero_is_a_support_of_zero(make: Make) -> None:
    traces = make(FakeBackend(lambda _: fake_estimate(0.0)))
    goal = traces.add_goal("g")
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    result = traces.verify_claim(traces.add_claim(goal, "It is blue.", ["S1"], 0.0))
    assert (result.p1, result.verification.target) == (0.0, 0.0)
    report = traces.get_verification_report(goal)
    assert (report.overall_confidence, report.claims[0].confidence) == (0.0, 0.0)
    assert report.to_dict()["overall_confidence"] == 0.0


def test_the_confidence_of_a_claim_is_what_its_evidence_has_to_pay_for(
    traces: ReasoningTraces, goal: str
) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    for confidence in (0.2, 0.999):
        claim = traces.add_claim(goal, "It has eight lanes.", ["S1"], confidence)
        assert traces.verify_claim(claim).verification.target == confidence


def test_a_missing_evidence_is_a_phantom_before_and_after_verification(
    traces: ReasoningTraces, goal: str
) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1", "S9"])
    (gap,) = traces.get_epistemic_gaps(goal)
    assert (gap.gap_type, gap.gap_bits, gap.severity) == ("phantom_citation", None, "critical")
    assert traces.get_verification_report(goal).outcome == "flagged"
    assert traces.verify_claim(claim).status is Status.PHANTOM_CITATION
    assert traces.get_epistemic_gaps(goal)[0].gap_type == "phantom_citation"
    assert traces.claims(goal)[0].phantom_citations == ("S9",)


@pytest.mark.parametrize(
    ("cites", "status"), [(["S1"], Status.PHANTOM_CITATION), ([], Status.UNSUPPORTED)]
)
def test_in_a_trace_without_evidence_nobody_is_asked(
    make: Make, cites: list[str], status: Status
) -> None:
    backend = FakeBackend(answer)
    traces = make(backend)
    goal = traces.add_goal("g")
    result = traces.verify_claim(traces.add_claim(goal, "It is blue.", cites))
    assert (result.status, result.p1, backend.queries) == (status, None, [])
    assert traces.get_epistemic_gaps(goal)[0].gap_type == status.value


def test_evidence_of_another_trace_is_a_phantom(traces: ReasoningTraces, goal: str) -> None:
    other = traces.add_evidence(traces.add_goal("another"), "S1", "It has eight lanes.")
    traces.add_evidence(goal, "S2", "It is long.")
    claim = traces.add_claim(goal, "It has eight lanes.", [other])
    assert traces.verify_claim(claim).status is Status.PHANTOM_CITATION


def test_evidence_that_comes_later_counts_from_then_on(traces: ReasoningTraces, goal: str) -> None:
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    assert traces.verify_claim(claim).status is Status.PHANTOM_CITATION
    source = traces.add_evidence(goal, "S1", "It has eight lanes.")
    assert traces.verify_claim(claim).status is Status.SUPPORTED
    assert traces.tree(goal).labels(claim, source) == (EdgeLabel.CITES,)
    assert traces.get_epistemic_gaps(goal) == []


def test_named_evidence_may_be_cited_by_the_id_of_its_node_too(
    traces: ReasoningTraces, goal: str
) -> None:
    node = traces.add_evidence(goal, "S1", "It has eight lanes.")
    traces.add_evidence(goal, "S2", "It is long.")
    claim = traces.add_claim(goal, "It has eight lanes.", [node])
    result = traces.verify_claim(claim)
    assert (result.status, result.verification.evidence_ids) == (Status.SUPPORTED, ("S1",))


def test_verifying_again_keeps_the_history_and_the_last_measured_verdict_counts(make: Make) -> None:
    traces, doubtful = make(), make(FakeBackend(lambda _: fake_estimate(0.1)))
    goal = traces.add_goal("g")
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    results = [traces.verify_claim(claim), doubtful.verify_claim(claim)]
    (record,) = traces.claims(goal)
    assert [one.id for one in record.history] == [one.id for one in results]
    assert record.state == "unsupported"
    assert len(traces.get_verification_report(goal).gaps) == 1
    traces.verify_claims(goal, again=True)
    assert traces.get_verification_report(goal).outcome == "grounded"
    assert len(traces.claims(goal)[0].history) == 3


class Broken:
    """A backend that fails in a way of its own."""

    info = FakeBackend(answer).info

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def estimate(self, _: object) -> list[Measurement]:
        raise self.error


def test_a_failed_reverification_leaves_a_known_contradiction_standing(make: Make) -> None:
    traces, broken = make(), make(Broken(RuntimeError("secret")))
    goal = traces.add_goal("g")
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has six lanes.", ["S1"])
    known = traces.verify_claim(claim)
    failed = [broken.verify_claim(claim) for _ in range(2)]
    assert {one.status for one in failed} == {Status.UNDETERMINED}
    report = make().get_verification_report(goal)  # read back from the store
    (record,) = report.claims
    assert record.latest == known
    assert [one.id for one in record.failed_since] == [one.id for one in failed]
    assert (record.state, report.flagged_claims, report.stale_claims) == ("contradicted", 1, 1)
    assert (report.outcome, report.gaps[0].gap_type) == ("flagged", "contradicted")
    assert report.has_critical_gaps
    assert report.undetermined_claims == 0
    assert traces.claims(goal, "contradicted") == [record]
    assert report.to_dict()["claims"][0]["failed_since"] == 2
    assert "not measured (backend_error)" in str(record)
    assert "1 not measured again since" in report.headline


def test_a_later_measurement_replaces_the_verdict_and_its_failures(make: Make) -> None:
    traces, broken = make(), make(Broken(RuntimeError()))
    goal = traces.add_goal("g")
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    broken.verify_claim(claim)
    (record,) = traces.claims(goal)
    assert (record.state, record.failed_since) == ("undetermined", ())
    traces.verify_claims(goal)
    (record,) = traces.claims(goal)
    assert (record.state, record.failed_since) == ("supported", ())


@pytest.mark.parametrize(
    "backend",
    [
        Broken(RuntimeError("SECRET")),
        Broken(BackendError("weights are damaged")),
        FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT)),
    ],
)
def test_a_backend_that_fails_gives_an_undetermined_verification(
    make: Make, backend: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    traces = make(backend)
    goal = traces.add_goal("g")
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    result = traces.verify_claim(claim)
    assert (result.status, result.p1) == (Status.UNDETERMINED, None)
    assert result.verification.unmeasured in {"timeout", "backend_error"}
    assert traces.tree(goal).labels(result.id, claim) == (EdgeLabel.LEAVES_OPEN,)
    report = traces.get_verification_report(goal)
    assert (report.undetermined_claims, report.verified_claims, report.outcome) == (
        1, 0, "undetermined"
    )  # fmt: skip
    assert (report.overall_confidence, report.gaps) == (None, ())
    assert "eight lanes" not in caplog.text
    assert "SECRET" not in str(result)


def test_another_model_is_asked_by_name(traces: ReasoningTraces, goal: str) -> None:
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    with pytest.raises(ConfigurationError):
        traces.verify_claim(claim, "no-such-backend")
    assert traces.claims(goal)[0].history == ()
    assert traces.verify_claim(claim, verification_model="embedded").model != "fake"


def test_a_verification_and_its_edges_are_written_together_or_not_at_all(
    traces: ReasoningTraces, goal: str
) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.", ["S1"])
    store: Store = traces._tables._store
    with store.write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER no_edge BEFORE INSERT ON trace_edges WHEN NEW.label = 'verifies' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises(StoreError):
        traces.verify_claim(claim)
    assert traces.claims(goal)[0].history == ()
    assert traces.tree(goal).of_kind(NodeKind.VERIFICATION) == ()


def test_claims_can_be_verified_from_a_running_loop(traces: ReasoningTraces, goal: str) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    claims = [traces.add_claim(goal, "It has eight lanes.", ["S1"]) for _ in range(3)]

    async def at_once() -> None:
        async with anyio.create_task_group() as group:
            for claim in claims:
                group.start_soon(traces.averify_claim, claim)

    asyncio.run(at_once())

    async def blocking() -> Status:
        return traces.verify_claim(claims[0]).status

    assert asyncio.run(blocking()) is Status.SUPPORTED
    assert [len(claim.history) for claim in traces.claims(goal)] == [2, 1, 1]


def test_a_model_that_there_is_not_is_named_though_no_claim_is_open(
    traces: ReasoningTraces, goal: str
) -> None:
    with pytest.raises(ConfigurationError, match="'nobody'"):
        traces.verify_claims(goal, "nobody")


def test_claims_with_a_verdict_are_not_verified_again_unless_asked(
    make: Make,
) -> None:
    failing = make(Broken(RuntimeError()))
    goal = failing.add_goal("g")
    failing.add_evidence(goal, "S1", "It has eight lanes.")
    failing.add_claim(goal, "It has eight lanes.", ["S1"])
    assert [one.status for one in failing.verify_claims(goal)] == [Status.UNDETERMINED]
    traces = make()
    assert [one.status for one in traces.verify_claims(goal)] == [Status.SUPPORTED]
    assert traces.verify_claims(goal) == []


# --- any trace -------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["goal", "decision", "action", "outcome", "evidence", "claim"]),
        st.integers(0, 30),
        st.booleans(),
    ),
    max_size=20,
)


def grow(traces: ReasoningTraces, steps: list[tuple[str, int, bool]]) -> str:
    """Add valid children to nodes, and verify some claims; return the goal."""
    goal = traces.add_goal("g")
    ids = [goal]
    adding = {
        "goal": lambda above, n: traces.add_goal(f"It has {n} goals.", above),
        "decision": lambda above, n: traces.add_decision(above, f"It has {n} ways."),
        "action": lambda above, n: traces.add_action(above, f"It has {n} steps."),
        "outcome": lambda above, n: traces.add_outcome(above, f"It has {n} lanes."),
        "evidence": lambda above, n: traces.add_evidence(above, f"S{n}", f"It has {n} lanes."),
        "claim": lambda above, n: traces.add_claim(above, f"It has {n} lanes.", [f"S{n}"]),
    }
    for kind, n, verified in steps:
        try:
            made = adding[kind](ids[n % len(ids)], n)
        except InputError:
            continue  # such a node cannot hang there
        ids.append(made)
        if kind == "claim" and verified:
            traces.verify_claim(made)
    return goal


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_is_written_is_reached_and_can_be_taken_elsewhere(
    make: Make, tmp_path: Path, steps: list[tuple[str, int, bool]]
) -> None:
    traces = make()
    goal = grow(traces, steps)
    for one in traces.tree(goal).of_kind(NodeKind.GOAL):
        tree, report = traces.tree(one.id), traces.get_verification_report(one.id)
        assert sorted(node.id for _, node in tree.walk()) == sorted(tree.by_id)
        assert report.total_claims == len(tree.of_kind(NodeKind.CLAIM))
        assert report.total_claims == sum(report.by_state.values())
        with ReasoningTraces(f"sqlite:///{tmp_path}/{one.id}.db") as elsewhere:
            assert elsewhere.import_trace(tree.to_dict()) == one.id
            assert elsewhere.tree(one.id) == tree
            assert elsewhere.get_verification_report(one.id) == report


# --- gaps and reports ------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.02", "SPEC-08.23")
@pytest.mark.parametrize(("on", "auditing"), [(True, True), (True, False), (False, True)])
def test_with_trace_auditing_on_a_report_is_one_of_verified_claims(
    tmp_path: Path, *, on: bool, auditing: bool
) -> None:
    chosen = Settings(
        store={"url": f"sqlite:///{tmp_path}/audited.db"},
        hallucination={"enabled": on, "trace_auditing": {"enabled": auditing}},
    )
    backend = FakeBackend(answer)
    with ReasoningTraces(verifier=Verifier(backend), settings=chosen) as traces:
        goal = traces.add_goal("Say how wide the bridge is")
        traces.add_evidence(goal, "S1", "It has eight lanes.")
        traces.add_claim(goal, "It has six lanes.", ["S1"])
        (claim,) = traces.get_verification_report(goal).claims
        assert claim.state == ("contradicted" if on and auditing else "unverified")
        assert bool(traces.get_epistemic_gaps(goal)) == (on and auditing)
        asked = len(backend.queries)
        traces.get_verification_report(goal)
        assert len(backend.queries) == asked


@pytest.mark.spec("SPEC-08.27")
def test_the_settings_say_who_audits(tmp_path: Path) -> None:
    chosen = Settings(
        store={"url": f"sqlite:///{tmp_path}/audited.db"},
        hallucination={
            "enabled": True,
            "trace_auditing": {"enabled": True},
            "backend": {"type": "configurable"},
        },
        aliases={"trace": "nobody"},
    )
    with ReasoningTraces(settings=chosen) as traces:
        goal = traces.add_goal("Say how wide the bridge is")
        with pytest.raises(ConfigurationError, match="'nobody'"):
            traces.get_verification_report(goal)


@pytest.mark.spec("SPEC-16.17", "SPEC-16.18", "SPEC-16.20")
def test_the_report_counts_every_claim_under_the_goal(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    traces.add_evidence(goal, "S1", "It has eight lanes.")
    sub_goal = traces.add_goal("Find the colour", goal)
    claims = [
        traces.add_claim(decision, "It has eight lanes.", ["S1"]),
        traces.add_claim(decision, "It has six lanes.", ["S1"]),
        traces.add_claim(sub_goal, "It is blue.", ["S7"]),
    ]
    never = traces.add_claim(sub_goal, "It is red.", ["S1"])
    for claim in claims:
        traces.verify_claim(claim)
    report = traces.get_verification_report(goal)
    counts = (report.total_claims, report.verified_claims, report.flagged_claims)
    assert counts == (4, 3, 2)
    assert (report.unverified_claims, report.undetermined_claims) == (1, 0)
    assert report.by_state == {
        "supported": 1, "contradicted": 1, "phantom_citation": 1, "unverified": 1
    }  # fmt: skip
    assert [claim.id for claim in report.claims] == [*claims, never]
    assert report.overall_confidence == pytest.approx((0.99 + 0.01 + 0.01) / 3)
    assert report.has_critical_gaps
    gaps = traces.get_epistemic_gaps(goal)
    assert [(gap.claim_id, gap.gap_type) for gap in gaps] == [
        (claims[1], "contradicted"), (claims[2], "phantom_citation")
    ]  # fmt: skip
    assert [gap.claim_id for gap in traces.get_epistemic_gaps(sub_goal)] == [claims[2]]
    assert [claim.id for claim in traces.claims(goal, "unverified")] == [never]
    assert [claim.id for claim in traces.claims(goal, "supported")] == claims[:1]


def test_claims_never_verified_are_no_pass_and_no_claims_are_nothing_to_check(
    traces: ReasoningTraces, goal: str
) -> None:
    assert traces.get_verification_report(goal).outcome == "nothing_to_check"
    traces.add_claim(goal, "It has eight lanes.")
    report = traces.get_verification_report(goal)
    assert (report.outcome, report.overall_confidence, report.max_gap_bits) == (
        "undetermined", None, None
    )  # fmt: skip


# --- queries ---------------------------------------------------------------------------------


def test_nodes_are_found_by_their_words_in_any_case(traces: ReasoningTraces, goal: str) -> None:
    seen = traces.add_observation(goal, "Die BRÜCKE über 100% der Straße")
    other = traces.add_observation(traces.add_goal("another"), "brücke")
    assert [node.id for node in traces.search("straße brücke")] == [seen]
    assert [node.id for node in traces.search("Brücke")] == [other, seen]
    assert [node.id for node in traces.search("brücke", goal)] == [seen]
    assert [node.id for node in traces.search("100%")] == [seen]
    assert traces.search("100_") == []
    assert traces.search("brücke", kind="claim") == []
    assert len(traces.search("brücke", limit=1)) == 1


def test_goals_are_listed_with_their_sizes_and_found_by_how_they_begin(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    traces.add_claim(decision, "It has eight lanes.")
    traces.add_goal("sub", goal)
    other = traces.add_goal("another")
    found = [(one.goal.id, one.nodes, one.claims) for one in traces.goals()]
    assert found == [(goal, 4, 1), (other, 1, 0)]
    assert traces.find_goal(goal[:-2]) == goal


def test_a_trace_is_removed_whole_and_others_stay(
    traces: ReasoningTraces, goal: str, decision: str
) -> None:
    traces.verify_claim(traces.add_claim(decision, "It has eight lanes."))
    other = traces.add_goal("another")
    assert traces.remove(goal) == 4
    assert [one.goal.id for one in traces.goals()] == [other]
    with pytest.raises(InputError):
        traces.tree(goal)


def test_no_text_is_in_the_repr_of_a_value(traces: ReasoningTraces, goal: str) -> None:
    traces.add_evidence(goal, "S1", "SECRET lanes")
    claim = traces.add_claim(goal, "SECRET lanes", ["S1"])
    result = traces.verify_claim(claim)
    values = [traces.tree(goal), result, traces.get_verification_report(goal), traces.node(claim)]
    assert "SECRET" not in repr([*values, traces.claims(goal), traces.goals()])


def test_a_verification_keeps_what_it_took_and_a_report_sums_it_up(make: Make) -> None:
    traces = make(FakeBackend(lambda q: replace(answer(q), tokens=10, cost_usd=0.25)))  # type: ignore[arg-type]
    goal = traces.add_goal("Say how wide the bridge is")
    traces.add_observation(goal, "It has eight lanes.")
    claim = traces.add_claim(goal, "It has eight lanes.")
    found = traces.verify_claim(claim)
    assert (found.verification.tokens, found.verification.cost_usd) == (20, 0.5)
    traces.verify_claim(claim)
    report = traces.get_verification_report(goal)
    assert (report.tokens, report.cost_usd) == (40, 1.0)
    assert report.to_dict()["tokens"] == 40
    (kept,) = traces.claims(goal)
    assert kept.history[0].verification.cost_usd == 0.5


def test_what_a_failed_verification_took_is_unknown(make: Make) -> None:
    traces = make(FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT)))
    goal = traces.add_goal("Say how wide the bridge is")
    traces.add_observation(goal, "It has eight lanes.")
    traces.verify_claim(traces.add_claim(goal, "It has eight lanes."))
    report = traces.get_verification_report(goal)
    assert (report.tokens, report.cost_usd) == (None, None)


def test_the_policy_of_the_verifier_holds_for_claims(tmp_path: Path) -> None:
    verifier = Verifier(
        FakeBackend(lambda _: fake_estimate(0.8)), policy=Policy(support_threshold=0.9)
    )
    settings = Settings(threads=1, store={"url": f"sqlite:///{tmp_path}/own.db"})
    with ReasoningTraces(verifier=verifier, settings=settings) as traces:
        goal = traces.add_goal("Say how wide the bridge is")
        traces.add_observation(goal, "It has eight lanes.")
        found = traces.verify_claim(traces.add_claim(goal, "It has eight lanes."))
        assert found.status is Status.UNSUPPORTED
