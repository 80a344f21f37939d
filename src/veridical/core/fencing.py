"""Delimiters and disarming for untrusted texts in a prompt, against prompt injection.

A text stands between fences that carry a digest of its content; it has ordinary letters and nothing
invisible, and any imitation of a fence, or of a control token of chat templates, is broken up. A
short text may stand between quotes on one line instead.
"""

from __future__ import annotations

import hashlib
import re

from veridical.core.homoglyphs import fold

MARKS = re.compile(
    # <|im_end|>, <|eot_id|>, <｜User｜>, <|"|>, <turn|>
    r"<(?=[|｜][\w/\"▁]|/?\w+[|｜]>)"
    # <s>, <end_of_turn>, <BOS_TOKEN>, <unused12>, <think>
    r"|<(?=/?(?:s|bos|eos|pad|unk|sop|eop|(?:BOS|EOS|PAD|UNK)_TOKEN|unused\d+|(?:start|end)_of_\w+"
    r"|fim_\w+|repo_name|file_sep|think|tools|tool_calls?|tool_response)>)"
    # [INST], [/AVAILABLE_TOOLS], [gMASK]
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|ARGS"
    r"|MODEL_SETTINGS|THINK|PREFIX|MIDDLE|SUFFIX|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|[gs]MASK)\])"
    # <<SYS>>, and our own fences, which a model may read with less care than a tokenizer
    r"|<(?=</?SYS>>|(?i:/?data-))"
)
"""Start of a control token of a chat template, or of one of our own fences.

The match is one `<` or `[`; no alternative has a space in it, so that a space put after the sign
breaks the token and a second pass finds nothing.
"""


def fenced(text: str) -> str:
    """Return a text, its control marks broken up, between fences that it does not contain."""
    safe = disarmed(fold(text))  # in this order: without invisible characters a mark may appear
    nonce = hashlib.sha256(safe.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"<data-{nonce}>\n{safe}\n</data-{nonce}>"


def quoted(text: str) -> str:
    """Return a short text on one line between double quotes, of which it has no others.

    Small models read a quoted claim far better than a fenced one
    (docs/decisions/0010-how-claims-are-asked.md); on its line it can begin nothing new.
    """
    return '"' + " ".join(disarmed(fold(text)).split()).replace('"', "'") + '"'


def disarmed(text: str) -> str:
    """Return a text in which `<|im_end|>`, `[INST]` and the like are no control tokens."""
    return MARKS.sub(lambda mark: mark.group() + " ", text)
