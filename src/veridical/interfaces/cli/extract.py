"""`veridical extract`: validated quotes that a text model copies out of a transcript."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.interfaces.cli import options, quotes
from veridical.interfaces.cli.failures import UNDETERMINED, WRONG_USE, reported, say

if TYPE_CHECKING:
    from veridical.core.measurements import Unmeasured
    from veridical.quotes.extraction import Extraction
    from veridical.quotes.grounding import Speakers
    from veridical.settings import Settings

EXAMPLES = """\b
Examples:
  veridical extract interview.txt --backend openai:gpt-4.1-mini
  veridical extract interview.vtt --backend gguf:model.gguf --json --out evidence.json
  veridical extract interview.txt --backend openai:qwen --speaker Participant --strict
  veridical extract call.srt --backend openai:qwen --keys complaint,promise --failures runs/

\b
Exit codes:
  0  no quote of the text model is rejected
  1  at least one quote is rejected: it is not in the transcript
  2  wrong use or configuration, or an answer of another shape
  3  undetermined: no text model, or no answer from it
"""

Backend = Annotated[
    str | None, typer.Option(metavar="NAME[:MODEL]", help="The text model that copies quotes.")
]
Participant = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Participant of the transcript, for logs and failures."),
]
Failures = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write failures_<run id>.json to DIR.")
]
Retry = Annotated[
    bool | None,
    typer.Option(
        "--corrective-retry/--no-corrective-retry",
        help="Ask once more, with the error, if the answer is not valid.",
    ),
]
FailAll = Annotated[
    bool | None,
    typer.Option(
        "--fail-on-all-rejected/--no-fail-on-all-rejected",
        help="If every quote is rejected, print no result: exit with 1.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="OUT", help="Also write the JSON document to OUT.")
]


@reported
def extract(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    transcript: quotes.Transcript,
    *,
    backend: Backend = None,
    keys: quotes.Keys = None,
    mode: quotes.Mode = None,
    threshold: quotes.Threshold = None,
    strict: quotes.Strict = None,
    speaker: quotes.Speaker = None,
    corrective_retry: Retry = None,
    fail_on_all_rejected: FailAll = None,
    participant: Participant = None,
    failures: Failures = None,
    out: Out = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Extract verified quotes from TRANSCRIPT.

    A text model copies the quotes; only quotes that are in the transcript are kept.
    """
    from veridical.core.measurements import Unmeasured
    from veridical.errors import EvidenceGroundingError, EvidenceSchemaError
    from veridical.interfaces.cli.output import ensure_writable
    from veridical.readers.documents import read_text

    settings = quotes.load(
        config,
        keys=keys,
        strict=strict,
        mode=mode,
        threshold=threshold,
        fail_on_all_rejected=fail_on_all_rejected,
        text_model=backend,
        corrective_retry=corrective_retry,
        failures=None if failures is None else str(failures),
    )
    ensure_writable([] if out is None else [out], [transcript])
    text = read_text(transcript, "the transcript")
    if settings.text_model is None:
        say("error", "there is no text model", "Name one with --backend or text_model")
        raise typer.Exit(UNDETERMINED)
    try:
        found = _run(settings, text, quotes.whose_words(speaker), participant)
    except EvidenceSchemaError as error:
        quotes.say_violations(error.message, error.violations)
        raise typer.Exit(WRONG_USE) from None
    except EvidenceGroundingError as error:
        say("error", error.message, error.hint)
        raise typer.Exit(quotes.REJECTED) from None
    if isinstance(found, Unmeasured):
        say("error", f"the text model gave no answer: {found.reason} ({found.detail})")
        raise typer.Exit(UNDETERMINED)
    _put(found, out, json=json, quiet=quiet)
    raise typer.Exit(quotes.REJECTED if found.llm_evidence_rejected_count else quotes.KEPT)


def _run(
    settings: Settings, text: str, speaker: Speakers, participant: str | None
) -> Extraction | Unmeasured:
    from functools import partial

    import anyio

    from veridical.quotes.extraction import EvidenceExtractor
    from veridical.wiring.build import build_text_model

    model = build_text_model(settings, settings.text_model)
    extractor = EvidenceExtractor(model, settings, speaker=speaker)
    return anyio.run(partial(extractor.extract, text, participant_id=participant))


def _put(found: Extraction, out: Path | None, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich, write_file

    document = json_module.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        write_file(out, document)
    if json:
        print_json(document)
    elif not quiet:
        from veridical.interfaces.cli.quote_tables import render_extraction

        print_rich(lambda console: render_extraction(found, console))
