from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import veridical.verification.sync
import veridical.wiring.build
from veridical.core.assessment import Outcome, Summary
from veridical.core.measurements import BackendInfo, Estimator, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Source, Span
from veridical.core.verdicts import Budget, Certainty, Status, Verdict
from veridical.errors import BackendError, ConfigurationError
from veridical.interfaces.cli import output
from veridical.interfaces.cli.app import app
from veridical.pipeline.reports import Report

if TYPE_CHECKING:
    import click
    from click.testing import Result

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+")
COMMANDS = (["check"], ["eval"], ["doctor"], ["config", "show"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with one answer and one source, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    (tmp_path / "answer.md").write_text("SECRET is here.")
    (tmp_path / "doc.md").write_text("SECRET was here.")
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


def refused(*arguments: str, stdin: bytes | None = None) -> str:
    """Run a command with wrong usage, and return its message."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "SECRET" not in result.stderr
    return result.stderr


class FakeVerifier:
    """Scripted stand-in for `SyncVerifier`, which records its call."""

    outcome = Outcome.GROUNDED
    claims: tuple[Verdict, ...] = ()
    error: BaseException | None = None
    calls: list[dict[str, Any]]

    def __init__(self, _verifier: object) -> None:
        type(self).calls = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def check(self, answer: str, **arguments: Any) -> Report:  # noqa: ANN401 -- whatever is passed
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error
        if arguments["progress"] is not None:
            arguments["progress"](1, 1)
        sources: tuple[Source, ...] = arguments["sources"]
        return Report(
            answer=answer,
            sources={source.id: source for source in sources},
            claims=self.claims,
            summary=Summary(self.outcome, 1, 0, 0, {}, {}, None, None, 1.0),
            policy=arguments["policy"],
            backend=BackendInfo("fake", "none", Estimator.DECISION, "0"),
        )


def verdict(status: Status, *, sure: bool) -> Verdict:
    claim = Claim("c1", "It opened in 1998.", Span(0, 18), 0)
    lost = Unmeasured(UnmeasuredReason.TIMEOUT)
    certainty = Certainty.SURE if sure else Certainty.UNSURE
    return Verdict(claim, status, "", (), lost, lost, Budget(0.95), None, certainty=certainty)


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> type[FakeVerifier]:
    kind = type("Fake", (FakeVerifier,), {})
    monkeypatch.setattr(veridical.wiring.build, "build_verifier", lambda _settings: None)
    monkeypatch.setattr(veridical.verification.sync, "SyncVerifier", kind)
    return kind


CHECK = ("check", "answer.md", "--source", "S1=doc.md")


# --- the program -----------------------------------------------------------------------------


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"veridical {version('veridical')}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"veridical {' '.join(command)}" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_common_options(command: list[str]) -> None:
    options = re.findall(r"--\w+", run(*command, "--help").stdout)
    assert {"--json", "--quiet", "--config"} <= set(options)


@pytest.mark.parametrize(
    "arguments",
    [(), ("check",), ("check", "answer.md"), (*CHECK, "--nope"), (*CHECK, "--windows"), ("nope",)],
)
def test_wrong_use_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        ("memory", "list", "--limit"),
        ("memory", "search", "text", "--limit"),
        ("memory", "rejected", "--limit"),
        ("memory", "verify-pending", "--limit"),
        ("feedback", "remove"),
    ],
)
@pytest.mark.parametrize("number", [2**31, 2**63, 10**40])
def test_a_number_too_large_for_a_database_is_wrong_use(
    command: tuple[str, ...], number: int
) -> None:
    refused(*command, str(number))


def test_help_loads_neither_models_nor_settings() -> None:
    code = (
        "import sys\n"
        "from veridical.interfaces.cli import main\n"
        "sys.argv = ['veridical', '--help']\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'onnxruntime', 'pydantic', 'rich', 'selectolax', 'anyio'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- check: outcomes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.GROUNDED, 0),
        (Outcome.FLAGGED, 1),
        (Outcome.UNDETERMINED, 3),
        (Outcome.NOTHING_TO_CHECK, 3),
    ],
)
@pytest.mark.parametrize("how", [(), ("--json",), ("--quiet",)])
def test_the_exit_code_says_the_outcome(
    verifier: type[FakeVerifier], outcome: Outcome, code: int, how: tuple[str, ...]
) -> None:
    verifier.outcome = outcome
    if outcome is Outcome.FLAGGED:
        verifier.claims = (verdict(Status.UNSUPPORTED, sure=True),)
    assert run(*CHECK, *how).exit_code == code


SURE, UNSURE = "sure", "unsure"


@pytest.mark.parametrize(
    ("found", "codes"),
    [
        ([(Status.CONTRADICTED, SURE)], {"any": 1, "sure": 1, "contradicted": 1}),
        ([(Status.CONTRADICTED, UNSURE)], {"any": 1, "sure": 0, "contradicted": 1}),
        ([(Status.UNSUPPORTED, SURE)], {"any": 1, "sure": 1, "contradicted": 0}),
        ([(Status.UNSUPPORTED, UNSURE)], {"any": 1, "sure": 0, "contradicted": 0}),
        (
            [(Status.UNSUPPORTED, UNSURE), (Status.UNDETERMINED, UNSURE)],
            {"any": 1, "sure": 3, "contradicted": 3},
        ),
        ([(Status.SUPPORTED, UNSURE)], {"any": 0, "sure": 0, "contradicted": 0}),
    ],
)
def test_what_fails_is_what_fail_on_says(
    verifier: type[FakeVerifier], found: list[tuple[Status, str]], codes: dict[str, int]
) -> None:
    verifier.claims = tuple(verdict(status, sure=certainty == SURE) for status, certainty in found)
    flagged = any(each.flagged for each in verifier.claims)
    verifier.outcome = Outcome.FLAGGED if flagged else Outcome.GROUNDED
    for fail_on, code in codes.items():
        assert run(*CHECK, "--fail-on", fail_on).exit_code == code, fail_on
    assert run(*CHECK).exit_code == codes["any"]  # the embedded verifier tells no flag sure


def test_a_gate_that_fails_on_something_else_is_wrong_use(verifier: type[FakeVerifier]) -> None:
    result = run(*CHECK, "--fail-on", "unsure")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--fail-on: must be 'any', 'sure', 'contradicted', or null" in result.stderr
    assert verifier


@pytest.mark.usefixtures("verifier")
def test_the_report_for_a_person_goes_to_stdout() -> None:
    result = run(*CHECK)
    assert "SECRET is here." in result.stdout
    assert result.stderr == ""


@pytest.mark.usefixtures("verifier")
@pytest.mark.parametrize("how", [("--json",), ("--json", "--quiet")])
def test_json_prints_one_document_and_nothing_else(how: tuple[str, ...]) -> None:
    result = run(*CHECK, *how)
    assert json.loads(result.stdout)["schema"] == "veridical.report/1"
    assert result.stderr == ""


@pytest.mark.usefixtures("verifier")
def test_quiet_prints_nothing(folder: Path) -> None:
    (folder / "junk").write_bytes(b"\0")
    result = run("check", "answer.md", "--source", str(folder), "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.usefixtures("verifier")
def test_files_that_were_skipped_are_noted(folder: Path) -> None:
    for number in range(7):
        (folder / f"junk{number}").write_bytes(b"\0")
    result = run("check", "answer.md", "--source", str(folder), "--json")
    assert result.stderr.count("skipped, not UTF-8 text") == 4
    assert "note: and 3 more files like these" in result.stderr
    assert json.loads(result.stdout)


def test_flags_reach_the_verifier(verifier: type[FakeVerifier]) -> None:
    flags = {
        "--question": "Why?",
        "--windows": "all",
        "--support-threshold": "0.9",
        "--contradiction-threshold": "0.1",
    }
    run(*CHECK, *(word for flag in flags.items() for word in flag))
    (call,) = verifier.calls
    assert call["question"] == "Why?"
    assert call["sources"] == (Source("S1", "SECRET was here.", "doc.md"),)
    assert call["policy"] == Policy(
        windows="all", support_threshold=0.9, contradiction_threshold=0.1
    )


@pytest.mark.usefixtures("verifier")
def test_reports_are_written_to_files(folder: Path) -> None:
    result = run(*CHECK, "--html", "r.html", "--sarif", "r.sarif", "--junit", "r.xml")
    assert result.exit_code == 0
    assert "<html" in (folder / "r.html").read_text()
    assert json.loads((folder / "r.sarif").read_text())["version"] == "2.1.0"
    assert "<testsuite" in (folder / "r.xml").read_text()
    assert sorted(path.name for path in folder.iterdir()) == [
        "answer.md", "doc.md", "r.html", "r.sarif", "r.xml"
    ]  # fmt: skip


def test_an_answer_may_stand_on_the_command_line(
    verifier: type[FakeVerifier], folder: Path
) -> None:
    result = run("check", "--text", "It is here.", "-s", "S1=doc.md", "--sarif", "r.sarif")
    assert result.exit_code == 0
    assert "It is here." in result.stdout
    assert verifier.calls[0]["sources"] == (Source("S1", "SECRET was here.", "doc.md"),)
    assert json.loads((folder / "r.sarif").read_text())


def test_one_claim_is_taken_as_it_stands() -> None:
    result = run("check", "--claim", "Is it SECRET? It was here.", "-s", "S1=doc.md", "--json")
    assert result.exit_code in {0, 1, 3}
    (claim,) = json.loads(result.stdout)["claims"]
    assert claim["text"] == "Is it SECRET? It was here."
    assert claim["span"] == {"start": 0, "end": 26}


# --- check: errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "gone.md", "-s", "doc.md"), "error: there is no file gone.md\nhint: "),
        (("check", "answer.md", "-s", "gone.md"), "error: there is no file gone.md\nhint: "),
        (("check", ".", "-s", "doc.md"), "is a folder"),
        (("check", "-", "-s", "-"), "standard input is asked for 2 times"),
        (("check", "answer.md", "-s", "doc.md", "-s", "doc.md"), "source ids must be unique"),
        (
            (*CHECK, "--windows", "-1"),
            "--windows: must be a whole number from 0, 'all' or null, not -1",
        ),
        ((*CHECK, "--windows", "few"), "--windows: must be a whole number from 0, 'all' or null"),
        ((*CHECK, "--support-threshold", "nan"), "--support-threshold: must be a number from 0"),
        ((*CHECK, "--contradiction-threshold", "2"), "--contradiction-threshold: must be"),
        ((*CHECK, "--question", " "), "--question is empty"),
        (("check", "-s", "doc.md"), "the answer is given in 0 ways"),
        ((*CHECK, "--text", "SECRET"), "the answer is given in 2 ways"),
        ((*CHECK, "--claim", "SECRET"), "the answer is given in 2 ways"),
        (("check", "--text", "a", "--claim", "b", "-s", "doc.md"), "given in 2 ways"),
        (("check", "--text", " ", "-s", "doc.md"), "--text is empty"),
        (("check", "--claim", "", "-s", "doc.md"), "--claim is empty"),
        (("check", "", "-s", "doc.md"), "error: "),
        ((*CHECK, "--backend", "nope"), "no backend named 'nope'"),
        ((*CHECK, "--config", "gone.yaml"), "cannot read the configuration file gone.yaml"),
        ((*CHECK, "--html", "gone/r.html"), "there is no folder"),
        ((*CHECK, "--html", "."), "it is a folder"),
        ((*CHECK, "--html", "answer.md"), "answer.md is read as an input or written twice"),
        ((*CHECK, "--html", "doc.md"), "doc.md is read as an input or written twice"),
        ((*CHECK, "--html", "r", "--sarif", "./r"), "r is read as an input or written twice"),
    ],
)
@pytest.mark.parametrize("how", [(), ("--json",), ("--quiet",)])
def test_wrong_input_is_named_before_anything_runs(
    arguments: tuple[str, ...], message: str, how: tuple[str, ...]
) -> None:
    assert message in refused(*arguments, *how)


def test_an_empty_answer_from_stdin_is_a_named_error() -> None:
    assert "the answer from standard input is empty" in refused(
        "check", "-", "--source", "doc.md", stdin=b""
    )


def test_a_backend_that_cannot_start_leaves_the_answer_undetermined(
    verifier: type[FakeVerifier],
) -> None:
    verifier.error = BackendError("the weights are damaged", hint="Install again")
    result = run(*CHECK)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "error: the weights are damaged\nhint: Install again\n"


def test_a_crash_shows_its_type_and_place_but_no_text(verifier: type[FakeVerifier]) -> None:
    verifier.error = RuntimeError("SECRET")
    result = run(*CHECK)
    assert (result.exit_code, result.stdout) == (3, "")
    assert re.match(r"error: internal error: RuntimeError at test_cli\.py:\d+\n", result.stderr)
    assert "SECRET" not in result.stderr


def test_a_crash_shows_its_traceback_on_request(
    verifier: type[FakeVerifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIDICAL_DEBUG", "1")
    verifier.error = RuntimeError("why")
    assert "Traceback" in run(*CHECK).stderr


def test_an_interrupt_exits_with_130(verifier: type[FakeVerifier]) -> None:
    verifier.error = KeyboardInterrupt()
    assert run(*CHECK).exit_code == 130


def test_messages_do_not_steer_the_terminal() -> None:
    assert "\x1b" not in refused("check", "\x1b]0;x\x07.md", "--source", "doc.md")


# --- config ----------------------------------------------------------------------------------


def test_config_show_names_the_origin_of_each_setting(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "veridical.yaml").write_text("policy: {windows: 7}\n")
    monkeypatch.setenv("VERIDICAL_THREADS", "2")
    document = json.loads(run("config", "show", "--json").stdout)
    assert document["schema"] == "veridical.config/1"
    shown = document["settings"]
    assert shown["threads"] == {"value": 2, "origin": "env", "place": "VERIDICAL_THREADS"}
    assert shown["policy.windows"] == {"value": 7, "origin": "file", "place": "veridical.yaml"}
    assert shown["backend"] == {"value": "embedded", "origin": "default", "place": "default"}
    assert re.search(
        r"^policy\.windows +7 +veridical\.yaml$", run("config", "show").stdout, re.MULTILINE
    )


def test_config_show_refuses_what_is_wrong(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("thread: 1\n")
    assert "did you mean threads?" in refused("config", "show", "--json")


# --- the page that describes it --------------------------------------------------------------


def page() -> str:
    return (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")


def options(command: click.Command) -> set[str]:
    """Return the long options of a command and of all below it."""
    own = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    below = map(options, getattr(command, "commands", {}).values())
    return {name for name in own if name.startswith("--")}.union(*below)


def test_the_options_named_on_the_page_exist() -> None:
    assert set(OPTION.findall(page())) <= {"--help"} | options(get_command(app))


@pytest.mark.parametrize("name", sorted(get_command(app).commands))  # type: ignore[attr-defined]
def test_a_command_has_a_section_with_an_example(name: str) -> None:
    (section,) = [part for part in page().split("\n## ") if part.startswith(f"veridical {name}")]
    assert f"veridical {name}" in "".join(re.findall(r"```bash.*?```", section, re.DOTALL))


# --- output ----------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_keeps_its_links(folder: Path) -> None:
    (folder / "real.html").write_text("old")
    (folder / "link.html").symlink_to("real.html")
    output.write_file(Path("link.html"), "new \u00e9")
    assert (folder / "link.html").is_symlink()
    assert (folder / "real.html").read_text(encoding="utf-8") == "new \u00e9"


def test_a_failed_write_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "r.html").write_text("old")

    def fill(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fill)
    with pytest.raises(ConfigurationError, match="No space left"):
        output.write_file(Path("r.html"), "new")
    assert (folder / "r.html").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["answer.md", "doc.md", "r.html"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from veridical.interfaces.cli import main; main()"]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [*command, "config", "show", "--json"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_mode_leaves_claims_out_and_the_report_says_which(folder: Path) -> None:
    (folder / "a.md").write_text("The lamp is lit by gas. The tower opened in 1759.")
    (folder / "s.txt").write_text("The tower opened in 1759. Its lamp was lit by gas.")
    ran = run("check", "a.md", "--source", "S1=s.txt", "--mode", "critical_only", "--json")
    document = json.loads(ran.stdout)
    assert document["summary"]["skipped"] == {"not_critical": 1}
    assert [claim["skipped"] for claim in document["claims"]] == ["not_critical", None]
    assert document["policy"]["mode"] == "critical_only"


def test_an_unknown_mode_is_wrong_use(folder: Path) -> None:
    (folder / "a.md").write_text("The lamp is lit by gas.")
    ran = run("check", "a.md", "--source", "S1=a.md", "--mode", "half")
    assert ran.exit_code == 2
    assert "--mode: must be 'full', 'sample' or 'critical_only'" in " ".join(ran.stderr.split())
