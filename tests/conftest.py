from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says more about the machine's load than about the code; and a gate must
# not fail today on what passed yesterday.
settings.register_profile("veridical", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("veridical")
