"""Answers a question about three documents with a local model, verifies it, and retries.

python examples/orchestrator/run.py MODEL.gguf --trajectory trajectory.jsonl
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

import veridical
from veridical.orchestrator import (
    Orchestrator,
    Trajectory,
    VerificationConfig,
    from_text_model,
)
from veridical.wiring.build import build_text_model

if TYPE_CHECKING:
    from veridical.orchestrator import ProcessedAnswer

HERE = Path(__file__).parent
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("sources/*"))}
QUESTION = (
    "Describe the lifeboats of Port Ellery and the ferry to Gull Island in six sentences, with the"
    " names of the boats, the years, the numbers and the people."
)


def main() -> None:
    """Read the options, answer, and print what came of it."""
    options = _options()
    answer = anyio.run(_answer, options)
    for attempt in answer.attempts:
        print(f"attempt {attempt.number}: {_summary(attempt.report)}")
    print(f"action: {answer.action}, best attempt: {answer.best.number}\n\n{answer.text}")


async def _answer(options: argparse.Namespace) -> ProcessedAnswer:
    settings = veridical.Settings.load(
        threads=options.threads,
        gguf={"context_tokens": options.context_tokens},
        extraction={"timeout_s": options.deadline},
    )
    model = build_text_model(settings, f"gguf:{options.model}")
    kept = Trajectory(options.trajectory, unsafe_texts=True) if options.trajectory else None
    orchestrator = Orchestrator(
        from_text_model(model, max_tokens=options.max_tokens),
        veridical.Verifier.from_settings(),
        config=VerificationConfig(
            on_failure=options.on_failure, mode="full", max_claims_per_response=None
        ),
        deadline_s=options.deadline,
        trajectory=kept,
    )
    return await orchestrator.process(options.question, SOURCES)


def _summary(report: veridical.Report | None) -> str:
    if report is None:
        return "not verified"
    return f"{len(report.flagged)} of {report.summary.claims_checked} claims flagged"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a language model as a GGUF file")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--on-failure", choices=["flag", "retry"], default="retry")
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, help="default: one per processor")
    parser.add_argument("--deadline", type=float, default=1800.0, metavar="SECONDS")
    parser.add_argument("--trajectory", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
