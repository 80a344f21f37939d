"""The service's OpenAPI document on stdout, for generators of clients.

python scripts/openapi.py > openapi.json
"""

from __future__ import annotations

import json

from veridical.interfaces.http.app import create_app
from veridical.settings import Settings

if __name__ == "__main__":
    print(json.dumps(create_app(Settings()).openapi(), indent=2))
