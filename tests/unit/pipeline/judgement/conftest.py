from __future__ import annotations

import pytest

from veridical.core.policy import Policy
from veridical.testing import FAKE


@pytest.fixture
def policy() -> Policy:
    return Policy().resolved(FAKE)
