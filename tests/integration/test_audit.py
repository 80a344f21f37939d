"""An audit from end to end: the embedded verifier, a real text model, the command as installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from veridical import Verifier
from veridical.audit.auditing import AnswerDeriver, audit
from veridical.audit.values import PostHocVerdict
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.gguf_text import create

SOURCES = {
    "S1": "The bridge was opened to traffic in 1998. It carries eight lanes.",
    "S2": "The toll was abolished in 2005.",
}
STEPS = [
    "The bridge was opened in 1998 [S1].",
    "It carries six lanes [S1].",
    "The toll was abolished in 2005 [S2].",
    "The ferry stopped in 1999 [step7].",
]


@pytest.mark.spec("SPEC-08.23", "SPEC-08.24", "SPEC-08.25")
def test_the_embedded_verifier_labels_the_steps_and_the_answer() -> None:
    backend = EmbeddedVerifier(threads=1)
    trace = {"steps": STEPS, "sources": SOURCES, "answer": "The bridge was opened in 1998."}
    executor = AnswerDeriver(backend)
    found = anyio.run(lambda: audit(trace, Verifier(backend), executor=executor))
    assert [step.label for step in found.steps] == [
        "ENTAILED",
        "CONTRADICTED",
        "ENTAILED",
        "NOT_IN_CONTEXT",
    ]
    assert found.first_error is not None
    assert found.first_error.id == "step2"
    assert found.post_hoc is not None
    assert found.post_hoc.verdict is PostHocVerdict.DERIVABLE
    assert found.post_hoc.premises == ("step1", "step3")
    assert found.post_hoc.needed.unneeded == ("step3",)


@pytest.mark.spec("SPEC-08.26")
def test_a_real_text_model_is_the_executor(smollm2_path: Path) -> None:
    backend = EmbeddedVerifier(threads=1)
    model = create(str(smollm2_path), threads=1, context_tokens=2048, timeout_s=300.0)
    try:
        trace = {
            "steps": [STEPS[0]],
            "sources": SOURCES,
            "question": "In which year was the bridge opened?",
            "answer": "1998",
        }
        call = AnswerDeriver(backend, model)
        found = anyio.run(lambda: audit(trace, Verifier(backend), executor=call)).post_hoc
    finally:
        model.close()
    assert found is not None
    assert found.executor == "text_model"
    # Its answers are chance, but it is held to the schema: it derives something, or it does not.
    assert found.verdict is not PostHocVerdict.UNDETERMINED
    assert (found.derived is None) == (found.verdict is PostHocVerdict.NOT_DERIVABLE)


def test_the_command_reads_a_trace_and_says_what_does_not_hold(tmp_path: Path) -> None:
    trace = {"steps": STEPS, "sources": SOURCES}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    command = [sys.executable, "-m", "veridical", "audit", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["overall"] == {"soundness": "INVALID", "rule": "a_step_is_contradicted"}
    assert document["first_error"] == "step2"
