"""Statements on tables: InfoTabS, TabFact, WikiTableQuestions.

- InfoTabS (github.com/infotabs/infotabs, Apache-2.0; tables of Wikipedia, CC BY-SA 3.0): statements
  that people wrote on info boxes, labelled three ways. Its training and development parts are read.
- TabFact (github.com/wenhuchen/Table-Fact-Checking, MIT; tables of Wikipedia, CC BY-SA 3.0): pairs
  of one true and one false statement on a table, as people wrote them, in lower case.
- WikiTableQuestions (github.com/ppasupat/WikiTableQuestions, CC BY-SA 4.0): questions on tables,
  turned into statements with their answer, and with another cell of the answer's column.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING

from programmatic.base import CONTRADICTED, NOT_IN_CONTEXT, SUPPORTED, Pair

from sources.statements import statement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from sources.git_files import Repository

MOST_CHARACTERS = 1150
"""Of a table: about 330 word pieces, as cells have many numbers."""

_LABELS = {"E": SUPPORTED, "N": NOT_IN_CONTEXT, "C": CONTRADICTED}
_BROKEN = re.compile(r"[ŽŠ‡ŒˆŸ†‰‹—–\ufffd]|’(?![st]\b)")
"""Letters with accents that an earlier conversion made into something else."""

_SPACES = re.compile(r"\s+")


def infotabs(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield the statements on info boxes."""
    rows = [
        row
        for part in ("train", "dev")
        for row in repository.table(f"data/maindata/infotabs_{part}.tsv", delimiter="\t", quoting=3)
    ]
    names = sorted({row["table_id"] for row in rows})
    paths = {f"data/tables/json/{name}.json": name for name in names}
    boxes = {paths[path]: json.loads(text) for path, text in repository.texts(list(paths))}
    for row in rows:
        text = box(boxes[row["table_id"]], rng) if row["table_id"] in boxes else ""
        broken = _BROKEN.search(row["hypothesis"])
        if text and len(text) <= MOST_CHARACTERS and row["label"] in _LABELS and not broken:
            yield Pair(text, clean(row["hypothesis"]), _LABELS[row["label"]], "infotabs")


def box(entries: dict[str, list[str]], rng: Random) -> str:
    """Return an info box as lines `Key: value`, its title first; less often in one paragraph."""
    title, *rest = [(key, "; ".join(map(clean, values))) for key, values in entries.items()]
    head = title[1] if title[0] == "title" else f"{title[0]}: {title[1]}"
    lines = [head, *(f"{clean(key)}: {value}" for key, value in rest if value)]
    return "\n".join(lines) if rng.random() < 0.8 else ". ".join(lines)


def tabfact(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield both statements of each pair whose table is short enough to be shown whole."""
    pairs = repository.json("pairwise_data/all_positive_negative_pairs.json")
    titles = repository.json("data/table_to_page.json")
    paths = {f"data/all_csv/{name}": name for name in sorted({name for name, *_ in pairs})}
    tables = {paths[path]: text for path, text in repository.texts(list(paths))}
    for name, *statements in pairs:
        cells = [line.split("#") for line in tables.get(name, "").splitlines()]
        text = grid(titles.get(name, [""])[0], cells, rng)
        if not text or len(text) > MOST_CHARACTERS or not all(map(whole, statements)):
            continue
        for claim, label in zip(statements, (SUPPORTED, CONTRADICTED), strict=True):
            yield Pair(text, closed(clean(claim)), label, "tabfact")


def whole(claim: str) -> bool:
    """Tell whether a text is long enough to be a statement."""
    return len(claim.split()) >= 5


def closed(claim: str) -> str:
    """Return a statement with a full stop and the usual spacing before marks."""
    return re.sub(r" +([,.;:%'])", r"\1", claim).rstrip(" .") + "."


def grid(title: str, cells: list[list[str]], rng: Random) -> str:
    """Return a table as text in one of four forms, or nothing if its rows are ragged."""
    rows = [[clean(cell) for cell in row] for row in cells]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return ""
    form = rng.random()
    if form < 0.4:
        lines = [" | ".join(row) for row in rows]
    elif form < 0.6:
        rule = "|" + "---|" * len(rows[0])
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, rule)
    elif form < 0.75:
        lines = [", ".join(row) for row in rows]
    else:
        head, *body = rows
        lines = ["; ".join(f"{k}: {v}" for k, v in zip(head, row, strict=True)) for row in body]
    return "\n".join([*([title] if title else []), *lines])


def wiki_questions(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield for each question that can be turned a true statement and one with a wrong answer."""
    rows = repository.table("data/training.tsv", delimiter="\t", quoting=3)
    paths = sorted({row["context"] for row in rows})
    tables = dict(repository.texts(paths))
    for row in rows:
        answer = row["targetValue"]
        cells = list(csv.reader(io.StringIO(tables.get(row["context"], "")), escapechar="\\"))
        text = grid("", cells, rng)
        true = None if "|" in answer else statement(row["utterance"], answer)
        if true is None or not text or len(text) > MOST_CHARACTERS:
            continue
        yield Pair(text, true, SUPPORTED, "wikitablequestions")
        other = another(answer, cells, rng)
        false = statement(row["utterance"], other) if other else None
        if false is not None:
            yield Pair(text, false, CONTRADICTED, "wikitablequestions")


def another(answer: str, cells: list[list[str]], rng: Random) -> str | None:
    """Return another cell of the answer's column; for a count that is no cell, a near number."""
    columns = [column for column in zip(*cells, strict=False) if answer in column[1:]]
    if columns and not re.fullmatch(r"\d{1,3}", answer):
        others = [cell for cell in sorted(set(columns[0][1:])) if alike(cell, answer)]
        return rng.choice(others) if others else None
    if re.fullmatch(r"\d{1,3}", answer):
        return str(max(int(answer) + rng.choice((-2, -1, 1, 2, 3)), 0))
    return None


def alike(cell: str, answer: str) -> bool:
    """Tell whether a cell could be taken for another answer of the same kind."""
    digits = [any(map(str.isdigit, text)) for text in (cell, answer)]
    apart = cell.lower() not in answer.lower() and answer.lower() not in cell.lower()
    return bool(cell.strip()) and digits[0] == digits[1] and apart and len(cell) <= 60


def clean(text: str) -> str:
    """Return a text with single spaces."""
    return _SPACES.sub(" ", text.replace("\\n", " ")).strip()
