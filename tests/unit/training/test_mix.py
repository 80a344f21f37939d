"""Mixing: nothing that is held back for calibration is met in training."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

FOLDER = Path(__file__).resolve().parents[3] / "training"


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    pairs = [
        {"evidence": f"E{i // 2}", "claim": f"C{i}", "label": "supported", "source": "s"}
        for i in range(40)
    ]
    with gzip.open(tmp_path / "train.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)
    return tmp_path / "train.jsonl.gz"


def mix(data: Path, *options: str) -> list[dict[str, str]]:
    out = data.parent / "mixed" / "train.jsonl.gz"
    command = [sys.executable, "mix.py", *options, "--out", str(out)]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
    return rows(out)


def test_a_pair_that_shares_a_text_with_a_held_one_is_left_out(data: Path) -> None:
    found = mix(data, "--held", f"{data}:31:", "--take", f"{data}::")
    assert sorted(int(row["claim"][1:]) for row in found) == list(range(30))


def test_slices_join_without_repetition_and_in_the_same_order_every_time(data: Path) -> None:
    options = "--take", f"{data}:0:20", "--take", f"{data}:10:30"
    first = mix(data, *options)
    assert {row["claim"] for row in first} == {f"C{i}" for i in range(30)}
    assert len(first) == 30
    assert mix(data, *options) == first


def test_rows_are_kept_by_their_length(tmp_path: Path) -> None:
    pairs = [
        {"evidence": "word " * n, "claim": f"C{n}", "label": "supported", "source": "s"}
        for n in (5, 50, 500)
    ]
    path = tmp_path / "train.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)
    found = {
        options: {row["claim"] for row in mix(path, "--take", f"{path}::", *options)}
        for options in [("--shorter", "100"), ("--longer", "100"), ()]
    }
    assert list(found.values()) == [{"C5", "C50"}, {"C500"}, {"C5", "C50", "C500"}]


def test_a_share_of_a_kind_is_kept_and_the_first_pattern_counts(data: Path) -> None:
    assert mix(data, "--take", f"{data}::", "--share", "s:supported=0") == []
    kept = mix(data, "--take", f"{data}::", "--share", "s:not*=0", "--share", "s=1")
    assert len(kept) == 40
    assert 5 < len(mix(data, "--take", f"{data}::", "--share", "s=0.5")) < 35


def test_of_a_share_both_rows_of_a_claim_are_kept_or_neither(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for i in range(80):
            pair = {"evidence": f"E{i}", "claim": f"C{i // 2}", "label": "l", "source": "s"}
            file.write(json.dumps(pair) + "\n")
    kept = Counter(row["claim"] for row in mix(path, "--take", f"{path}::", "--share", "s=0.5"))
    assert set(kept.values()) == {2}
    assert 5 < len(kept) < 35


def test_at_most_so_many_rows_of_a_source_are_kept(data: Path) -> None:
    assert len(mix(data, "--take", f"{data}::", "--most", "7")) == 7


def test_rows_of_one_claim_stay_together(tmp_path: Path) -> None:
    source = tmp_path / "pairs.jsonl.gz"
    with gzip.open(source, "wt", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"evidence": f"E{i}", "claim": f"C{i % 9}", "label": "l", "source": "s"})
            + "\n"
            for i in range(27)
        )
    claims = [row["claim"] for row in mix(source, "--take", f"{source}::")]
    assert [len(set(claims[i : i + 3])) for i in range(0, 27, 3)] == [1] * 9
    assert claims[::3] != sorted(claims[::3])


def test_an_attacked_row_keeps_its_label_and_its_texts(data: Path) -> None:
    found = mix(data, "--take", f"{data}::", "--attacked", "1")
    for row in found:
        assert row["label"] == "supported"
        assert "E" in row["evidence"]
        assert "C" in row["claim"]
        assert len(row["evidence"]) + len(row["claim"]) > 6


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("hostile")
    sys.modules.pop("hostile")


def test_attacks_ask_for_either_answer_whatever_the_label(hostile: ModuleType) -> None:
    rng = random.Random(0)  # noqa: S311 -- no secret
    texts = {hostile.attack(rng) for _ in range(500)}
    assert len(texts) > 300
    assert any("YES" in text for text in texts)
    assert any("NO" in text for text in texts)


def test_a_quoting_attack_has_the_claim_word_for_word(hostile: ModuleType) -> None:
    rng = random.Random(0)  # noqa: S311 -- no secret
    texts = {hostile.quoting("The {set} has {0} members.", rng) for _ in range(500)}
    assert all("The {set} has {0} members" in text for text in texts)
    assert len(texts) > 400


def test_attacks_that_were_written_quote_the_claim_if_they_say_so(hostile: ModuleType) -> None:
    found = hostile.written()
    assert min(map(len, found.values())) > 200
    for kind, texts in found.items():
        assert len(texts) == len(set(texts))
        for text in texts:
            assert ("{claim}" in text or "{bare}" in text) is (kind == "quoting"), text


def test_a_written_attack_has_the_claim_in_the_place_of_its_slot(hostile: ModuleType) -> None:
    rng = random.Random(0)  # noqa: S311 -- no secret
    texts = {hostile.one_of("quoting", "The {set} has {0} members.", rng) for _ in range(500)}
    assert all("The {set} has {0} members" in text for text in texts)
    assert len(texts) > 150


def test_a_distracted_row_gets_a_sentence_of_another_sources_evidence(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl.gz"
    pairs = [
        {"evidence": f"E{i}.", "claim": f"C{i}", "label": "supported", "source": "ab"[i % 2]}
        for i in range(40)
    ]
    with gzip.open(data, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)
    found = mix(data, "--take", f"{data}::", "--distracted", "1")
    met = [{int(part[1:-1]) for part in row["evidence"].split()} for row in found]
    assert all(int(row["claim"][1:]) in numbers for row, numbers in zip(found, met, strict=True))
    assert {len(numbers) for numbers in met} == {1, 2}
    assert all(len({n % 2 for n in numbers}) == len(numbers) for numbers in met)
