from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from veridical.core.policy import Policy
from veridical.errors import ConfigurationError
from veridical.settings import Settings, load_layers
from veridical.settings.aliases import ALIASES

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    return tmp_path


def problems(**overrides: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        Settings.load(**overrides)  # type: ignore[arg-type]
    assert caught.value.hint
    return caught.value.message


def test_the_defaults_are_those_of_the_policy() -> None:
    assert Settings.load().to_policy() == Policy()
    assert Settings().policy.model_dump() == asdict(Policy())


def test_flags_beat_the_environment_which_beats_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text(
        "backend: one\nthreads: 1\npolicy: {windows: 1, target_confidence: 0.5}\n"
    )
    monkeypatch.setenv("VERIDICAL_THREADS", "2")
    monkeypatch.setenv("VERIDICAL_POLICY__WINDOWS", "all")
    settings = Settings.load(threads=3, backend=None, policy={"support_threshold": 0.6})
    assert (settings.backend, settings.threads) == ("one", 3)
    assert settings.to_policy() == Policy(
        windows="all", target_confidence=0.5, support_threshold=0.6
    )


def test_each_setting_knows_where_it_comes_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text("policy: {target_confidence: 0.5}\n")
    monkeypatch.setenv("VERIDICAL_POLICY__WINDOWS", "5")
    effective = load_layers(None, {"threads": 3}).effective()
    found = {key: (layer.kind, layer.places[key]) for key, (_, layer) in effective.items()}
    assert found["policy.target_confidence"] == ("file", "veridical.yaml")
    assert found["policy.windows"] == ("env", "VERIDICAL_POLICY__WINDOWS")
    assert found["threads"] == ("flag", "--threads")
    assert found["backend"] == ("default", "default")


def test_a_named_file_takes_the_place_of_the_one_in_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text("threads: 1\n")
    (folder / "env.yaml").write_text("threads: 2\n")
    (folder / "flag.yaml").write_text("threads: 3\n")
    monkeypatch.setenv("VERIDICAL_CONFIG", "env.yaml")
    assert Settings.load().threads == 2
    assert Settings.load(folder / "flag.yaml").threads == 3


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n", "\ufeffthreads: null\n"])
def test_an_empty_file_changes_nothing(folder: Path, content: str) -> None:
    (folder / "veridical.yaml").write_text(content, encoding="utf-8")
    assert Settings.load() == Settings()


def test_settings_are_frozen() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError, match="frozen"):
        settings.backend = "other"  # type: ignore[misc]


# --- what is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("policy: {support_threshold: .nan}", "policy.support_threshold: must be a number from"),
        ("policy: {target_confidence: .inf}", "must be a number from 0 to 1, not inf"),
        ("policy: {dependence_threshold: 1.01}", "must be a number from 0 to 1, not 1.01"),
        ("policy: {support_threshold: true}", "or null for the backend's own, not True"),
        ("policy: {support_threshold: '0.5'}", "or null for the backend's own, not text"),
        (
            "policy: {windows: -1}",
            "policy.windows: must be a whole number from 0, 'all' or null, not -1",
        ),
        (
            "policy: {windows: some}",
            "must be a whole number from 0, 'all' or null, not text",
        ),
        (
            "policy: {windows: 2.5}",
            "must be a whole number from 0, 'all' or null, not 2.5",
        ),
        ("policy: 3", "policy: must be a block of keys, not 3"),
        ("policy: {support_treshold: 0.5}", "unknown key, did you mean support_threshold?"),
        ("treads: 3", "treads: unknown key, did you mean threads?"),
        ("threads: true", "threads: must be a whole number from 1, or null for every CPU"),
        ("threads: [1]", "must be a whole number from 1, or null for every CPU"),
        ("backend: ''", "backend: must be NAME or NAME:MODEL, not text"),
        ("1: 2", "1: unknown key"),
        ("threads: 1\nthreads: 2", "veridical.yaml:2: threads: key given twice"),
        ("policy:\n  windows: 1\n  windows: 2", "veridical.yaml:3: windows: key given twice"),
        ("- threads", "must be a mapping of keys, not a list"),
        ("threads: [", "not valid YAML"),
        ("a: &a {b: *a}", "a: unknown key"),
        ("[" * 5000, "not valid YAML"),
        ("threads: !!python/object:os.system 1", "not valid YAML"),
    ],
)
def test_a_problem_names_file_key_and_expected_type(folder: Path, line: str, problem: str) -> None:
    (folder / "veridical.yaml").write_text(line)
    found = problems()
    assert "veridical.yaml" in found
    assert problem in found


def test_all_problems_of_all_layers_are_listed_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text("thread: 2\npolicy: {windows: -1}\n")
    monkeypatch.setenv("VERIDICAL_THREADS", "many")
    threads = "a whole number from 1, or null for every CPU this process may use"
    assert problems(policy={"target_confidence": float("nan")}).splitlines() == [
        "4 problems in the configuration",
        "  - veridical.yaml: policy.windows: must be a whole number from 0, 'all' or null, not -1",
        "  - veridical.yaml: thread: unknown key, did you mean threads?",
        f"  - environment: VERIDICAL_THREADS: must be {threads}, not text",
        "  - --target-confidence: must be a number from 0 to 1, not nan",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("VERIDICAL_BACKEN", "VERIDICAL_BACKEND"),
        ("VERIDICAL_POLICY_WINDOWS", "VERIDICAL_POLICY__WINDOWS"),
        ("VERIDICAL_POLICY__SUPPORT_TRESHOLD", "VERIDICAL_POLICY__SUPPORT_THRESHOLD"),
        ("veridical_backend", "VERIDICAL_BACKEND"),
    ],
)
def test_a_misspelt_variable_is_never_ignored(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert f"{name}: unknown variable, did you mean {meant}?" in problems()


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_BACKEND", "")
    assert Settings.load() == Settings()


@pytest.mark.parametrize("value", ["nan", "inf", "1.5", "x"])
def test_a_variable_is_held_to_the_same_range(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("VERIDICAL_POLICY__TARGET_CONFIDENCE", value)
    assert "VERIDICAL_POLICY__TARGET_CONFIDENCE: must be a number from 0 to 1" in problems()


def test_the_value_of_a_text_is_not_repeated(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("threads: SECRET\nSECRE: 1\n")
    assert "SECRET" not in problems()


def test_a_missing_file_that_was_named_is_an_error(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot read the configuration file"):
        Settings.load(folder / "missing.yaml")


def test_a_file_that_is_not_utf8_is_an_error(folder: Path) -> None:
    (folder / "veridical.yaml").write_bytes(b"backend: caf\xe9")
    with pytest.raises(ConfigurationError, match=r"not UTF-8 text \(byte 12\)"):
        Settings.load()


@given(st.binary(max_size=100) | st.text(max_size=60).map(str.encode))
def test_any_file_is_read_or_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    try:
        assert Settings.load(path)
    except ConfigurationError as error:
        assert error.hint  # noqa: PT017 -- either outcome is right


def test_a_mapping_may_stand_in_the_file_and_as_json_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"seed": 7, "chat_template_kwargs": {"enable_thinking": False}}
    (folder / "veridical.yaml").write_text(json.dumps({"openai": {"extra_body": body}}))
    assert Settings.load().openai.extra_body == body
    assert load_layers().effective()["openai.extra_body"][0] == body
    # A mapping is one value: what the environment says takes its place, and is not put into it.
    monkeypatch.setenv("VERIDICAL_OPENAI__EXTRA_BODY", '{"n": {"x": [1, 2.5, null]}}')
    assert Settings.load().openai.extra_body == {"n": {"x": [1, 2.5, None]}}
    assert Settings.load(openai={"extra_body": {}}).openai.extra_body == {}


@pytest.mark.parametrize("value", ["[1]", '{"a": NaN}', "{", "7", '"x"', '{"a": 1'])
def test_what_is_no_json_object_is_a_problem(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("VERIDICAL_OPENAI__EXTRA_BODY", value)
    assert "EXTRA_BODY: must be names with values, in the environment as JSON" in problems()


@pytest.mark.parametrize("value", ["2026-11-22", "{1: 2}", "{a: .inf}", "[a]", "{a: 2026-11-22}"])
def test_what_json_has_no_words_for_is_a_problem(folder: Path, value: str) -> None:
    (folder / "veridical.yaml").write_text(f"openai: {{extra_body: {value}}}")
    assert "openai.extra_body: must be names with values" in problems()


@pytest.mark.parametrize(
    ("name", "value", "key", "expected"),
    [
        ("OPENAI__SAMPLING", "false", "sampling", False),
        ("OPENAI__SAMPLING", "true", "sampling", True),
        ("OPENAI__SAMPLES_MIN", "2", "samples_min", 2),
        ("OPENAI__SAMPLES_MAX", "4", "samples_max", 4),
    ],
)
def test_what_backends_take_can_be_set_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, key: str, expected: object
) -> None:
    monkeypatch.setenv(f"VERIDICAL_{name}", value)
    block = getattr(Settings.load(), name.partition("__")[0].lower())
    assert getattr(block, key) == expected
    monkeypatch.setenv(f"VERIDICAL_{name}", "perhaps")
    assert f"VERIDICAL_{name}: must be" in problems()


def test_labels_of_classes_are_a_list_or_a_text_with_commas(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (folder / "veridical.yaml").write_text("classify: {labels: [entailment, neutral]}\n")
    assert Settings.load().classify.labels == ["entailment", "neutral"]
    monkeypatch.setenv("VERIDICAL_CLASSIFY__LABELS", "neutral, entailment")
    assert Settings.load().classify.labels == ["neutral", "entailment"]
    monkeypatch.setenv("VERIDICAL_CLASSIFY__LABELS", "neutral,,entailment")
    assert "VERIDICAL_CLASSIFY__LABELS: must be names of the classes" in problems()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("validation_enabled", "false", False),
        ("validation_mode", "fuzzy", "fuzzy"),
        ("fuzzy_threshold", "0.9", 0.9),
        ("fail_on_all_rejected", "true", True),
        ("log_rejections", "false", False),
    ],
)
def test_the_settings_of_spec_053_have_their_own_names(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object
) -> None:
    key = f"evidence_quote_{name}"
    assert getattr(Settings.load().quantitative, key) != value
    monkeypatch.setenv(f"QUANTITATIVE_EVIDENCE_QUOTE_{name.upper()}", text)
    assert getattr(Settings.load().quantitative, key) == value
    (found, layer) = load_layers().effective()[f"quantitative.{key}"]
    assert (found, layer.kind) == (value, "env")
    assert layer.places[f"quantitative.{key}"] == f"QUANTITATIVE_EVIDENCE_QUOTE_{name.upper()}"
    monkeypatch.setenv(f"QUANTITATIVE_EVIDENCE_QUOTE_{name.upper()}", "0.1")
    assert f"QUANTITATIVE_EVIDENCE_QUOTE_{name.upper()}: must be" in problems()


def test_our_own_name_of_a_setting_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_QUANTITATIVE__EVIDENCE_QUOTE_FUZZY_THRESHOLD", "0.7")
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD", "0.9")
    assert Settings.load().quantitative.evidence_quote_fuzzy_threshold == 0.7


def test_variables_of_other_programs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUANTITATIVE_TRACK_NA_REASONS", "true")
    Settings.load()
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MOD", "fuzzy")
    assert "did you mean QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MODE?" in problems()


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("a, b", {"a": "", "b": ""}),
        ('{"a": "what a is"}', {"a": "what a is"}),
    ],
)
def test_keys_of_evidence_may_have_descriptions(
    folder: Path, monkeypatch: pytest.MonkeyPatch, written: str, keys: dict[str, str]
) -> None:
    monkeypatch.setenv("VERIDICAL_EXTRACTION__KEYS", written)
    assert Settings.load().extraction.keys == keys
    monkeypatch.delenv("VERIDICAL_EXTRACTION__KEYS")
    (folder / "veridical.yaml").write_text(json.dumps({"extraction": {"keys": keys}}))
    assert Settings.load().extraction.keys == keys


@pytest.mark.parametrize("written", ["a b", "{}", '{"a": 1}', '{"a": null}', "a,,b", "9a", "{"])
def test_keys_of_evidence_have_to_be_names(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("VERIDICAL_EXTRACTION__KEYS", written)
    assert "VERIDICAL_EXTRACTION__KEYS: must be names" in problems()


def test_importing_the_package_does_not_import_pydantic() -> None:
    code = "import sys, veridical; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_setting_is_documented_as_it_is() -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for key, (default, _) in load_layers().effective().items():
        shown = f"`{default}`" if isinstance(default, str) else json.dumps(default)
        variable = "VERIDICAL_" + key.upper().replace(".", "__")
        assert f"| `{key}` | `{variable}` | {documented(field_of(key))} | {shown} |" in page


def test_every_alias_is_documented_with_its_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name in set(ALIASES.values()):
        aliases = ", ".join(f"`{alias}`" for alias, own in ALIASES.items() if own == name)
        assert f"| `{name}` | {aliases} |" in page


def field_of(key: str) -> FieldInfo:
    model: type[BaseModel] = Settings
    *blocks, name = key.split(".")
    for block in blocks:
        annotation = model.model_fields[block].annotation
        assert isinstance(annotation, type)
        model = annotation
    return model.model_fields[name]


def documented(info: FieldInfo) -> str:
    return (info.description or "").replace("NAME or NAME:MODEL", "`NAME` or `NAME:MODEL`")


@pytest.mark.spec("SPEC-08.34")
def test_the_block_of_spec_08_is_accepted_with_its_own_names(folder: Path) -> None:
    (folder / "veridical.yaml").write_text(
        """
hallucination:
  enabled: true
  backend: {type: haiku, default: "openai:gpt-4.1-mini"}
  memory_gate: {enabled: true, min_confidence: 0.6, reject_unsupported: false}
  output_verification: {enabled: true, flag_threshold_bits: 1.5}
  trace_auditing: {enabled: true, check_post_hoc: false}
  batch_size: 16
  timeout: 1m30s
  cache_ttl: 1h
"""
    )
    settings = Settings.load()
    block = settings.hallucination
    assert (block.enabled, block.backend.type, block.batch_size) == (True, "haiku", 16)
    assert (block.timeout, settings.cache.ttl_s) == (90.0, 3600.0)
    assert block.memory_gate.min_confidence == 0.6
    assert settings.verification.enabled
    assert settings.policy.gap_threshold_bits == 1.5
    assert not block.trace_auditing.check_post_hoc


@pytest.mark.spec("SPEC-08.02")
@pytest.mark.spec("SPEC-08.35")
def test_what_a_host_checks_by_itself_is_off_by_default_and_switched_on_one_by_one() -> None:
    block = Settings().hallucination
    assert not block.enabled
    for part in (block.memory_gate, block.trace_auditing):
        assert not part.enabled


@pytest.mark.parametrize(
    ("written", "seconds"), [("500ms", 0.5), ("2s", 2.0), ("1h30m", 5400.0), ("0.5", 0.5)]
)
def test_a_duration_is_read_in_seconds(
    monkeypatch: pytest.MonkeyPatch, written: str, seconds: float
) -> None:
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__TIMEOUT", written)
    assert Settings.load().hallucination.timeout == seconds


@pytest.mark.parametrize("written", ["soon", "2 s", "-1s", "0s", "1s2", "s"])
def test_what_is_no_duration_is_an_error(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__TIMEOUT", written)
    assert "VERIDICAL_HALLUCINATION__TIMEOUT: must be a duration" in problems()


@pytest.mark.spec("SPEC-16.21")
def test_the_settings_of_spec_16_are_accepted_with_their_own_names(folder: Path) -> None:
    (folder / "veridical.yaml").write_text(
        """
verification:
  enabled: true
  support_threshold: 0.7
  dependence_threshold: 0.3
  gap_threshold_bits: 2.0
  on_failure: retry
  max_retries: 0
  verification_model: haiku
  max_claims_per_response: 10
  parallel_verification: true
  mode: critical_only
  sample_rate: 0.3
"""
    )
    settings = Settings.load()
    block = settings.verification
    assert (block.on_failure, block.max_retries) == ("retry", 0)
    assert settings.aliases.output == "haiku"
    assert settings.to_policy() == Policy(
        support_threshold=0.7, max_claims=10, mode="critical_only"
    )


# --- aliases ---------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.34", "SPEC-16.21")
def test_names_of_one_value_that_differ_are_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text(
        "policy: {gap_threshold_bits: 1.0}\n"
        "hallucination: {output_verification: {flag_threshold_bits: 3.0}}\n"
    )
    found = problems()
    assert "veridical.yaml: hallucination.output_verification.flag_threshold_bits: differs" in found
    assert "policy.gap_threshold_bits, which is the same setting" in found
    (folder / "veridical.yaml").write_text("policy: {mode: sample}\n")
    monkeypatch.setenv("VERIDICAL_POLICY__MODE", "full")
    monkeypatch.setenv("VERIDICAL_VERIFICATION__MODE", "critical_only")
    assert "environment: VERIDICAL_VERIFICATION__MODE: differs from policy.mode" in problems()


def test_two_aliases_of_a_setting_that_differ_are_an_error(folder: Path) -> None:
    (folder / "veridical.yaml").write_text(
        "verification: {gap_threshold_bits: 1.0}\n"
        "hallucination: {output_verification: {flag_threshold_bits: 3.0}}\n"
    )
    assert "flag_threshold_bits: differs from verification.gap_threshold_bits" in problems()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("verification: {mode: half}", "verification.mode: must be 'full', 'sample' or"),
        ("verification: {sample_rate: 0}", None),
        ("verification: {sample_rate: -1}", "verification.sample_rate: must be a number"),
        (
            "verification: {sample_rat: 1}",
            "verification.sample_rat: unknown key, did you mean sample_rate",
        ),
        (
            "hallucination: {output_verification: {enabled: 3}}",
            "output_verification.enabled: must be",
        ),
        ("hallucination: {output_verification: {enabled: null}}", None),
        (
            "hallucination: {output_verification: {flag: true}}",
            "output_verification.flag: unknown key",
        ),
        ("hallucination: {output_verification: 3}", "output_verification: must be a block of keys"),
        ("{policy: 3, verification: {mode: full}}", "policy: must be a block of keys, not 3"),
        ("{policy: {mode: null}, verification: {mode: sample}}", None),
    ],
)
def test_a_problem_names_the_alias_that_was_used(
    folder: Path, line: str, problem: str | None
) -> None:
    (folder / "veridical.yaml").write_text(line)
    if problem is None:
        assert Settings.load()
    else:
        assert problem in problems()


def test_a_later_place_wins_by_whichever_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text("policy: {mode: sample}\n")
    monkeypatch.setenv("VERIDICAL_VERIFICATION__MODE", "critical_only")
    settings = Settings.load()
    assert settings.to_policy().mode == "critical_only"
    effective = load_layers().effective()
    assert effective["policy.mode"][1].places["policy.mode"] == "VERIDICAL_VERIFICATION__MODE"
