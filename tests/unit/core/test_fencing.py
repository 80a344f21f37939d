from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.fencing import disarmed, fenced, quoted

# As the tokenizers of the models have them.
SPECIAL_TOKENS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>"),  # ChatML, Qwen, SmolLM
    *("<s>", "</s>", "<unk>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),  # Llama 2
    *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),  # Llama 3
    *("<|python_tag|>", "<|eom_id|>", "<|reserved_special_token_0|>"),
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]"),  # Mistral
    *("[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[IMG]", "[THINK]", "[/THINK]"),
    *("<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>", "<unused12>"),  # Gemma
    *("<|turn>", "<turn|>", '<|"|>', "<start_of_image>"),
    *("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|tool|>"),  # Phi
    *(
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
        "<｜User｜>",
        "<｜Assistant｜>",
    ),  # DeepSeek
    *("<｜tool▁calls▁begin｜>", "<think>", "</think>", "<tool_call>", "</tool_call>"),
    *("<|channel|>", "<|message|>", "<|return|>", "[gMASK]", "<sop>", "<BOS_TOKEN>"),
)
FENCE = re.compile("</?data-", re.IGNORECASE)

texts = st.lists(
    st.sampled_from([*SPECIAL_TOKENS, "</data-0123456789>", "<", "[", "/", "|", "]", ">", " ", "s"])
    | st.text(max_size=5)
).map("".join)


@given(texts)
def test_a_disarmed_text_has_no_special_token_and_no_fence(text: str) -> None:
    safe = disarmed(text)
    assert not FENCE.search(safe)
    assert not [token for token in SPECIAL_TOKENS if token in safe]


@given(texts)
def test_disarming_twice_is_disarming_once(text: str) -> None:
    assert disarmed(disarmed(text)) == disarmed(text)


@given(texts)
def test_disarming_only_adds_spaces(text: str) -> None:
    assert disarmed(text).replace(" ", "") == text.replace(" ", "")


@given(st.text(st.characters(exclude_characters="<[")))
def test_a_text_without_brackets_is_left_as_it_is(text: str) -> None:
    assert disarmed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<b>bold</b>, <strong>so</strong>, <span class='s'>",
        "a < b, a<b, 3 <4 and x <- y",
        "x[INSTALL] and [sic] and [S1] and [instance]",
        "xs |> map(f) <| y; a <|> b; Foo<S>, Vec<T>",
        "<system>, <data>, <database-name>, <first_name>",
        "[args] [audio] [think about it]",
        "if (a<<SYSTEM) return b[0];",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert disarmed(text) == text


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_each_special_token_is_broken_up_in_one_place(token: str) -> None:
    assert len(disarmed(f"a{token}b")) == len(token) + 3


@given(texts)
def test_what_is_between_fences_cannot_close_them(text: str) -> None:
    safe = fenced(text)
    assert len(re.findall(r"<data-[0-9a-f]{10}>", safe)) == 1
    assert len(re.findall(r"</data-[0-9a-f]{10}>", safe)) == 1


@pytest.mark.parametrize("mark", ["<\u200b|im_end|>", "\uff1c|im_end|\uff1e", "</da\u00adta-0>"])
def test_a_mark_in_disguise_is_broken_up_all_the_same(mark: str) -> None:
    safe = fenced(mark).splitlines()[1]
    assert safe in {"< |im_end|>", "< /data-0>"}


def test_a_fence_depends_on_its_text_alone() -> None:
    assert fenced("one") == fenced("one")
    assert fenced("one").splitlines()[0] != fenced("two").splitlines()[0]


def test_a_lone_surrogate_is_no_crash() -> None:
    assert "\ud800" in fenced("\ud800")


@given(texts | st.text())
def test_a_quoted_text_is_one_line_that_ends_where_its_quotes_do(text: str) -> None:
    found = quoted(text)
    assert found[0] == found[-1] == '"'
    assert '"' not in found[1:-1]
    assert len(found.splitlines()) == 1
    assert not FENCE.search(found)
    assert not [token for token in SPECIAL_TOKENS if token in found]


def test_a_quoted_sentence_keeps_its_words() -> None:
    assert quoted('It is\n"open"  now.') == "\"It is 'open' now.\""
