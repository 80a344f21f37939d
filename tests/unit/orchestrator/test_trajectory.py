"""Events of each run, and their summary."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.hashing import short_hash
from veridical.core.measurements import Generated
from veridical.errors import DocumentError
from veridical.orchestrator import Orchestrator, Trajectory, VerificationConfig
from veridical.orchestrator.analysis import percentile, read_trajectory, summarise, to_document

pytestmark = pytest.mark.spec("SPEC-16.25")

FULL = VerificationConfig(mode="full")
SKIPPING = VerificationConfig(skip_short=True)
KINDS = ["run_started", "attempt", "verification", "decision"]


def events(bridge: ModuleType, texts: list[object], **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401 -- any argument
    found: list[dict[str, Any]] = []
    options = {"config": FULL, "trajectory": found.append, "verifier": bridge.verifier(), **options}
    bridge.process(Orchestrator(bridge.Script(texts), **options))
    return found


def test_events_tell_a_run_in_its_order(bridge: ModuleType) -> None:
    found = events(bridge, [bridge.WRONG, bridge.GOOD], on_failure="retry")
    assert [event["event"] for event in found] == [*KINDS, *KINDS[1:], "run_finished"]
    assert {event["schema"] for event in found} == {"veridical.trajectory/1"}
    assert len({event["run"] for event in found}) == 1
    _, first, check, retry, _, _, passed, end = found
    assert first["answer_hash"] == short_hash(bridge.WRONG)
    assert check["outcome"] == "flagged"
    assert check["by_status"]["contradicted"] == 1
    assert check["flagged"][0]["status"] == "contradicted"
    assert check["flagged"][0]["budget_gap_bits"] > 0
    assert (retry["decision"], passed["decision"]) == ("retry", "pass")
    assert (end["action"], end["best"], end["attempts"]) == ("passed", 2, 2)
    assert (end["flagged_before"], end["flagged_after"]) == (1, 0)


@pytest.mark.parametrize("unsafe", [False, True])
def test_texts_are_written_only_if_that_is_asked_for(
    bridge: ModuleType, tmp_path: Path, unsafe: bool
) -> None:
    path = tmp_path / "runs.jsonl"
    trajectory = Trajectory(path, unsafe_texts=unsafe)
    events(bridge, [bridge.WRONG, bridge.GOOD], on_failure="retry", trajectory=trajectory)
    written = path.read_text(encoding="utf-8")
    for text in ("ferry", "What of the bridge?", "nine thousand"):
        assert (text in written) is unsafe


@pytest.mark.spec("SPEC-16.27")
def test_tokens_cost_and_latency_of_each_attempt_are_written(bridge: ModuleType) -> None:
    written = Generated(bridge.GOOD, "m-1", prompt_tokens=7, output_tokens=3, cost_usd=0.25)
    _, attempt, check, _, end = events(bridge, [written])
    assert (attempt["model"], attempt["prompt_tokens"], attempt["output_tokens"]) == ("m-1", 7, 3)
    assert attempt["cut_off"] is False
    assert attempt["cost_usd"] == end["generation"]["cost_usd"] == 0.25
    assert check["cost_usd"] is None  # unknown to this backend, and not zero
    assert check["latency_ms"] > 0
    assert end["latency_ms"] >= end["verification"]["latency_ms"]


@pytest.mark.spec("SPEC-16.27")
def test_the_cost_of_the_embedded_verifier_is_known_to_be_nothing(bridge: ModuleType) -> None:
    import veridical

    verifier = veridical.Verifier.from_settings(veridical.Settings())
    written = Generated(bridge.GOOD, "m-1", prompt_tokens=7, output_tokens=3, cost_usd=0.25)
    *_, end = events(bridge, [written], verifier=verifier)
    assert end["verification"]["cost_usd"] == 0.0
    assert end["verification"]["tokens"] > 0


def test_a_skip_and_a_failure_are_events(bridge: ModuleType) -> None:
    *_, check, decision, _ = events(bridge, ["Short."], config=SKIPPING)
    assert (check["skipped"], check["outcome"], decision["decision"]) == ("too_short", None, "keep")
    *_, check, _, end = events(bridge, [bridge.GOOD], verifier=bridge.verifier(bridge.unmeasured))
    assert check["failure"] == end["failure"] == {"kind": "undetermined", "detail": "rate_limited"}


def test_a_run_without_an_answer_ends_in_the_trajectory_too(bridge: ModuleType) -> None:
    found: list[dict[str, Any]] = []
    orchestrator = Orchestrator(
        bridge.Script([OSError("secret")]), bridge.verifier(), trajectory=found.append
    )
    with pytest.raises(OSError, match="secret"):
        bridge.process(orchestrator)
    assert [event["event"] for event in found] == ["run_started", "attempt", "run_finished"]
    assert found[-1]["failure"] == {"kind": "generate_error", "detail": "OSError"}
    assert "secret" not in str(found)


@pytest.mark.spec("SPEC-08.43")
def test_a_trajectory_that_cannot_be_written_costs_nothing_but_itself(
    bridge: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="veridical")
    orchestrator = Orchestrator(
        bridge.Script([bridge.GOOD]), bridge.verifier(), config=FULL, trajectory=tmp_path
    )
    assert bridge.process(orchestrator).text == bridge.GOOD
    assert [record.getMessage() for record in caplog.records] == [
        "trajectory_not_written IsADirectoryError"
    ]


def test_what_comes_behind_a_torn_line_stands_on_a_line_of_its_own(
    bridge: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"schema": "veridical.traj')
    events(bridge, [bridge.GOOD], trajectory=path)
    found = read_trajectory(path)
    assert (len(found.events), found.unreadable, found.torn) == (5, 1, False)


def test_runs_at_once_do_not_mix_up_their_lines(bridge: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    orchestrator = Orchestrator(
        lambda *_, **__: bridge.WRONG, bridge.verifier(), config=FULL, trajectory=path
    )

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(orchestrator.process, "What?", bridge.SOURCES)

    anyio.run(run)
    summary = summarise(read_trajectory(path))
    assert (summary.runs, summary.unfinished, summary.unreadable) == (6, 0, 0)
    assert summary.flagged.after == 6


# --- the summary -----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.36")
def test_a_summary_counts_over_runs(bridge: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    good = Generated(bridge.GOOD, "m", prompt_tokens=1, output_tokens=1, cost_usd=0.25)
    events(bridge, [bridge.WRONG, bridge.GOOD], on_failure="retry", trajectory=path)
    events(bridge, [bridge.WRONG], trajectory=path)
    events(bridge, ["Short."], trajectory=path, config=SKIPPING)
    events(bridge, [good], trajectory=path)
    events(bridge, [good], verifier=bridge.verifier(bridge.unmeasured), trajectory=path)
    summary = summarise(read_trajectory(path))
    assert (summary.runs, summary.verified, summary.retried, summary.improved) == (5, 3, 1, 1)
    assert summary.attempts == 6
    assert summary.actions == {"flagged": 1, "not_verified": 2, "passed": 2}
    assert summary.skips == {"too_short": 1}
    assert summary.failures == {"undetermined": 1}
    assert (summary.flagged.before, summary.flagged.after) == (2, 1)
    assert summary.generation.n == 6
    assert summary.verification.n == 5
    # The one run with both costs known was turned away at a limit, which costs nothing.
    assert (summary.cost.runs, summary.cost.share) == (1, 0.0)


@pytest.mark.spec("SPEC-16.36")
def test_the_share_of_cost_is_over_runs_where_both_are_known(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    head = {"schema": "veridical.trajectory/1", "event": "run_finished", "action": "passed"}
    costs = [(1.0, 0.05), (3.0, 0.15), (None, 9.0), (5.0, None)]
    path.write_text(
        "".join(
            json.dumps(
                {
                    **head,
                    "run": str(n),
                    "generation": {"cost_usd": first},
                    "verification": {"cost_usd": last},
                }
            )
            + "\n"
            for n, (first, last) in enumerate(costs)
        )
    )
    cost = summarise(read_trajectory(path)).cost
    assert (cost.runs, cost.generation_usd) == (2, 4.0)
    assert cost.share == pytest.approx(0.05)


def test_a_text_that_was_verified_before_is_not_measured_again(
    bridge: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    events(bridge, [bridge.WRONG] * 2, on_failure="retry", trajectory=path)
    summary = summarise(read_trajectory(path))
    assert (summary.attempts, summary.verification.n) == (2, 1)


def test_a_run_without_an_end_is_unfinished_and_a_torn_line_is_told(
    bridge: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    events(bridge, [bridge.GOOD], trajectory=path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: whole.index(b"\n") // 2])
    assert (read_trajectory(path).unreadable, read_trajectory(path).torn) == (1, True)
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert summarise(read_trajectory(path)).unfinished == 1


@pytest.mark.parametrize("content", [b"", b"text\n", b'{"schema": "other"}\n', b"[1]\n\xff\n"])
def test_what_is_no_trajectory_is_a_named_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(content)
    with pytest.raises(DocumentError):
        read_trajectory(path)
    with pytest.raises(DocumentError):
        read_trajectory(tmp_path / "missing.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = ["attempt", "action", "skipped", "failure", "flagged_after", "flagged_before", "latency_ms"]
KEYS += ["generation", "verification", "outcome", "critical_after", "critical_before"]


@given(st.data())
def test_whatever_an_event_holds_it_can_be_summed_up(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kinds = st.sampled_from([*KINDS, "run_finished", "other"])
    lines = data.draw(st.lists(st.tuples(kinds, st.dictionaries(st.sampled_from(KEYS), JSON))))
    head = {"schema": "veridical.trajectory/1", "run": "a"}
    text = "".join(json.dumps({**body, **head, "event": kind}) + "\n" for kind, body in lines)
    path = tmp_path_factory.mktemp("t") / "runs.jsonl"
    path.write_text(json.dumps({**head, "event": "run_started"}) + "\n" + text)
    document = to_document(summarise(read_trajectory(path)))
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_among_the_values(values: list[float], share: float) -> None:
    found = percentile(sorted(values), share)
    assert found is not None
    assert min(values) - 1e-6 <= found <= max(values) + 1e-6
    assert percentile(sorted(values), 0.0) == min(values)
    assert percentile(sorted(values), 1.0) == max(values)
