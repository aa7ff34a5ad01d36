"""The report says what a release is, in one file that nothing can break out of."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from report_parts import stored_tables, unpacked

from deniable import Schema, Survey, Tally, simulate
from deniable.errors import ChartError, TableError
from deniable.show import report as report_module
from deniable.show.report import PROMISE, page
from deniable.show.sections import NO_TREE, association_section, matrix_section, tree_section
from deniable.show.stock import Stock, pairs_form
from deniable.show.structure import ROOM, association_cells, draw_tree

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(2) x='",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "&lt;b&gt;\u2028",
)


def associated(*names: str) -> pd.DataFrame:
    """What `release.associations()` returns."""
    rows = []
    for place, (a, b) in enumerate(combinations(names, 2)):
        v = 0.5 / (place + 1)
        rows.append(
            {
                "a": a,
                "b": b,
                "statistic": 90 * v,
                "df": 1.0,
                "p_value": 1e-9 * 40.0 ** min(place, 9),
                "q_value": min(1.0, 1e-9 * 50.0 ** min(place, 9)),
                "cramers_v": v,
                "cramers_v_low": v / 2,
                "cramers_v_high": min(1.0, 1.5 * v),
                "mutual_information": v * v / 2,
                "mutual_information_low": 0.0,
                "mutual_information_high": v,
                "detectable_v": 0.1,
                "method": "any",
            }
        )
    return pd.DataFrame(rows)


def chained(*names: str) -> pd.DataFrame:
    """The edges of what `release.tree()` returns."""
    mi = [0.1 / (place + 1) for place in range(len(names) - 1)]
    return pd.DataFrame({"a": names[:-1], "b": names[1:], "mutual_information": mi})


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases find something, whatever they hold."""
    monkeypatch.setattr(
        report_module, "associations", lambda release, **_: associated(*release.survey.schema.names)
    )
    monkeypatch.setattr(
        report_module,
        "tree",
        lambda release, **_: SimpleNamespace(edges=chained(*release.survey.schema.names)),
    )


def released(*names: str, order: int = 2, people: int = 2000, **options: Any) -> Any:
    schema = Schema.binary(*names)
    held = np.random.default_rng(5).random((people, len(names))) < 0.4
    survey = Survey(schema, order, 1.1, options.pop("mechanism", "InpHT"))
    return simulate(survey, pd.DataFrame(held, columns=list(names)), "x", **options)


class Page(HTMLParser):
    """What a browser makes of a page: its elements, their attributes, its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        inside = self.elements[-1][0] if self.elements else ""
        (self.scripts if inside == "script" else self.texts).append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).replace("\N{NO-BREAK SPACE}", " ").split())

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


@pytest.mark.usefixtures("analysed")
def test_a_report_says_what_was_done(tmp_path: Path) -> None:
    release = released("tea", "milk", "sugar", "lemon")
    release.report(tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text("utf-8")
    seen = Page(text)
    assert PROMISE in seen.words
    for said in (
        "How 4 attributes occur together among 2,000 people",
        "a 50 % suspicion about a person becomes at most 75.1 % (ε = 1.1)",
        "reports the opposite with probability",
        "SIMULATED. No device took part",
        "Before anybody was asked",
        "Its strongest links: milk and tea",
        "All 10 tables are in this file.",
        f"Survey {release.survey.id}",
        "SIGMOD 2018",
        "InpHT",
        "none: unbiased",
    ):
        assert said in seen.words, said
    headings = [tag for tag, _ in seen.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert headings.count("h2") == 6


def test_the_promise_is_worded_as_everywhere() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    words = " ".join(readme.split())
    assert PROMISE.split(". ")[0] in words
    assert (
        "It does not hide that somebody took part, when, from which address, or which question"
        in PROMISE
    )
    assert "several surveys and several devices add up" in words


def test_tables_are_stored_as_they_are() -> None:
    release = released("a", "b", "c", "d")
    data = Page(page(release)).data
    assert data["names"] == ["a", "b", "c", "d"]
    tables = stored_tables(data)
    assert len(tables) == 10
    for places in tables:
        table, stored = release.marginal(*("abcd"[at] for at in places)), tables[places]
        np.testing.assert_allclose(stored[0], table.values.ravel(), atol=6e-6)
        np.testing.assert_allclose(stored[1:], table.interval().reshape(2, -1), atol=6e-6)


@pytest.mark.usefixtures("analysed")
def test_hostile_names_stay_names() -> None:
    plain = Page(page(released("a", "b", "c", "d", "e")))
    seen = Page(page(released(*HOSTILE)))
    assert [tag for tag, _ in seen.elements if tag != "wbr"] == [tag for tag, _ in plain.elements]
    assert {key for _, held in seen.elements for key in held} == {
        key for _, held in plain.elements for key in held
    }
    assert not any(key.startswith("on") for _, held in seen.elements for key in held)
    assert seen.data["names"] == list(HOSTILE)
    assert seen.scripts[1:] == plain.scripts[1:]
    for name in HOSTILE:
        assert " ".join(name.split()) in seen.words


@pytest.mark.usefixtures("analysed")
def test_hostile_values_stay_values() -> None:
    schema = Schema.of(a=list(HOSTILE), b=[0, 1, 2])
    frame = pd.DataFrame({"a": [HOSTILE[0], HOSTILE[3]] * 50, "b": [0, 1] * 50})
    seen = Page(page(simulate(Survey(schema, 2, 3.0, "MargPS"), frame, "x")))
    assert seen.data["values"][0] == list(HOSTILE)
    assert "img" not in {tag for tag, _ in seen.elements}


def test_a_page_asks_for_nothing() -> None:
    seen = Page(page(released("a", "b")))
    assert not re.search(r"https?://", page(released("a", "b")))
    policy = next(h["content"] for tag, h in seen.elements if h.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for tag, held in seen.elements:
        assert tag not in {"iframe", "object", "embed", "form"}
        for key in ("src", "href"):
            assert (held.get(key) or "#").startswith(("#", "data:,"))


def test_without_analysis_a_section_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(release: Any, **_: Any) -> None:
        raise TableError("Pairs need order 2; this survey collected order 1.")

    for analysis in ("associations", "tree"):
        monkeypatch.setattr(report_module, analysis, refuse)
    said = Page(page(released("a", "b", order=1))).words
    assert said.count("Pairs need order 2; this survey collected order 1.") == 2


def test_an_adjusted_release_has_a_report_without_dependence() -> None:
    release = released("a", "b", "c").poststratify({"a": {False: 0.5, True: 0.5}})
    seen = Page(page(release))
    assert "not on offer for tables that are adjusted to a known population" in seen.words
    assert "pairs" not in seen.data
    assert len(stored_tables(seen.data)) == 6


def test_one_attribute_of_one_person() -> None:
    assert "How one attribute is distributed among 1 person" in page(
        released("a", order=1, people=1)
    )


@pytest.mark.parametrize("consistency", ["joint", "model", "auto"])
def test_consistency_is_what_was_applied(consistency: str) -> None:
    release = released("a", "b", "c", consistency=consistency)
    seen = Page(page(release))
    assert f"consistency {release.applied}" in seen.words
    is_rejected = release.fit is not None and release.fit.rejected
    assert ("ANOTHER CONSISTENCY" in seen.words) == is_rejected
    assert f"Tables are {release.table_kind}" in seen.words
    assert "made consistent" in seen.words
    assert "was predicted" not in seen.words


@pytest.mark.parametrize("consistency", ["none", "auto"])
def test_unbiased_tables_are_one_click_away(consistency: str) -> None:
    """A processed report holds both, and begins with what is never below 0."""
    release = released("a", "b", "c", people=300, consistency=consistency)
    plain, text = released("a", "b", "c", people=300), page(release)
    data = Page(text).data
    assert ('id="unbiased"' in text) == ("unbiased" in data) == (consistency == "auto")
    unbiased = data.get("unbiased", data)
    assert unbiased["cells"] == Page(page(plain)).data["cells"]
    if consistency == "auto":
        assert len(data["kinds"]) == len(unbiased["kinds"])
        assert all(table.min() >= 0 for table in stored_tables(data).values())


def test_a_model_that_was_rejected_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.release.judging.Fit.rejected", property(lambda fit: True))
    for consistency in ("auto", "model"):
        release = released("a", "b", "c", consistency=consistency)
        assert release.applied == "joint"
        seen = Page(page(release))
        assert "A model was tried and did not fit, so “joint” was applied." in seen.words
        assert "Tables are joint" in seen.words


def test_tables_that_their_error_swamps_are_told() -> None:
    schema = Schema.of(x=["u", "v", "w"], y=[0, 1, 2])
    frame = pd.DataFrame({"x": ["u", "v", "w"] * 200, "y": [0, 1, 2] * 200})
    seen = Page(page(simulate(Survey(schema, 2, 0.3, "MargPS"), frame, "x")))
    words = next(words for words, tables in seen.data["swamped"] if 2 in tables)
    assert "The error swamps this table" in words, "the third, of both attributes"
    assert "swamped by the error" in seen.words
    clear = Page(page(simulate(Survey(schema, 2, 6.0, "MargPS"), frame, "x")))
    assert clear.data["swamped"] == []
    assert "swamped by the error" not in clear.words


def test_a_mixed_model_says_what_its_intervals_are() -> None:
    schema = Schema.of(x=["u", "v", "w"], y=[0, 1, 2])
    frame = pd.DataFrame({"x": ["u", "v", "w"] * 200, "y": [0, 1, 2] * 200})
    release = simulate(Survey(schema, 2, 2.0), frame, "x", consistency="auto")
    assert release.applied == "model"
    assert "Intervals (95 %) are of the model’s posterior" in Page(page(release)).words


def test_real_reports_are_not_called_simulated_and_lies_are_told() -> None:
    counts = released("a", "b", "c", "d", "e", mechanism="Subspace").tallies[0]
    real = Tally(counts.survey, counts.slot, counts.value, counts.count).release()
    assert "SIMULATED" not in page(real)
    no = counts.value == counts.value.min()
    lying = Tally(counts.survey, counts.slot[no], counts.value[no], counts.count[no]).release()
    assert not lying.plausible
    assert "IMPLAUSIBLE" in page(lying)
    assert "IMPLAUSIBLE" not in page(real)


def test_observed_values_are_told() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": [True, False] * 50})
    survey = Survey(Schema.from_frame(frame, values="observed"), 2, 1.1, "MargPS")
    assert "OBSERVED VALUES" in page(simulate(survey, frame))


def test_tables_beyond_the_cap_are_left_to_an_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MOST_CELLS", 20)
    seen = Page(page(released("a", "b", "c", "d")))
    assert "7 of 10 tables are in this file; an export (see below) has the rest." in seen.words
    assert len(stored_tables(seen.data)) == 7


@pytest.mark.parametrize("most", [0.7, 83.0, 4000.0])
def test_packed_shares_are_as_exact_as_they_fit(most: float) -> None:
    """An absurd estimate is not cut off: the unit gives way."""
    table = released("a", "b").marginal("a", "b")
    values = np.array([[most, -most], [1 - most, 1e-5]])
    stock = Stock()
    stock.add(replace(table, values=values), values - 0.5, values + 0.5)
    form = stock.form() | {"names": ["a"], "values": [[""] * 4]}
    stored = stored_tables(form)[(0,)]
    unit = max(1e-5, (most + 0.5) / (1 << 22))
    np.testing.assert_allclose(stored[0], values.ravel(), atol=0.51 * unit)
    np.testing.assert_allclose(stored[2], values.ravel() + 0.5, atol=0.51 * unit)


def test_all_pairs_are_stored_the_surest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    release = released("a", "b", "c", "d")
    frame, names = release.associations(), release.survey.schema.names
    frame.loc[5, ["cramers_v", "cramers_v_low", "cramers_v_high", "q_value"]] = np.nan
    form = pairs_form(frame, names, 40)
    for end in ("a", "b"):
        assert [names[at] for at in unpacked(form[end], 2)] == frame[end].tolist()
    for name, column in {"v": "cramers_v", "high": "cramers_v_high", "q": "q_value"}.items():
        stored = unpacked(form[name], 2)
        np.testing.assert_allclose(stored[:5] / 1e4, frame[column][:5], atol=6e-5)
        assert stored[5] == -1
    monkeypatch.setattr("deniable.show.stock.MOST_PAIRS", 2)
    cut = pairs_form(frame, names, 40)
    assert (len(unpacked(cut["a"], 2)), cut["count"]) == (2, 6)


def test_progress_moves_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dependence takes as long as all tables do, and nothing moves meanwhile: it comes last."""
    ticks: list[None] = []
    begun: list[int] = []
    own = report_module.associations

    def watched(release: Any) -> Any:
        begun.append(len(ticks))
        return own(release)

    monkeypatch.setattr(report_module, "associations", watched)
    page(released("a", "b", "c", "d"), lambda: ticks.append(None))
    assert begun == [10], "once, and after each of ten tables"


def test_a_wide_report_draws_what_is_beyond_noise_only() -> None:
    names = [f"attribute {i}" for i in range(45)]
    held = np.random.default_rng(3).random((60_000, 45)) < 0.5
    held[:, 1:5] = held[:, :1]
    held[:, 11] = held[:, 10]
    frame = pd.DataFrame(held, columns=names)
    release = simulate(Survey(Schema.binary(*names), 2, 3.0, "InpHT"), frame, "x")
    text, edges = page(release), release.tree(significant=True).edges
    linked, count = {*edges["a"], *edges["b"]}, len(edges)
    planted = {names[at] for at in (0, 1, 2, 3, 4, 10, 11)}
    assert planted <= linked
    assert len(linked) < 12, "chance finds few"
    seen = Page(text)
    trees = [held for tag, held in seen.elements if tag == "svg" and held["class"] == "tree narrow"]
    assert len(trees) == len(linked) - count, "of a forest"
    words = f"it falls into {len(trees)} trees of {len(linked)} attributes; {45 - len(linked)} more"
    assert words in seen.words
    assert "attribute 10 and attribute 11" in seen.words
    assert len(re.findall('class="node"', text)) == 2 * len(linked), "wide and narrow, nobody twice"
    out = 45 * 44 // 2 - 40 * 39 // 2
    assert f"{out} pairs are left out; choose others above." in seen.words


def test_a_report_ends_in_html(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match=r"A report must end in .html, got 'out.pdf'"):
        released("a", "b").report(tmp_path / "out.pdf")


@pytest.mark.usefixtures("analysed")
def test_many_attributes_show_the_surest() -> None:
    names = [f"attribute {i}" for i in range(45)]
    seen = Page(page(released(*names)))
    assert "Of 45 attributes, the 40 in the surest pairs are shown." in seen.words


# Charts


def test_an_association_is_faint_where_it_may_be_noise() -> None:
    frame = associated("b", "a", "c", "d")
    cells = association_cells(frame)
    assert [cell["doubtful"] for cell in cells] == (frame["q_value"] > 0.1).tolist()
    for cell, v in zip(cells, frame["cramers_v"], strict=True):
        assert cell["words"].startswith(f"Cramér’s V {v:.3f}, {v / 2:.3f} to {1.5 * v:.3f}; ")
        assert ("may be noise" in cell["words"]) == cell["doubtful"]
        assert cell["shade"] == (0 if cell["doubtful"] else np.ceil(10 * v))
    section = matrix_section(frame, ("a", "b", "c", "d"))
    assert [len(row) for _, _, row in section["rows"]] == [1, 2, 3]
    assert section["top"] == "0.50"
    nothing = matrix_section(frame.assign(q_value=0.9), ("a", "b", "c", "d"))
    assert nothing["top"] == "", "a ramp that no cell has the colour of"


@pytest.mark.slow
def test_a_tree_is_laid_out_without_overlaps() -> None:
    random = np.random.default_rng(2)
    for size in (1, 2, 6, 16, 30, 60):
        names = [f"attribute {i} " + "long " * int(random.integers(0, 9)) for i in range(size)]
        edges = pd.DataFrame(
            {
                "a": names[1:],
                "b": [names[int(random.integers(0, i))] for i in range(1, size)],
                "mutual_information": random.random(size - 1),
            }
        )
        for narrow in (False, True):
            drawing = draw_tree(edges.sample(frac=1, random_state=1), names, narrow=narrow)
            assert {box.name for box in drawing.boxes} == set(names)
            assert len({box.label for box in drawing.boxes}) == size
            assert len(drawing.links) == size - 1
            for one, other in combinations(drawing.boxes, 2):
                apart = one.x + one.width <= other.x or other.x + other.width <= one.x
                assert apart or abs(one.y - other.y) >= 30
            at = {box.name: box for box in drawing.boxes}
            for link in drawing.links:
                assert at[link.a].x < at[link.b].x
                assert link.path.endswith(
                    f"{at[link.b].x:.1f}" if narrow else f"{at[link.b].y:.1f}"
                )
                assert 1.5 <= link.thickness <= 8.5
            assert max(box.x + box.width for box in drawing.boxes) <= drawing.width
            ElementTree.fromstring(drawing.svg)


@pytest.mark.parametrize("length", [2, 3, 10, 27])
def test_a_narrow_tree_takes_no_more_than_its_room(length: int) -> None:
    names = [f"a_rather_long_name_number_{i}" for i in range(length)]
    assert draw_tree(chained(*names), narrow=True).width <= ROOM
    assert draw_tree(chained(*names)).width > ROOM


def test_hostile_names_stay_texts_in_a_tree() -> None:
    drawn = ElementTree.fromstring(draw_tree(chained(*HOSTILE)).svg)
    tags = {element.tag.partition("}")[2] for element in drawn.iter()}
    assert tags == {"svg", "title", "g", "path", "rect", "text"}
    texts = {element.text for element in drawn.iter()}
    assert set(HOSTILE) <= texts


def test_attributes_that_depend_on_nothing_are_drawn_too() -> None:
    edges = chained("a", "b")
    drawing = draw_tree(edges, ("a", "b", "c", "d"))
    assert {box.name for box in drawing.boxes} == set("abcd")
    assert len({box.y for box in drawing.boxes if box.name != "b"}) == 3
    nothing = draw_tree(edges[:0], ())
    assert (nothing.boxes, nothing.width, nothing.height) == ((), 0.0, 0.0)


def test_edges_that_may_be_noise_are_thin_and_dashed() -> None:
    edges = chained("a", "b", "c").assign(q_value=[0.01, 0.5])
    links = {link.b if link.a == "b" else link.a: link for link in draw_tree(edges).links}
    assert (links["a"].doubtful, links["a"].thickness) == (False, 8.5)
    assert (links["c"].doubtful, links["c"].thickness) == (True, 1.5)
    section = tree_section(edges, ("a", "b", "c"))
    assert section["doubtful"]
    assert section["wide"].count("stroke-dasharray") == section["narrow"].count("stroke-dasharray")
    assert section["wide"].count("stroke-dasharray") == 1
    assert "stroke-dasharray" not in draw_tree(chained("a", "b", "c")).svg
    assert tree_section(edges.assign(q_value=0.9), ("a", "b", "c")) == {"absent": NO_TREE}
    assert "wide" in tree_section(edges.assign(q_value=np.nan), ("a", "b", "c"))


def test_pairs_that_were_never_asked_are_not_known() -> None:
    frame = associated("a", "b", "c")
    numbers = frame.select_dtypes("number").columns
    frame.loc[:, numbers] = np.nan
    section = association_section(frame)
    assert section["sentence"].startswith("None of the 3 pairs")
    assert section["top"] == []
    rows = matrix_section(frame, ("a", "b", "c"))["rows"]
    assert {cell["text"] for _, _, cells in rows for _, cell in cells} == {"–"}


def test_a_dependence_of_unknown_size_is_said() -> None:
    frame = associated("a", "b", "c")
    assert not association_section(frame)["vague"]
    assert association_section(frame.assign(cramers_v_low=0.0, cramers_v_high=1.0))["vague"]


def test_numbers_stand_out_from_their_cells() -> None:
    """By WCAG, 4.5 to 1 at least."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    style = (Path(report_module.__file__).with_name("page") / "report.css").read_text("utf-8")
    shades = dict(re.findall(r"\.(s\d) \{ background: (#\w+);", style))
    inks = dict(re.findall(r"\.(s\d) \{ background: #\w+; color: (#\w+);", style))
    assert len(shades) == len(inks) == 6
    inks["faint"], shades["faint"] = "#57606a", shades["s0"]
    assert "--soft: #57606a" in style
    for name, shade in shades.items():
        ink = inks[name] if len(inks[name]) == 7 else "#ffffff"
        ends = sorted((luminance(shade), luminance(ink)))
        assert (ends[1] + 0.05) / (ends[0] + 0.05) > 4.5, name
    light = [luminance(shades[f"s{step}"]) for step in range(6)]
    assert light == sorted(light, reverse=True)
