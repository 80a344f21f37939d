"""`veridical quotes` and `veridical extract`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

Json = dict[str, Any]
ROOT = Path(__file__).parents[3]
THERE = "i wake up at four and lie there worrying"
MADE_UP = "i never close my eyes before the sun comes up"
HALF = "\ud800 sleep"
TRANSCRIPT = f"Ellie: how do you sleep\nParticipant: {THERE}\nEllie: goodbye\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with a transcript, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("VERIDICAL_", "QUANTITATIVE_", "OPENAI_")):
            monkeypatch.delenv(name)
    (tmp_path / "talk.txt").write_text(TRANSCRIPT)
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


def quotes(folder: Path, evidence: object, *arguments: str) -> Result:
    text = evidence if isinstance(evidence, str) else json.dumps(evidence)
    (folder / "evidence.json").write_text(text)
    return run("quotes", "evidence.json", "talk.txt", *arguments)


# --- both ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["quotes", "extract"])
def test_help_has_examples_and_the_common_options(command: str) -> None:
    shown = run(command, "--help").stdout
    assert f"veridical {command}" in shown.partition("Examples:")[2]
    assert {"--json", "--quiet", "--config"} <= set(re.findall(r"--\w+", shown))


# --- quotes ----------------------------------------------------------------------------------


def test_quotes_that_are_there_exit_with_0(folder: Path) -> None:
    result = quotes(folder, {"PHQ8_Sleep": [THERE]})
    assert result.exit_code == 0, result.output
    assert "exact" in result.stdout


def test_a_quote_has_the_width_of_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = quotes(folder, {"PHQ8_Sleep": [THERE]}).stdout.splitlines()
    assert any(THERE in line and "exact" in line for line in lines), "on one line"


def test_a_quote_that_is_not_there_exits_with_1(folder: Path) -> None:
    result = quotes(folder, {"PHQ8_Sleep": [THERE, MADE_UP]})
    assert result.exit_code == 1
    assert "not_found" in result.stdout
    assert quotes(folder, {"PHQ8_Sleep": [MADE_UP]}, "--quiet").stdout == ""


def test_as_json_every_quote_has_its_place(folder: Path) -> None:
    result = quotes(folder, {"PHQ8_Sleep": [THERE, MADE_UP]}, "--json")
    document = json.loads(result.stdout)
    assert document["schema"] == "veridical.quotes/1"
    assert (document["extracted_count"], document["rejected_count"]) == (2, 1)
    assert document["rejected_by_domain"]["PHQ8_Sleep"] == 1
    there, made_up = document["items"]["PHQ8_Sleep"]
    assert TRANSCRIPT[there["start"] : there["end"]] == THERE
    assert (made_up["accepted"], made_up["reason"]) == (False, "not_found")


def test_a_quote_is_shown_with_its_speaker_and_its_time(folder: Path) -> None:
    cue = f"WEBVTT\n\n01:02:03.500 --> 01:02:09.000\n<v Participant>{THERE}\n"
    (folder / "talk.txt").write_text(cue)
    assert "exact, Participant 1:02:03" in quotes(folder, {"PHQ8_Sleep": [THERE]}).stdout
    (found,) = json.loads(quotes(folder, {"PHQ8_Sleep": [THERE]}, "--json").stdout)["items"][
        "PHQ8_Sleep"
    ]
    assert (found["speaker"], found["start_s"], found["end_s"]) == ("Participant", 3723.5, 3729.0)


@pytest.mark.parametrize("how", [(), ("--mode", "fuzzy", "--strict")])
def test_half_a_surrogate_pair_is_a_quote_that_is_not_there(
    folder: Path, how: tuple[str, ...]
) -> None:
    result = quotes(folder, {"PHQ8_Sleep": [HALF]}, "--json", *how)
    assert result.exit_code == 1, result.output
    (found,) = json.loads(result.stdout)["items"]["PHQ8_Sleep"]
    assert (found["quote"], found["accepted"]) == (HALF, False)


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        ({"PHQ8_Sleep": "SECRET text"}, "PHQ8_Sleep: Expected list, got str"),
        ({"PHQ8_Slep": ["SECRET"]}, "did you mean PHQ8_Sleep?"),
        ("SECRET", "error: evidence.json: invalid JSON at line 1, column 1: Expecting value\n"),
        ('{"PHQ8_Sleep": ["SECRET"], "PHQ8_Sleep": []}', "Duplicate key"),
        ("[]", "evidence.json: Expected JSON object at top level, got list"),
    ],
)
def test_evidence_of_another_shape_exits_with_2(folder: Path, evidence: object, says: str) -> None:
    result = quotes(folder, evidence)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says in result.stderr
    assert "SECRET" not in result.stderr


def test_a_key_unlike_any_is_told_of_the_option(folder: Path) -> None:
    assert "unless --keys names others" in quotes(folder, {"sleep": [THERE]}).stderr
    assert "--keys" not in quotes(folder, {"PHQ8_Slep": [THERE]}).stderr


def test_other_keys_may_be_named_or_any_allowed(folder: Path) -> None:
    evidence = {"sleep": [THERE]}
    assert quotes(folder, evidence).exit_code == 2
    assert quotes(folder, evidence, "--keys", "sleep,mood").exit_code == 0
    assert quotes(folder, evidence, "--keys", "any").exit_code == 0
    assert "--keys" in quotes(folder, evidence, "--keys", "two words").stderr


def test_the_flags_about_quotes_work(folder: Path) -> None:
    nearly = {"PHQ8_Sleep": ["i wake up at four and just lie there worrying"]}
    assert quotes(folder, nearly).exit_code == 1
    assert quotes(folder, nearly, "--mode", "fuzzy").exit_code == 0
    assert quotes(folder, nearly, "--mode", "fuzzy", "--threshold", "1").exit_code == 1
    short = {"PHQ8_Sleep": [THERE.partition(" ")[0]]}
    assert quotes(folder, short).exit_code == 0
    assert quotes(folder, short, "--strict").exit_code == 1
    asked = {"PHQ8_Sleep": ["how do you sleep"]}
    for flags in ((), ("--speaker", "participant")):
        found = quotes(folder, asked, *flags)
        assert (found.exit_code, "other_speaker" in found.stdout) == (1, True)
    assert quotes(folder, asked, "--speaker", "any").exit_code == 0
    assert quotes(folder, short, "--mode", "magic").exit_code == 2


@pytest.mark.parametrize("option", [("--threshold", "0.1"), ("--mode", "bogus")])
def test_a_wrong_value_is_named_by_the_option_that_was_given(
    folder: Path, option: tuple[str, str]
) -> None:
    result = quotes(folder, {"PHQ8_Sleep": [THERE]}, *option)
    assert result.exit_code == 2
    assert f"- {option[0]}: must be" in result.stderr


def test_the_names_of_spec_053_work_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly = {"PHQ8_Sleep": ["i wake up at four and just lie there worrying"]}
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MODE", "fuzzy")
    assert quotes(folder, nearly).exit_code == 0
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD", "0.3")
    refused = quotes(folder, nearly)
    assert refused.exit_code == 2
    assert "QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD: must be a number from" in refused.stderr


def test_one_of_both_may_come_from_standard_input(folder: Path) -> None:
    (folder / "evidence.json").write_text(json.dumps({"PHQ8_Sleep": [THERE]}))
    assert run("quotes", "evidence.json", "-", stdin=TRANSCRIPT).exit_code == 0
    assert run("quotes", "-", "-", stdin=TRANSCRIPT).exit_code == 2
    assert run("quotes", "nope.json", "talk.txt").exit_code == 2


@pytest.mark.spec("053.substring")
@pytest.mark.parametrize("name", [f"syn0{i}" for i in range(1, 7)])
def test_the_shipped_interviews_are_read_as_labelled(name: str) -> None:
    example = ROOT / "examples" / "phq8"
    arguments = (str(example / kind / f"{name}.json") for kind in ("evidence", "interviews"))
    result = run("quotes", *arguments, "--speaker", "any", "--json")
    found = {
        (key, match["quote"]): match["accepted"]
        for key, matches in json.loads(result.stdout)["items"].items()
        for match in matches
    }
    rows = map(json.loads, (example / "labels.jsonl").read_text("utf-8").splitlines())
    labels = {(r["key"], r["quote"]): r["grounded"] for r in rows if r["interview"] == name}
    assert found == labels
    assert result.exit_code == 1


# --- extract ---------------------------------------------------------------------------------


@pytest.fixture
def serve(
    chat_server: Callable[..., Any],
    chat_completion: Callable[..., Json],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[object], list[Json]]:
    """Make the text model give an answer; return its requests."""

    def start(answer: object) -> list[Json]:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        server = chat_server(lambda _: (200, chat_completion(text)))
        monkeypatch.setenv("VERIDICAL_OPENAI__BASE_URL", server.base_url)
        requests: list[Json] = server.requests
        return requests

    return start


EXTRACT = ("extract", "talk.txt", "--backend", "openai:m1")
Serve = Callable[[object], list[Json]]


def test_what_is_there_is_extracted(serve: Serve) -> None:
    requests = serve({"PHQ8_Sleep": [THERE]})
    result = run(*EXTRACT)
    assert result.exit_code == 0, result.output
    assert "m1, 1 answer, 29 tokens" in result.stdout
    assert THERE in requests[0]["messages"][1]["content"]


def test_what_another_speaker_says_is_rejected(serve: Serve) -> None:
    serve({"PHQ8_Sleep": [THERE, "how do you sleep"]})
    assert run(*EXTRACT, "--speaker", "any").exit_code == 0
    result = run(*EXTRACT, "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["items"]["PHQ8_Sleep"]["quotes"] == [THERE]
    assert run(*EXTRACT, "--speaker", "Bob").exit_code == 2


def test_what_is_not_there_exits_with_1(serve: Serve, folder: Path) -> None:
    serve({"PHQ8_Sleep": [THERE, MADE_UP]})
    more = ("--json", "--out", "found.json", "--failures", "runs", "--participant", "301")
    result = run(*EXTRACT, *more)
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document == json.loads((folder / "found.json").read_text())
    assert document["items"]["PHQ8_Sleep"]["quotes"] == [THERE]
    (path,) = (folder / "runs").iterdir()
    assert json.loads(path.read_text())["failures"] == document["failures"]
    assert document["failures"][0]["participant_id"] == "301"


def test_half_a_surrogate_pair_is_written_as_json_escapes_it(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_ENABLED", "false")
    serve({"PHQ8_Sleep": [HALF]})
    result = run(*EXTRACT, "--json", "--out", "found.json")
    document = json.loads(result.stdout)
    assert document["items"]["PHQ8_Sleep"]["quotes"] == [HALF]
    assert document == json.loads((folder / "found.json").read_text())


def test_all_rejected_can_be_made_to_fail(serve: Serve) -> None:
    serve({"PHQ8_Sleep": [MADE_UP]})
    result = run(*EXTRACT, "--fail-on-all-rejected", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "none of the quotes" in result.stderr


@pytest.mark.parametrize("answer", ["nope", {"PHQ8_Sleep": THERE}])
def test_an_answer_of_another_shape_exits_with_2(serve: Serve, answer: object) -> None:
    requests = serve(answer)
    result = run(*EXTRACT, "--corrective-retry", "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert THERE not in result.stderr
    assert len(requests) == 2


def test_without_a_text_model_it_is_undetermined() -> None:
    result = run("extract", "talk.txt")
    assert result.exit_code == 3
    assert "--backend" in result.stderr


def test_a_server_that_is_down_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_OPENAI__BASE_URL", "http://127.0.0.1:9/v1")
    result = run(*EXTRACT, "--json")
    assert result.exit_code == 3
    assert "no connection" in result.stderr


def test_other_keys_may_be_asked_for(serve: Serve) -> None:
    requests = serve({"sleep": [THERE], "mood": []})
    assert run(*EXTRACT, "--keys", "sleep,mood", "--json").exit_code == 0
    schema = requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["sleep", "mood"]


def test_without_validation_nothing_is_looked_up(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve({"PHQ8_Sleep": [MADE_UP]})
    monkeypatch.setenv("QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_ENABLED", "false")
    result = run(*EXTRACT)
    assert result.exit_code == 0
    assert "no quote was looked up" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--backend", "nope:m"),
        ("--backend", "embedded"),
        ("--backend", "openai"),
        ("--out", "nowhere/x.json"),
        ("--participant", "Jane Doe"),
        ("--mode", "magic"),
    ],
)
def test_wrong_use_exits_with_2(serve: Serve, arguments: tuple[str, ...]) -> None:
    serve({})
    assert run(*EXTRACT, *arguments).exit_code == 2
