from __future__ import annotations

from collections.abc import Callable

import pytest

from veridical.pipeline.inference import openai_chat, openai_decisions, openai_text
from veridical.pipeline.inference.openai_embeddings import OpenAIEmbeddings

URL = "http://127.0.0.1:9/v1"
CREATED: dict[str, Callable[[str], str]] = {
    "chat": lambda url: openai_chat.create("m", base_url=url).info.fingerprint,
    "decisions": lambda url: openai_decisions.create("m", base_url=url).info.fingerprint,
    "text": lambda url: openai_text.create("m", base_url=url).fingerprint,
    "embeddings": lambda url: OpenAIEmbeddings("m", base_url=url).fingerprint,
}


@pytest.mark.parametrize("created", CREATED.values(), ids=CREATED)
def test_the_query_of_an_address_counts_and_its_texts_are_not_repeated(
    created: Callable[[str], str],
) -> None:
    queries = ["", "?route=a", "?route=b", "?route=a&key=secret"]
    prints = [created(URL + query) for query in queries]
    assert len(set(prints)) == len(prints)
    assert created(f"{URL}?key=secret&route=a") == prints[-1]
    assert not any("secret" in one or "route" in one for one in prints)
