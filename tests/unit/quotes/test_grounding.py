"""`veridical.evidence`: the functions of Specs 053 and 054, their counts, logs and errors."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import logging
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veridical.errors import ConfigurationError, InputError
from veridical.evidence import (
    ANYONE,
    PHQ8_DOMAIN_KEYS,
    EvidenceGroundingError,
    EvidenceGroundingStats,
    EvidenceJSONError,
    EvidenceSchemaError,
    Transcript,
    ground_evidence,
    normalize_for_quote_match,
    parse_evidence_json,
    parse_transcript,
    prepare,
    validate_evidence_grounding,
    validate_evidence_schema,
)

INTERVIEWS = Path(__file__).parents[4] / "shared/data/dialogues/phq8_synthetic_cc0.jsonl"
TRANSCRIPT = "Ellie: how do you sleep\nParticipant: i wake up at four and lie there worrying\n"
MADE_UP = "i never close my eyes before the sun comes up"


# --- the tests that Spec 053 prints ----------------------------------------------------------


@pytest.mark.spec("053.substring")
def test_exact_match_accepted() -> None:
    evidence = {"PHQ8_Sleep": ["I can't sleep at night"]}
    transcript = "Patient said: I can't sleep at night. Very tired."
    validated, stats = validate_evidence_grounding(evidence, transcript)
    assert validated["PHQ8_Sleep"] == ["I can't sleep at night"]
    assert stats.rejected_count == 0


@pytest.mark.spec("053.drop", "053.counts")
def test_hallucination_rejected() -> None:
    evidence = {"PHQ8_Depressed": ["I feel hopeless and worthless"]}
    transcript = "I've been feeling okay lately. Work is going well."
    validated, stats = validate_evidence_grounding(evidence, transcript)
    assert validated["PHQ8_Depressed"] == []
    assert stats.rejected_by_domain["PHQ8_Depressed"] == 1


@pytest.mark.spec("053.normalise")
def test_minor_whitespace_difference_accepted() -> None:
    evidence = {"PHQ8_Tired": ["I feel tired"]}  # Extra spaces
    transcript = "I feel tired all the time"
    validated, _ = validate_evidence_grounding(evidence, transcript)
    assert len(validated["PHQ8_Tired"]) == 1


@pytest.mark.spec("053.normalise")
def test_case_insensitive_matching() -> None:
    evidence = {"PHQ8_Sleep": ["I CAN'T SLEEP"]}
    transcript = "i can't sleep at all"
    validated, _ = validate_evidence_grounding(evidence, transcript)
    assert len(validated["PHQ8_Sleep"]) == 1


# --- the tests that Spec 054 prints ----------------------------------------------------------


def test_valid_schema_passes() -> None:
    obj = {
        "PHQ8_NoInterest": ["quote 1", "quote 2"],
        "PHQ8_Depressed": [],
        "PHQ8_Sleep": ["quote 3"],
        "PHQ8_Tired": [],
        "PHQ8_Appetite": [],
        "PHQ8_Failure": [],
        "PHQ8_Concentrating": [],
        "PHQ8_Moving": [],
    }
    result = validate_evidence_schema(obj)
    assert result["PHQ8_NoInterest"] == ["quote 1", "quote 2"]
    assert result["PHQ8_Depressed"] == []


@pytest.mark.spec("054.missing", "054.all_keys")
def test_missing_keys_filled_with_empty() -> None:
    obj = {"PHQ8_NoInterest": ["quote"]}  # Only one key
    result = validate_evidence_schema(obj)
    assert result["PHQ8_NoInterest"] == ["quote"]
    assert result["PHQ8_Depressed"] == []  # Missing key → []


@pytest.mark.spec("054.list")
def test_string_instead_of_list_raises() -> None:
    obj = {
        "PHQ8_NoInterest": "This is a string, not a list",
        "PHQ8_Depressed": [],
    }
    with pytest.raises(EvidenceSchemaError) as exc_info:
        validate_evidence_schema(obj)

    assert "PHQ8_NoInterest" in exc_info.value.violations
    assert "Expected list" in exc_info.value.violations["PHQ8_NoInterest"]


@pytest.mark.spec("054.list")
def test_dict_instead_of_list_raises() -> None:
    obj = {
        "PHQ8_Sleep": {"quote": "nested object"},
    }
    with pytest.raises(EvidenceSchemaError) as exc_info:
        validate_evidence_schema(obj)

    assert "PHQ8_Sleep" in exc_info.value.violations


@pytest.mark.spec("054.list")
def test_number_instead_of_list_raises() -> None:
    obj = {"PHQ8_Tired": 42}
    with pytest.raises(EvidenceSchemaError) as exc_info:
        validate_evidence_schema(obj)

    assert "int" in exc_info.value.violations["PHQ8_Tired"]


@pytest.mark.spec("054.missing")
def test_null_value_treated_as_missing() -> None:
    obj = {"PHQ8_Appetite": None}
    result = validate_evidence_schema(obj)
    assert result["PHQ8_Appetite"] == []


@pytest.mark.spec("054.blank")
def test_whitespace_only_strings_filtered() -> None:
    obj = {"PHQ8_Failure": ["valid", "   ", "", "also valid"]}
    result = validate_evidence_schema(obj)
    assert result["PHQ8_Failure"] == ["valid", "also valid"]


@pytest.mark.spec("054.items")
def test_non_string_list_items_raises() -> None:
    obj = {"PHQ8_Concentrating": ["valid", 123, True]}
    with pytest.raises(EvidenceSchemaError) as exc_info:
        validate_evidence_schema(obj)
    assert "PHQ8_Concentrating" in exc_info.value.violations


@pytest.mark.spec("054.collect")
def test_multiple_violations_collected() -> None:
    obj = {
        "PHQ8_NoInterest": "string 1",
        "PHQ8_Depressed": "string 2",
        "PHQ8_Sleep": [],  # Valid
    }
    with pytest.raises(EvidenceSchemaError) as exc_info:
        validate_evidence_schema(obj)

    assert len(exc_info.value.violations) == 2
    assert "PHQ8_NoInterest" in exc_info.value.violations
    assert "PHQ8_Depressed" in exc_info.value.violations


# --- counts ----------------------------------------------------------------------------------


@pytest.mark.spec("053.counts", "053.drop")
def test_quotes_are_kept_in_order_and_counted_by_domain() -> None:
    evidence = {
        "PHQ8_Sleep": ["lie there worrying", MADE_UP, "I wake up at four", MADE_UP],
        "PHQ8_Tired": [MADE_UP],
        "PHQ8_Moving": [],
    }
    before = copy.deepcopy(evidence)
    validated, stats = validate_evidence_grounding(evidence, TRANSCRIPT)
    assert validated == {
        "PHQ8_Sleep": ["lie there worrying", "I wake up at four"],
        "PHQ8_Tired": [],
        "PHQ8_Moving": [],
    }
    rejected = {"PHQ8_Sleep": 2, "PHQ8_Tired": 1, "PHQ8_Moving": 0}
    assert stats == EvidenceGroundingStats(5, 2, 3, rejected)
    assert evidence == before


@pytest.mark.spec("053.fuzzy")
def test_fuzzy_is_asked_for_and_has_its_own_threshold() -> None:
    evidence = {"PHQ8_Sleep": ["i wake up at four and lay there worrying"]}

    def kept(**rules: object) -> int:
        return validate_evidence_grounding(evidence, TRANSCRIPT, **rules)[1].validated_count  # type: ignore[arg-type]

    assert kept() == 0
    assert kept(mode="fuzzy") == 1
    assert kept(mode="fuzzy", fuzzy_threshold=1.0) == 0


def test_strict_rejects_what_has_caveats() -> None:
    evidence = {"PHQ8_Sleep": ["feel hopeless"]}
    for strict, kept in ((False, 1), (True, 0)):
        _, stats = validate_evidence_grounding(evidence, "I don't feel hopeless", strict=strict)
        assert stats.validated_count == kept


@pytest.mark.parametrize("source", [TRANSCRIPT, Transcript(TRANSCRIPT), prepare(TRANSCRIPT)])
def test_the_transcript_can_be_parsed_or_prepared_before(source: object) -> None:
    evidence = {"PHQ8_Sleep": ["i wake up at four", MADE_UP]}
    _, stats = validate_evidence_grounding(evidence, source)  # type: ignore[arg-type]
    assert stats.validated_count == 1


def test_normalising_is_that_of_the_rule() -> None:
    assert normalize_for_quote_match(" “I’m”\xa0 <sigh> TI\u00adRED ") == '"i\'m" tired'


def test_what_another_speaker_says_is_rejected_by_default() -> None:
    evidence = {"PHQ8_Sleep": ["how do you sleep", "i wake up at four"]}
    talk = parse_transcript(TRANSCRIPT + "Ellie: goodbye\n")
    everybody, _ = validate_evidence_grounding(evidence, talk, speaker=ANYONE)
    assert everybody == evidence
    for speaker in (None, "participant"):
        kept, stats = validate_evidence_grounding(evidence, talk, speaker=speaker)
        assert kept == {"PHQ8_Sleep": ["i wake up at four"]}
        assert stats.rejected_by_domain == {"PHQ8_Sleep": 1}
    with pytest.raises(ConfigurationError, match="do not speak"):
        validate_evidence_grounding(evidence, talk, speaker="Bob")


@pytest.mark.spec("053.counts")
@pytest.mark.parametrize("rules", [{}, {"strict": True}, {"mode": "fuzzy"}])
def test_matches_and_validated_quotes_are_the_same_decisions(
    rules: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="veridical.evidence")
    evidence = {"PHQ8_Sleep": ["wake up at four", MADE_UP, "sleep"], "PHQ8_Tired": []}
    validated, stats = validate_evidence_grounding(evidence, TRANSCRIPT, **rules)  # type: ignore[arg-type]
    logged = [record.getMessage() for record in caplog.records]
    caplog.clear()
    matches, same = ground_evidence(evidence, TRANSCRIPT, **rules)  # type: ignore[arg-type]
    accepted = {key: [m.quote for m in found if m.accepted] for key, found in matches.items()}
    assert (accepted, same) == (validated, stats)
    assert [match.quote for match in matches["PHQ8_Sleep"]] == evidence["PHQ8_Sleep"]
    assert [record.getMessage() for record in caplog.records] == logged != []


@pytest.mark.spec("053.order")
def test_grounding_takes_what_the_schema_lets_through_and_nothing_else() -> None:
    reply = json.dumps({"PHQ8_Sleep": ["i wake up at four", "", "i wake up at four"]})
    evidence = validate_evidence_schema(parse_evidence_json(reply).obj)
    assert validate_evidence_grounding(evidence, TRANSCRIPT)[1].extracted_count == 1
    for wrong in (None, [MADE_UP], {"a": MADE_UP}, {"a": [MADE_UP, 1]}, {1: []}, {"a": None}):
        with pytest.raises(EvidenceSchemaError) as caught:
            validate_evidence_grounding(wrong, TRANSCRIPT)  # type: ignore[arg-type]
        assert "my eyes" not in f"{caught.value} {caught.value.violations}"


@pytest.mark.spec("053.no_dependency")
def test_substring_mode_imports_no_package_that_only_fuzzy_needs() -> None:
    code = (
        "import sys; sys.modules['rapidfuzz'] = sys.modules['numpy'] = None\n"
        "from veridical.evidence import ground_quotes, validate_evidence_grounding\n"
        "assert validate_evidence_grounding({'a': ['b', 'c']}, 'a b')[1].rejected_count == 1\n"
        "assert ground_quotes(['a … b'], 'a b')[0].reason == 'ellipsis'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- logs ------------------------------------------------------------------------------------


@pytest.mark.spec("053.privacy")
def test_each_rejection_and_the_counts_are_logged_without_a_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    evidence = {"PHQ8_Sleep": ["i wake up at four", MADE_UP], MADE_UP: ["\ud800 no"]}
    with caplog.at_level(logging.DEBUG):
        validate_evidence_grounding(evidence, TRANSCRIPT)
    first, second, counts = caplog.records
    digest = hashlib.sha256(MADE_UP.encode()).hexdigest()[:12]
    transcript = hashlib.sha256(TRANSCRIPT.encode()).hexdigest()[:12]
    about = f"transcript_hash={transcript} transcript_len={len(TRANSCRIPT)} mode=substring"
    assert first.getMessage() == (
        f"evidence_quote_rejected domain=PHQ8_Sleep quote_hash={digest} "
        f"quote_len={len(MADE_UP)} {about}"
    )
    assert "domain=<key 1: 45 characters>" in second.getMessage()
    assert counts.getMessage().startswith(
        "evidence_grounding_complete extracted_count=3 validated_count=1 rejected_count=2 "
    )
    assert (first.levelname, counts.levelname) == ("WARNING", "INFO")
    assert vars(counts)["event"] == "evidence_grounding_complete"
    assert vars(counts)["fields"]["rejected_by_domain"] == {
        "PHQ8_Sleep": 1,
        "<key 1: 45 characters>": 1,
    }
    everything = repr([vars(record) for record in caplog.records])
    assert "my eyes" not in everything
    assert "worrying" not in everything


@pytest.mark.spec("053.privacy")
@pytest.mark.parametrize("key", ["a key", b"a key"])
def test_hashes_are_keyed_if_there_is_a_key(
    caplog: pytest.LogCaptureFixture, key: str | bytes
) -> None:
    validate_evidence_grounding({"PHQ8_Sleep": [MADE_UP]}, TRANSCRIPT, hash_key=key)
    assert hmac.new(b"a key", MADE_UP.encode(), "sha256").hexdigest()[:12] in caplog.text
    assert hashlib.sha256(MADE_UP.encode()).hexdigest()[:12] not in caplog.text


@pytest.mark.parametrize("key", ["", b"", 3])
def test_a_key_that_is_none_is_refused(key: object) -> None:
    with pytest.raises(ConfigurationError, match="key of hashes"):
        validate_evidence_grounding({}, TRANSCRIPT, hash_key=key)  # type: ignore[arg-type]


@pytest.mark.spec("053.log_switch")
def test_nothing_is_logged_without_a_rejection_or_if_switched_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        validate_evidence_grounding({"PHQ8_Sleep": ["i wake up"]}, TRANSCRIPT)
        validate_evidence_grounding({"PHQ8_Sleep": [MADE_UP]}, TRANSCRIPT, log_rejections=False)
    assert caplog.records == []


@pytest.mark.spec("053.privacy")
@pytest.mark.skipif(not INTERVIEWS.is_file(), reason="the interviews are not beside this clone")
def test_no_six_words_of_an_interview_are_ever_logged_or_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = ""
    with caplog.at_level(logging.DEBUG):
        for line in INTERVIEWS.read_text(encoding="utf-8").splitlines():
            turns = json.dumps(json.loads(line)["turns"])
            transcript = parse_transcript(turns)
            quotes = [turn.span.of(transcript.text)[:-1] + "?" for turn in transcript.turns]
            for mode in ("substring", "fuzzy"):
                evidence = {"PHQ8_Sleep": quotes, quotes[0]: quotes}
                validate_evidence_grounding(evidence, transcript, mode=mode)
            for wrong in ({"PHQ8_Sleep": turns}, {turns: []}, {"PHQ8_Tired": [1, *quotes]}, turns):
                with pytest.raises(EvidenceSchemaError) as caught:
                    validate_evidence_schema(wrong)
                said += f"{caught.value!r} {caught.value} {caught.value.violations}"
            with pytest.raises(EvidenceJSONError) as broken:
                parse_evidence_json(turns[:-1])
            said += f"{broken.value!r} {broken.value} {broken.value.violations}"
            words = transcript.text.split()
            said += repr([vars(record) for record in caplog.records])
            runs = {" ".join(words[i : i + 6]) for i in range(len(words) - 5)}
            assert not [run for run in runs if run in said]
    assert "evidence_quote_rejected" in said


def test_a_quote_that_is_no_text_is_named_by_its_index_and_type() -> None:
    with pytest.raises(EvidenceSchemaError) as caught:
        validate_evidence_grounding({"PHQ8_Sleep": ["a", 5]}, "a")  # type: ignore[list-item]
    assert caught.value.violations == {"PHQ8_Sleep": "Expected list[str], got int at index 1"}


# --- errors ----------------------------------------------------------------------------------


def test_an_error_of_the_schema_is_a_value_error_with_its_violations() -> None:
    error = EvidenceSchemaError("one thing is wrong", {"PHQ8_Sleep": "Expected list, got str"})
    assert isinstance(error, ValueError)
    assert isinstance(error, InputError)
    assert str(error) == "one thing is wrong"
    assert EvidenceSchemaError("m", violations={}).violations == {}
    assert issubclass(EvidenceJSONError, EvidenceSchemaError)
    assert issubclass(EvidenceGroundingError, ValueError)


@pytest.mark.parametrize("kind", [EvidenceSchemaError, EvidenceJSONError])
def test_violations_survive_copying_pickling_and_raising_again(
    kind: type[EvidenceSchemaError],
) -> None:
    error = kind("message", {"PHQ8_Sleep": "Expected list, got str"}, hint="hint")
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 -- our own bytes
        with pytest.raises(kind) as caught:
            raise twin
        assert caught.value.violations == error.violations
        assert (str(caught.value), type(caught.value)) == ("message. hint", kind)


# --- speed -----------------------------------------------------------------------------------


@pytest.mark.spec("054.speed")
def test_validating_a_full_reply_takes_less_than_a_millisecond() -> None:
    obj = {key: [f"quote {i} of {key}" for i in range(5)] for key in PHQ8_DOMAIN_KEYS}
    seconds = []
    for _ in range(50):
        began = time.perf_counter()
        validate_evidence_schema(obj)
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.001
