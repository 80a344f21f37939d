"""Comparison of sentence segmenters: speed, disagreements on real text, and a gold set by hand.

Run `.venv/bin/python benchmarks/segmenters.py`; the result goes to
benchmarks/results/segmenters.md. The texts are the project's evaluation data, which is not in the
repository.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nupunkt
import pysbd

from veridical.pipeline.claims import split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DATA = Path(__file__).parents[2] / "shared" / "data"
_RESULT = Path(__file__).parent / "results" / "segmenters.md"
_PER_FILE = 12_000  # characters; pysbd takes minutes on more
_COMMAND = ".venv/bin/python benchmarks/segmenters.py"

# One text per line; "|" stands where a sentence ends, "⏎" for a line break.
GOLD = """\
Dr. Smith met Bob in the U.S. office, e.g. on Monday.
He moved to the U.S. in 1990.|He liked it.
The U.S. Government agreed.
Mr. and Mrs. Jones left.|They were late.
It costs $3.50.|That is cheap.
Version 2.0.1 was released on Jan. 5, 2021.|It is stable.
See Fig. 3 for details.|It shows growth.
Smith et al. (2020) found this.|Others did not.
J. R. R. Tolkien wrote it.|He was English.
It was approx. 5 km long.
The meeting is at 5 p.m. on Friday.
The meeting is at 5 p.m.|Bring a pen.
He said "I am fine. Really."|Then he left.
"Really?" he asked.|She nodded.
"Go away!" she shouted.
She said, “It works. I tried.”|He agreed.
"Trust, but verify." — Russian proverb
He left (it was late. He was tired.) and slept.
It ended in 1999.[1]|The next one began.
It ended in 1999. [1]|The next one began.
It ended in 1999.[1][2]|The next one began.
It ended in 1999 [1].|The next one began.
It ended. (source: a.md)|The next one began.
It ended.【4:0†source】|The next one began.
X contains A, B and C.|He said so.
Vitamin C is good.|It helps.
Only adults may enter.|Smoking is bad.
They caught fish.|Then they ate.
We drove the car.|Bob slept.
I think it is so.|Theresa May was there.
They visited Grenada.|The sun shone.
Yahoo! was founded in 1994.
What is it?|It is a cat.
Really?!|Yes.
Wait... what?
He paused...|Then he spoke.
The end of the list etc. is here.
Apples, pears, etc.|They are fruit.
Inc. magazine praised Acme Inc. and others.
Acme Inc. was founded in 1990.|It grew.
The file is README.md.|Open it.
Run node.js or main.py today.|It works.
Visit https://example.com/a?b=c.d for more.|Thanks.
Write to a.b@example.com.|We answer.
The IP is 10.0.0.1.|It is local.
No. 5 is alive.
The answer is no.|Nothing changed.
He lives on Main St. in Boston.
St. Petersburg is large.|Moscow is larger.
He has a Ph.D. in physics.|She has one too.
Name: Bob⏎|Age: 3
- One is here.⏎|- Two is there
# Title⏎|Text follows.
The quick brown fox jumped over the dog and then⏎went home.|It slept.
line one is short⏎and goes on
First line has no stop⏎|Second line neither
今日は晴れ。|明日は雨！|本当？
هل هذا صحيح؟|نعم هذا صحيح.
यह सच है।|वह झूठ है।
Great! 🎉|Now go.
| a | b |⏎|---|---|⏎|| 1. One | 2 |
key = a.b⏎|other = c.d
2024-01-01 00:00:01 INFO started⏎|2024-01-01 00:00:02 INFO stopped
""".splitlines()


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A name, and a function that returns the offsets at which sentences end."""

    name: str
    ends: Callable[[str], set[int]]


def _ours(text: str) -> set[int]:
    return {span.end for span in split_sentences(text)}


def _nupunkt(text: str) -> set[int]:
    return {start + len(text[start:end].rstrip()) for start, end in nupunkt.sent_spans(text)}


_PYSBD = pysbd.Segmenter(language="en", clean=False, char_span=True)


def _pysbd(text: str) -> set[int]:
    return {span.start + len(span.sent.rstrip()) for span in _PYSBD.segment(text)}


SEGMENTERS = (
    Segmenter("nupunkt", _nupunkt),
    Segmenter("pysbd", _pysbd),
    Segmenter("veridical", _ours),
)


def gold_case(line: str) -> tuple[str, set[int]]:
    """Return the text of a gold line and the offsets at which its sentences end."""
    # A table's own bars are doubled by nothing: the boundary is the bar after a line break.
    if line.startswith("| a"):
        text = "| a | b |\n|---|---|\n| 1. One | 2 |"
        return text, {9, len(text)}
    pieces = line.replace("⏎", "\n").split("|")
    ends, position = set(), 0
    for index, piece in enumerate(pieces):
        ends.add(position + len(piece.rstrip()))
        position += len(piece) + (index + 1 < len(pieces) and not piece.endswith("\n"))
    text = "".join(
        piece if piece.endswith("\n") or index + 1 == len(pieces) else f"{piece} "
        for index, piece in enumerate(pieces)
    )
    return text, ends


def documents() -> Iterator[str]:
    """Yield stretches of the evaluation texts, about the same amount from each file."""
    for path in [*sorted(_DATA.glob("dev/*.gz")), *sorted(_DATA.glob("dialogues/*.jsonl"))]:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            taken = 0
            for line in lines:
                text = _longest_text(json.loads(line))
                yield text[:_PER_FILE]
                taken += len(text)
                if taken > _PER_FILE:
                    break


def _longest_text(row: object) -> str:
    if isinstance(row, str):
        return row
    values = row.values() if isinstance(row, dict) else row if isinstance(row, list) else ()
    return max((_longest_text(value) for value in values), key=len, default="")


def kind(text: str, end: int) -> str:
    """Name the kind of place that a boundary is at."""
    before, after = text[max(0, end - 40) : end], text[end : end + 40]
    following = after.lstrip()
    if "\n" in after[: len(after) - len(following)] or text[end : end + 1] == "\n":
        return "at a line break"
    if re.search(r"[.!?]\W*\[[^\]]*\]\W*$", before) or re.match(r"\s*\[\w", after):
        return "next to a citation mark"
    if text[:end].count('"') % 2 or re.search(r"[\"”’]$", before):
        return "in or after a quotation"
    if re.search(r"\b(?:[A-Z]|[A-Za-z]{1,3}|\w\.\w)\.$", before):
        return "after a short word or an initial"
    if following[:1].islower():
        return "before a lower-case word"
    return "other"


def measure(texts: list[str]) -> tuple[dict[str, float], dict[str, Counter[str]]]:
    """Return Mchar/s of each segmenter, and the boundaries that only some of them set, by kind."""
    seconds = dict.fromkeys((each.name for each in SEGMENTERS), 0.0)
    extra = {each.name: Counter[str]() for each in SEGMENTERS}
    for text in texts:
        found = {}
        for segmenter in SEGMENTERS:
            start = time.perf_counter()
            found[segmenter.name] = segmenter.ends(text)
            seconds[segmenter.name] += time.perf_counter() - start
        shared = set.intersection(*found.values())
        for name, ends in found.items():
            extra[name].update(kind(text, end) for end in ends - shared)
            extra[name]["agreed by all"] += len(shared)
    size = sum(map(len, texts)) / 1e6
    return {name: size / spent for name, spent in seconds.items()}, extra


def report(texts: list[str]) -> str:
    """Return the result as Markdown."""
    speed, extra = measure(texts)
    names = [segmenter.name for segmenter in SEGMENTERS]
    cases = [gold_case(line) for line in GOLD]
    wrong = {
        each.name: [text for text, ends in cases if each.ends(text) != ends] for each in SEGMENTERS
    }
    row = "| {} | " + " | ".join("{}" for _ in names) + " |"
    kinds = sorted(set().union(*extra.values()), key=lambda each: -extra["veridical"][each])
    lines = [
        "# Sentence segmenters",
        "",
        f"`{_COMMAND}`, {sum(map(len, texts)) / 1e6:.2f} Mchar of {len(texts)} texts, one core.",
        f"nupunkt {nupunkt.__version__}, pysbd 0.3.4; veridical is nupunkt with corrections.",
        "",
        row.format("", *names),
        "|---|" + "---:|" * len(names),
        row.format("speed, Mchar/s", *(f"{speed[name]:.2f}" for name in names)),
        row.format(
            f"gold texts right, of {len(cases)}", *(len(cases) - len(wrong[name]) for name in names)
        ),
        *(
            row.format(f"boundaries {each}", *(extra[name][each] for name in names))
            for each in kinds
        ),
        "",
        "Boundaries not agreed by all three are counted for each segmenter that set them.",
    ]
    for name in names:
        lines += ["", f"## Gold texts that {name} gets wrong", ""]
        lines += [f"- `{json.dumps(text, ensure_ascii=False)}`" for text in wrong[name]] or ["none"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write the result."""
    if not _DATA.is_dir():
        sys.exit(f"segmenters: the evaluation data is missing: no directory {_DATA}")
    result = report(list(documents()))
    _RESULT.parent.mkdir(exist_ok=True)
    _RESULT.write_text(result, encoding="utf-8")
    print(result)


if __name__ == "__main__":
    main()
