"""The extra `store`: without it nothing but persistent data is missing, and that is said."""

from __future__ import annotations

import importlib
import sys

import pytest

from veridical.errors import MissingExtraError


def test_a_missing_database_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("veridical.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match="extra 'store'") as caught:
        importlib.import_module("veridical.store")
    assert "veridical[store]" in str(caught.value)


def test_another_missing_package_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("veridical.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "veridical.store.rates", None)
    with pytest.raises(ModuleNotFoundError, match="rates") as caught:
        importlib.import_module("veridical.store")
    assert not isinstance(caught.value, MissingExtraError)
