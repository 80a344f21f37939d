"""Main text of an HTML page: the article, without menus, notices and footers."""

from __future__ import annotations

from veridical.errors import DocumentError, MissingExtraError
from veridical.readers.formats import silent


def article_to_text(html: str, place: str) -> str:
    """Return the main text of a page; `DocumentError` that names `place` if it has none."""
    try:
        import trafilatura
    except ImportError:
        msg = "the extra that finds the main text of a page is not installed"
        raise MissingExtraError(msg, hint="Run: pip install 'veridical[web]'") from None
    try:
        with silent("trafilatura"), silent("htmldate"):
            text = trafilatura.extract(html, include_comments=False, include_tables=True)
    except Exception as error:  # noqa: BLE001 -- a page from anywhere raises almost anything there
        msg = f"the main text of {place} cannot be found ({type(error).__name__})"
        raise DocumentError(msg, hint="Leave --main-text out to read the whole page") from None
    if not text:
        msg = f"{place} has no main text"
        raise DocumentError(msg, hint="Leave --main-text out to read the whole page")
    return str(text)
