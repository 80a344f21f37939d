"""Texts that are data in a prompt: what keeps a model from reading them as orders.

A text stands between fences that carry a digest of what is inside; it has ordinary letters and
nothing invisible, and whatever in it looks like a fence, or like a mark that chat templates give a
meaning to, is broken up. A short text may stand between quotes on one line instead.
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
"""Where a text begins something that a chat template, or a fence of ours, begins in the same way.

What is matched is one `<` or `[`; no alternative has a space in it, so that a space put after the
sign ends the matter and a second pass finds nothing.
"""


def fenced(text: str) -> str:
    """Return a text, its control marks broken up, between fences that it does not contain."""
    safe = disarmed(fold(text))  # in this order: without what is invisible a mark may appear
    nonce = hashlib.sha256(safe.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"<data-{nonce}>\n{safe}\n</data-{nonce}>"


def quoted(text: str) -> str:
    """Return a short text on one line between double quotes, of which it has no others.

    Small models read a quoted claim far better than a fenced one
    (docs/decisions/0010-how-claims-are-asked.md); on its line it can begin nothing new.
    """
    return '"' + " ".join(disarmed(fold(text)).split()).replace('"', "'") + '"'


def disarmed(text: str) -> str:
    """Return a text whose `<|im_end|>`, `[INST]` and the like mean nothing to a chat template."""
    return MARKS.sub(lambda mark: mark.group() + " ", text)
