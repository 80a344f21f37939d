"""Groups written one by one: whole, two-sided, and apart from the probes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "training"
FILES = sorted((FOLDER / "written").glob("*.jsonl"))


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict], list[dict]]:
    folder = tmp_path_factory.mktemp("written")
    out, probes = folder / "train.gz", folder / "probes.gz"
    command = [sys.executable, "written.py", "--out", str(out), "--probes", str(probes)]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
    return rows(out), rows(probes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_group_has_an_edit_that_fits_and_a_claim_whose_label_it_changes(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        group = json.loads(line)
        text = group["e"]
        for old, new in group["edit"]:
            assert text.count(old) == 1, line
            text = text.replace(old, new)
        assert {label for _, *labels in group["c"] for label in labels} <= set("SCN")
        assert any(first != second for _, first, second in group["c"]), line


def test_no_evidence_of_the_probes_is_trained_on(written: tuple[list[dict], list[dict]]) -> None:
    train, probes = written
    assert probes
    assert not {row["evidence"] for row in train} & {row["evidence"] for row in probes}


def test_no_pair_is_met_with_two_labels(written: tuple[list[dict], list[dict]]) -> None:
    labels = defaultdict(set)
    for row in (*written[0], *written[1]):
        labels[row["evidence"], row["claim"]].add(row["label"])
    assert {len(each) for each in labels.values()} == {1}


def test_each_label_has_at_least_a_sixth_of_the_pairs(
    written: tuple[list[dict], list[dict]],
) -> None:
    counts = Counter(row["label"] for row in written[0])
    assert min(counts.values()) > counts.total() / 6
