"""The command line on real files, with the real embedded model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

SOURCE = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris. It is 330 metres tall. "
    "It was completed in 1889 and is owned by the City of Paris."
)
ANSWER = "The Eiffel Tower is 330 metres tall [S1]. It was completed in 1789 [S1]."

ODD = {
    "control characters": "Bell\x07 and escape \x1b[31m rang.",
    "right to left": "\u05d4\u05de\u05d2\u05d3\u05dc \u05d2\u05d1\u05d5\u05d4.",
    "direction override": "\u202eIt is tall\u202c.",
    "emoji": "\U0001f5fc\U0001f1eb\U0001f1f7 It has \U0001f468\u200d\U0001f469\u200d\U0001f467.",
    "combining characters": "La tour e\u0301tait ache\u0301ve\u0301e a\u0300 Paris.",
    "odd spaces": "It\u00a0is\u200b\ufeff tall\u2028indeed.",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with one answer and one source, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    (tmp_path / "answer.md").write_text(ANSWER)
    (tmp_path / "source.txt").write_text(SOURCE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def document(answer: str, *arguments: str) -> dict[str, Any]:
    """Check an answer in this process, and return the report as JSON."""
    Path("answer.md").write_text(answer, encoding="utf-8")
    result = run("check", "answer.md", "--source", "S1=source.txt", "--json", *arguments)
    assert result.exit_code in {0, 1, 3}, result.stderr
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_real_run_flags_the_wrong_claim_and_writes_every_report(folder: Path) -> None:
    command = [sys.executable, "-c", "from veridical.interfaces.cli import main; main()", "check"]
    files = ["--html", "r.html", "--sarif", "r.sarif", "--junit", "r.xml"]
    done = subprocess.run(
        [*command, "answer.md", "--source", "S1=source.txt", "--json", *files],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    claims = json.loads(done.stdout)["claims"]
    assert [claim["status"] for claim in claims] == ["supported", "contradicted"]
    assert "<html" in (folder / "r.html").read_text(encoding="utf-8")
    assert json.loads((folder / "r.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert "<testsuite" in (folder / "r.xml").read_text(encoding="utf-8")


def test_the_report_for_a_person_shows_the_answer() -> None:
    result = run("check", "answer.md", "--source", "S1=source.txt")
    assert result.exit_code == 1
    assert "330 metres tall" in result.stdout


def test_a_supported_answer_exits_with_0() -> None:
    assert document("The Eiffel Tower is 330 metres tall.")["summary"]["outcome"] == "grounded"


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        # A phantom citation is sure by rule, and nothing that the evidence opposes.
        ("The Eiffel Tower is 330 metres tall [S7].", {"any": 1, "sure": 1, "contradicted": 0}),
        ("The Eiffel Tower is 330 metres tall.", {"any": 0, "sure": 0, "contradicted": 0}),
        ("The Eiffel Tower was never completed.", {"any": 1, "sure": None, "contradicted": 1}),
        ("Its lifts are painted every spring.", {"any": 1, "sure": None, "contradicted": 0}),
    ],
)
def test_the_exit_code_is_that_of_the_claims_that_fail(
    answer: str, codes: dict[str, int | None]
) -> None:
    claims = document(answer)["claims"]
    surely = any(claim["flagged"] and claim["certainty"] == "sure" for claim in claims)
    for fail_on, code in codes.items():
        result = run("check", "answer.md", "-s", "S1=source.txt", "--quiet", "--fail-on", fail_on)
        assert result.exit_code == (int(surely) if code is None else code), fail_on


def test_an_answer_without_claims_is_not_verified(folder: Path) -> None:
    (folder / "answer.md").write_text("How tall is the tower?")
    result = run("check", "answer.md", "--source", "source.txt", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["summary"]["outcome"] == "nothing_to_check"


# --- bad input: a named error, or a correct result -------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.md", None),
        ("empty.md", b""),
        ("blank.md", b" \n\t\n"),
        ("junk.bin", bytes(range(256))),
        ("latin1.txt", "caf\u00e9 SECRET".encode("latin-1")),
        ("cut.txt", "SECRET \U0001f600".encode()[:-1]),
        ("cut.pdf", b"%PDF-1.7 SECRET"),
    ],
)
def test_a_bad_file_is_a_named_error_as_answer_and_as_source(
    folder: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    for arguments in ((name, "-s", "source.txt"), ("answer.md", "-s", name)):
        result = run("check", *arguments, "--json")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: ")
        assert name in result.stderr
        assert "\nhint: " in result.stderr
        assert "SECRET" not in result.stderr


def test_a_bad_record_is_a_named_error(folder: Path) -> None:
    (folder / "bad.json").write_text('[{"id": "a", "text": 3}]')
    result = run("check", "answer.md", "-s", "bad.json")
    assert result.exit_code == 2
    assert "bad.json: row 1: key 'text' must be text, not a number" in result.stderr


def test_duplicate_ids_are_a_named_error(folder: Path) -> None:
    (folder / "other.txt").write_text(SOURCE)
    result = run("check", "answer.md", "-s", "S1=source.txt", "-s", "S1=other.txt")
    assert result.exit_code == 2
    assert "S1 (source.txt and other.txt)" in result.stderr


def test_a_nan_in_the_configuration_is_a_named_error(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("policy: {support_threshold: .nan}\n")
    result = run("check", "answer.md", "-s", "source.txt")
    assert result.exit_code == 2
    assert "veridical.yaml: policy.support_threshold: must be a number from 0 to 1" in result.stderr


def test_a_citation_to_nothing_is_a_phantom() -> None:
    report = document("The Eiffel Tower is 330 metres tall [S9].")
    (claim,) = report["claims"]
    assert claim["status"] == "phantom_citation"
    assert claim["citations"] == [{"id": "S9", "resolved": False}]


@pytest.mark.parametrize("before", ODD.values(), ids=ODD)
def test_odd_text_before_a_claim_moves_no_offset(folder: Path, before: str) -> None:
    sentence = "The Eiffel Tower is 330 metres tall."
    (folder / "source.txt").write_text(f"{before} {SOURCE}", encoding="utf-8")
    answer = f"{before} {sentence}"
    report = document(answer)
    claim = report["claims"][-1]
    assert answer[claim["span"]["start"] : claim["span"]["end"]] == sentence
    assert claim["status"] == "supported"
    person = run("check", "answer.md", "--source", "S1=source.txt")
    assert person.exit_code in {0, 1, 3}  # 3: what is not English is undetermined
    assert "\x1b" not in person.stdout
    assert "\u202e" not in person.stdout


@pytest.mark.slow
def test_a_source_of_ten_megabytes_is_read_and_searched(folder: Path) -> None:
    filler = "".join(
        f"Station {number} reported light rain that day.\n" for number in range(240_000)
    )
    middle = len(filler) // 2
    (folder / "source.txt").write_text(f"{filler[:middle]}\n{SOURCE}\n{filler[middle:]}")
    started = perf_counter()
    report = document("The Eiffel Tower is 330 metres tall.")
    assert report["claims"][0]["status"] == "supported"
    assert perf_counter() - started < 120
