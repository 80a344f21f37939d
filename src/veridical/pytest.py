"""Assertions for tests of programs whose answers must rest on sources.

    from veridical.pytest import assert_grounded

    def test_answer():
        assert_grounded(bot("When did it open?"), sources={"S1": TEXT})

Manual: docs/pytest.md.
"""

from __future__ import annotations

from veridical.interfaces.pytest_plugin import GroundedFixture, assert_grounded

__all__ = ["GroundedFixture", "assert_grounded"]
