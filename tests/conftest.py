from __future__ import annotations

from hypothesis import settings

# How long an example takes says more about the machine's load than about the code.
settings.register_profile("veridical", deadline=None)
settings.load_profile("veridical")
