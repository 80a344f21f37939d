"""A release: the changelog's unreleased section under its version and date, a commit and a tag.

    python scripts/release.py 0.1.0 [--dry-run]

Nothing is pushed. `veridical.__version__` is the only place of the version; raise it in a commit
before.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
PACKAGE = ROOT / "src" / "veridical" / "__init__.py"
UNRELEASED = "## [Unreleased]\n"


class ReleaseError(Exception):
    """A reason not to release."""


def version_of(package: str) -> str:
    """Return the version that the source of a package states."""
    found = re.search(r'^__version__ = "([^"]+)"$', package, re.MULTILINE)
    if found is None:
        msg = "the package states no version"
        raise ReleaseError(msg)
    return found[1]


def with_release(changelog: str, version: str, day: date) -> str:
    """Return the changelog with its unreleased changes under a version, and none unreleased.

    `ReleaseError` if there is nothing to release, or the version is there already.
    """
    if f"## [{version}]" in changelog:
        msg = f"the changelog has {version} already"
        raise ReleaseError(msg)
    before, heading, after = changelog.partition(UNRELEASED)
    if "\n- " not in after.partition("\n## ")[0]:
        msg = "the changelog has no unreleased changes"
        raise ReleaseError(msg)
    return f"{before}{heading}\n## [{version}] - {day.isoformat()}\n{after}"


def ensure_releasable(version: str, stated: str, changed: str, tags: list[str]) -> None:
    """Raise `ReleaseError` unless the tree is clean, the version stated and its tag new."""
    reasons = {
        "the tree has uncommitted changes": bool(changed.strip()),
        f"the package states version {stated}, not {version}": version != stated,
        f"the tag v{version} exists": f"v{version}" in tags,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    if found:
        raise ReleaseError("; ".join(found))


def git(*arguments: str) -> str:
    """Run git in the repository; return its output."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def release(version: str, *, dry_run: bool) -> None:
    """Write the changelog, commit it and tag the commit; with `dry_run` only check and tell."""
    stated = version_of(PACKAGE.read_text(encoding="utf-8"))
    ensure_releasable(version, stated, git("status", "--porcelain"), git("tag").split())
    text = with_release(CHANGELOG.read_text(encoding="utf-8"), version, datetime.now(UTC).date())
    if dry_run:
        print(f"would commit the changelog of {version} and tag it v{version}")
        return
    CHANGELOG.write_text(text, encoding="utf-8")
    git("commit", "--quiet", "--message", f"chore: release {version}", "--", str(CHANGELOG))
    git("tag", "--annotate", f"v{version}", "--message", f"veridical {version}")
    print(f"committed and tagged v{version}; push both when you are ready")


def main() -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description="Commit and tag a release; push nothing.")
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="check only, change nothing")
    asked = parser.parse_args()
    try:
        release(asked.version, dry_run=asked.dry_run)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
