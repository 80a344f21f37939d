"""`veridical quotes`: search for extracted quotes in their transcript."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import WRONG_USE, reported, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from veridical.quotes.grounding import QuoteMatch, Speakers
    from veridical.quotes.grounding import Transcript as Quoted
    from veridical.settings import Settings

KEPT = 0
REJECTED = 1
ANY = "any"
SCHEMA = "veridical.quotes/1"
EXAMPLES = """\b
Examples:
  veridical quotes evidence.json interview.txt
  veridical quotes evidence.json interview.vtt --mode fuzzy --speaker Participant
  veridical quotes notes.json call.srt --keys complaint,promise --strict --json

\b
Exit codes:
  0  every quote is in the transcript
  1  at least one quote is rejected
  2  wrong use or configuration, or evidence of another shape
"""

Evidence = Annotated[
    str,
    typer.Argument(metavar="EVIDENCE", help="JSON: quotes by key; a file, or - for stdin."),
]
Transcript = Annotated[
    str,
    typer.Argument(
        metavar="TRANSCRIPT",
        help="Transcript: plain text or with labels, JSON turns, WebVTT, SubRip, or "
        "tab-separated; a file, or - for stdin.",
    ),
]
Mode = Annotated[
    str | None, typer.Option(metavar="substring|fuzzy", help="Method of quote matching.")
]
Threshold = Annotated[
    float | None, typer.Option(metavar="S", help="Minimum similarity for fuzzy (0.5-1).")
]
Strict = Annotated[
    bool | None, typer.Option("--strict/--no-strict", help="Accept no quote with a caveat.")
]
Keys = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Allowed keys, in place of the PHQ-8 ones."),
]
KeysOrAny = Annotated[
    str | None,
    typer.Option(metavar="NAME,...|any", help="Allowed keys, in place of the PHQ-8 ones."),
]
Speaker = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|any",
        help="Speaker of the quotes (default: the assessed person, by the roles). Repeatable.",
    ),
]

Json = options.Json
Quiet = options.Quiet
Config = options.Config


@reported
def quotes(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    evidence: Evidence,
    transcript: Transcript,
    *,
    mode: Mode = None,
    threshold: Threshold = None,
    strict: Strict = None,
    keys: KeysOrAny = None,
    speaker: Speaker = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Find the quotes of EVIDENCE in TRANSCRIPT."""
    from veridical.errors import EvidenceSchemaError
    from veridical.quotes.grounding import (
        parse_evidence_json,
        parse_transcript,
        validate_evidence_schema,
    )
    from veridical.readers.documents import STDIN, ensure_one_stdin, read_text, shown

    named = None if keys == ANY else keys
    settings = load(config, keys=named, strict=strict, mode=mode, threshold=threshold)
    ensure_one_stdin(evidence, [transcript])
    try:
        obj = parse_evidence_json(read_text(evidence, "the evidence")).obj
        given = validate_evidence_schema(obj, known_keys(settings, obj if keys == ANY else None))
    except EvidenceSchemaError as error:
        place = "standard input" if evidence == STDIN else shown(evidence)
        say_violations(f"{place}: {error.message}", error.violations)
        raise typer.Exit(WRONG_USE) from None
    parsed = parse_transcript(read_text(transcript, "the transcript"))
    matches = _grounded(given, parsed, settings, whose_words(speaker))
    rejected = {key: sum(not match.accepted for match in found) for key, found in matches.items()}
    _print(matches, rejected, settings, json=json, quiet=quiet)
    raise typer.Exit(REJECTED if any(rejected.values()) else KEPT)


def load(  # noqa: PLR0913 -- flags that two commands share
    config: Path | None,
    *,
    keys: str | None,
    strict: bool | None,
    mode: str | None,
    threshold: float | None,
    fail_on_all_rejected: bool | None = None,
    text_model: str | None = None,
    **extraction: object,
) -> Settings:
    """Return the settings in force, with the flags about quotes in their blocks."""
    from veridical.settings import Settings

    return Settings.load(
        config,
        text_model=text_model,
        extraction={"keys": keys, "strict": strict, **extraction},
        quantitative={
            "evidence_quote_validation_mode": mode,
            "evidence_quote_fuzzy_threshold": threshold,
            "evidence_quote_fail_on_all_rejected": fail_on_all_rejected,
        },
    )


def known_keys(settings: Settings, obj: object = None) -> tuple[str, ...]:
    """Return the possible keys of evidence: the keys of `obj`, or the configured ones."""
    from veridical.quotes.grounding import PHQ8_DOMAIN_KEYS

    if isinstance(obj, dict):
        return tuple(obj)
    return tuple(settings.extraction.keys or PHQ8_DOMAIN_KEYS)


def say_violations(message: str, violations: Mapping[str, str]) -> None:
    """Write the violations of the evidence's schema to stderr, key by key."""
    from veridical.quotes.schema import ROOT

    say("error", message)
    for key, says in violations.items():
        if key != ROOT:  # the message says what is wrong with the whole
            say(f"  {key}", says)
    if "Unknown key" in violations.values():
        say("hint", "The keys are those of the PHQ-8, unless --keys names others")


def whose_words(named: Sequence[str] | None) -> Speakers:
    """Return the value of `--speaker` in the form of `ground_quotes`."""
    from veridical.quotes.grounding import ANYONE

    return ANYONE if named == [ANY] else tuple(named or ()) or None


def _grounded(
    given: Mapping[str, list[str]], transcript: Quoted, settings: Settings, speaker: Speakers
) -> dict[str, list[QuoteMatch]]:
    from veridical.quotes.grounding import ground_quotes, prepare

    source = prepare(transcript)
    rules = settings.quantitative
    return {
        key: ground_quotes(
            found,
            source,
            mode=rules.evidence_quote_validation_mode,
            fuzzy_threshold=rules.evidence_quote_fuzzy_threshold,
            strict=settings.extraction.strict,
            speaker=speaker,
        )
        for key, found in given.items()
    }


def _print(
    matches: Mapping[str, Sequence[QuoteMatch]],
    rejected: Mapping[str, int],
    settings: Settings,
    *,
    json: bool,
    quiet: bool,
) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        extracted = sum(map(len, matches.values()))
        document = {
            "schema": SCHEMA,
            "mode": settings.quantitative.evidence_quote_validation_mode,
            "strict": settings.extraction.strict,
            "extracted_count": extracted,
            "validated_count": extracted - sum(rejected.values()),
            "rejected_count": sum(rejected.values()),
            "rejected_by_domain": dict(rejected),
            "items": {key: [asdict(match) for match in found] for key, found in matches.items()},
        }
        print_json(json_module.dumps(document, indent=2, ensure_ascii=False))
    elif not quiet:
        from veridical.interfaces.cli.quote_tables import render_matches

        print_rich(lambda console: render_matches(matches, console))
