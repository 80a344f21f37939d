from __future__ import annotations

from pathlib import Path

import pytest

from veridical.settings import Settings
from veridical.settings.current import current_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_settings_are_read_once_as_long_as_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = current_settings()
    assert found == Settings.load()
    monkeypatch.setattr(Settings, "load", None)
    assert current_settings() is found


def test_a_change_of_a_variable_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    current_settings()
    monkeypatch.setenv("VERIDICAL_SERVER__PORT", "1234")
    assert current_settings().server.port == 1234
    monkeypatch.delenv("VERIDICAL_SERVER__PORT")
    assert current_settings().server.port == 8642


def test_a_change_of_the_file_is_seen(folder: Path) -> None:
    current_settings()
    file = folder / "veridical.yaml"
    for port in (1111, 22222, 3):
        file.write_text(f"server: {{port: {port}}}")
        assert current_settings().server.port == port
    file.unlink()
    assert current_settings().server.port == 8642


def test_a_file_in_another_folder_is_another_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other").mkdir()
    (folder / "veridical.yaml").write_text("server: {port: 1111}")
    assert current_settings().server.port == 1111
    monkeypatch.chdir(folder / "other")
    assert current_settings().server.port == 8642
