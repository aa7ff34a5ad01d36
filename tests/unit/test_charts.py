"""Charts are valid whatever they show."""

from __future__ import annotations

import json

import pandas as pd

from deniable.show.charts import error_chart


def test_errors_are_drawn_beside_predictions_where_there_are_any() -> None:
    rows = pd.DataFrame(
        {
            "mechanism": ["InpHT", "InpEM"],
            "mean_tv": [0.1, 0.3],
            "predicted_tv": [0.11, None],
        }
    )
    for bound in (None, 0.05):
        chart = json.loads(error_chart(rows, bound, "Errors").to_json())
        assert len(chart["layer"]) == (2 if bound is None else 3)
        drawn = [len(data) for data in chart["datasets"].values()]
        assert sorted(drawn) == ([1, 2] if bound is None else [1, 1, 2])
