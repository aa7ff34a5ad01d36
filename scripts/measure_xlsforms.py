"""What becomes of other people's XLSForms: a row of a table for each workbook below a folder.

python scripts/measure_xlsforms.py FOLDER

The folder holds one folder for each source, such as owner+name for a repository. Files that are the same
count once. Forms of others have licences of their own, so none of them is in this repository.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deniable.errors import DeniableError
from deniable.questionnaire import Questionnaire
from deniable.questionnaire.xlsform import Row, read_xlsform

OUTCOMES = ("imported", "left out", "refused")


def books(folder: Path) -> Iterator[Path]:
    """Yield each workbook once."""
    digests: set[bytes] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".xlsx", ".xlsm") and path.is_file():
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in digests:
                digests.add(digest)
                yield path


def reason(row: Row) -> str:
    """Return why a row is refused, in few words."""
    if "which is refused" in row.says or "its group is refused" in row.says:
        return "beside or below a refused row"
    kind = row.type.split()[0] if row.column == "type" and row.type else ""
    return f"{row.column} {kind}".strip()


def main() -> None:
    """Print the table, and what it adds up to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    whole: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    print(
        "| source | form | rows | imported | left out | refused | attributes | mostly refused for |"
    )
    print("|-|-|-:|-:|-:|-:|-:|-|")
    begin = time.perf_counter()
    for path in books(folder):
        source, *_ = path.relative_to(folder).parts
        try:
            form, rows = read_xlsform(path)
        except DeniableError as error:
            whole["files refused"] += 1
            says = str(error).partition(": ")[2].rstrip(".") or str(error)
            print(
                f"| {source.replace('+', '/')} | {path.name} | | | | | | the whole file: {says} |"
            )
            continue
        attributes = 0
        if form["attributes"]:
            attributes = len(Questionnaire.of(form).schema)
        counts = Counter(row.outcome for row in rows)
        own = Counter(reason(row) for row in rows if row.outcome == "refused")
        reasons.update(own)
        whole.update(counts)
        whole["files"] += 1
        whole["files with attributes"] += attributes > 0
        numbers = " | ".join(str(counts[each]) for each in OUTCOMES)
        most = ", ".join(f"{name} ({count})" for name, count in own.most_common(3))
        print(
            f"| {source.replace('+', '/')} | {path.name} | {len(rows)} | {numbers} | {attributes} "
            f"| {most} |"
        )
    print(f"\n{dict(whole)}\n{reasons.most_common(15)}\n{time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
