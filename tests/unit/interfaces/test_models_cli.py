"""`veridical models`, on a folder with our own weights, in place of a download."""

from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from veridical.errors import ConfigurationError
from veridical.interfaces.cli.app import app
from veridical.interfaces.cli.model_check import LENGTHS, read_golden
from veridical.pipeline.inference.card import WEIGHTS
from veridical.pipeline.inference.presets import presets

pytestmark = pytest.mark.slow  # they hash and load the weights

NAME = "me/verifier"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, as an export leaves it."""
    folder = tmp_path_factory.mktemp("export")
    for path in WEIGHTS.glob("verifier-v5.*"):
        shutil.copyfile(path, folder / path.name)
    return folder


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_MODELS__FOLDER", str(tmp_path / "models"))
    return tmp_path / "models"


def models(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    result = models(*arguments, "--json")
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def get(export: Path) -> Result:
    return models("get", NAME, "--source", f"file:{export}")


# --- list ------------------------------------------------------------------------------------


def test_the_list_has_every_preset_with_its_published_figure() -> None:
    rows = {row["name"]: row for row in document("list")["models"]}
    public = {name for name, one in presets().items() if one.kind != "card"}
    assert rows.keys() == public
    best = rows["factcg-deberta-l"]
    assert (best["licence"], best["parameters"]) == ("MIT", "0.4B")
    assert best["balanced_accuracy"] == presets()["factcg-deberta-l"].balanced_accuracy
    assert best["balanced_accuracy_source"] == "https://llm-aggrefact.github.io"
    assert best["downloaded"] == []
    (line,) = (line for line in models("list").stdout.splitlines() if line.startswith("factcg"))
    assert line.split() == [
        *("factcg-deberta-l", "MIT", "0.4B", "75.6%", "https://llm-aggrefact.github.io", "no")
    ]


def test_a_downloaded_model_that_is_no_preset_is_listed(export: Path) -> None:
    get(export)
    row = document("list")["models"][-1]
    assert (row["name"], row["licence"], row["balanced_accuracy"]) == (NAME, None, None)
    assert len(row["downloaded"]) == 1
    assert row["downloaded"][0][:12] in models("list").stdout


# --- get -------------------------------------------------------------------------------------


def test_get_prints_the_revision_and_the_hash_of_each_file(export: Path) -> None:
    result = get(export)
    assert (result.exit_code, result.stderr) == (0, "")
    for path in export.iterdir():
        assert f"sha256 {sha256(path.read_bytes()).hexdigest()}" in result.stdout
    found = document("get", NAME, "--source", f"file:{export}")
    assert found["schema"] == "veridical.model/1"
    assert found["sha256"].keys() == {path.name for path in export.iterdir()}
    assert found["revision"] in result.stdout
    assert Path(found["folder"], "verifier-v5.json").exists()


def test_get_quietly_prints_nothing(export: Path) -> None:
    result = models("get", NAME, "--source", f"file:{export}", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody"], "no preset named 'nobody'"),
        (["factcg-deberta-l", "--source", "file:none"], "no model folder"),
        (["factcg-deberta-l", "--source", "."], "file:FOLDER"),
        (["../up"], "is no name of a model"),
    ],
)
def test_a_model_that_cannot_be_named_is_wrong_use(arguments: list[str], says: str) -> None:
    result = models("get", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


# --- test ------------------------------------------------------------------------------------


def check_of(name: str) -> dict[str, Any]:
    found = document("test", name)
    assert found["schema"] == "veridical.model-test/1"
    return found


def test_a_downloaded_model_reads_plain_pairs_and_is_timed(export: Path) -> None:
    get(export)
    found = check_of(NAME)
    assert (found["backend"], found["model"]) == ("hub", "verifier-v5")
    assert found["labels"] == ["supported", "not_in_context", "contradicted"]
    assert found["right"] is all(pair["right"] for pair in found["pairs"]) is True
    assert found["golden"] is None
    for wanted, time in zip(LENGTHS, found["times"], strict=True):
        assert abs(time["tokens"] - wanted) <= 8
        assert time["ms"] > 0


def test_the_page_of_a_test_has_labels_times_and_pairs() -> None:
    result = models("test", "embedded")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["labels", "supported,", "not_in_context,", "contradicted"] in lines
    assert sum(line[1:2] == ["tokens"] and line[-3:] == ["ms", "a", "pair"] for line in lines) == 2
    assert sum(line[-1:] == ["right"] for line in lines) == 4


@pytest.mark.parametrize(("supported", "code"), [(0.99, 0), (0.2, 1)])
def test_results_on_record_are_compared(tmp_path: Path, supported: float, code: int) -> None:
    folder = tmp_path / "export"
    shutil.copytree(WEIGHTS, folder)
    pair = {"context": "It has eight lanes.", "claim": "It has eight lanes."}
    record = {"tolerance": 9, "pairs": [pair | {"supported": supported, "logits": [1, 0, 0]}]}
    (folder / "golden.json").write_text(json.dumps(record), encoding="utf-8")
    get(folder)  # the record is copied with the model
    for name in (f"onnx:{folder}", NAME):
        result = models("test", name)
        assert result.exit_code == code
        (line,) = (line for line in result.stdout.splitlines() if line.startswith("on record"))
        assert ("WRONG: 1 pairs" in line) is bool(code)


@pytest.mark.parametrize("text", ["", "[]", '{"pairs": []}', '{"pairs": [{"claim": "a"}]}'])
def test_a_malformed_record_is_an_error_without_its_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "golden.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="no results on record"):
        read_golden(tmp_path)


def test_a_model_that_was_not_downloaded_says_how_to_get_it() -> None:
    result = models("test", "hhem-2.1-open")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "veridical models get hhem-2.1-open" in result.stderr


def test_a_damaged_file_is_not_loaded(export: Path) -> None:
    get(export)
    folder = Path(document("get", NAME, "--source", f"file:{export}")["folder"])
    (folder / "verifier-v5.tokenizer.json").write_bytes(b"damaged")
    result = models("test", NAME)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error: ")


def test_every_command_has_examples() -> None:
    for command in ("list", "get", "test"):
        assert f"  veridical models {command}" in models(command, "--help").stdout
