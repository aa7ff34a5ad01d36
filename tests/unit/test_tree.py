"""Trees and synthetic records: shapes, refusals, formats, and what each number means."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from deniable import Attribute, Schema, Survey, simulate
from deniable.analysis.bif import name_of, word
from deniable.analysis.dependence import dependence, margins_of
from deniable.analysis.records import codes_of
from deniable.analysis.tree import spanning
from deniable.decoding.decoder import decoder_of
from deniable.errors import DeniableError, RecordError, TableError
from deniable.numeric.shares import draw
from deniable.release.dependence.information import mutual_information, nearest
from deniable.survey.coefficients import all_tables


def chain(people: int = 20_000, seed: int = 3) -> pd.DataFrame:
    """Return a → b → c → d, each like the one before for four in five."""
    random = np.random.default_rng(seed)
    columns = [random.random(people) < 0.4]
    for _ in range(3):
        columns.append(np.where(random.random(people) < 0.8, columns[-1], ~columns[-1]))
    return pd.DataFrame(dict(zip("abcd", columns, strict=True)))


ODD = Schema(
    (
        Attribute("Sci-Fi or _x", ("no", "yes!", "")),
        Attribute("2 ages", edges=(18, 65), missing="unknown"),
        Attribute("ß", (1, 2, "more")),
        Attribute("plain"),
    )
)


def odd_people(people: int = 30_000) -> pd.DataFrame:
    random = np.random.default_rng(1)
    cause = random.integers(0, 3, people)
    follow = random.random((4, people)) < 0.7
    codes = np.where(follow, cause, random.integers(0, 3, (4, people)))
    ages = np.choose(codes[1], [10.0, 30.0, 70.0])
    ages[random.random(people) < 0.1] = np.nan
    held = {
        "Sci-Fi or _x": np.array(["no", "yes!", ""], object)[codes[0]],
        "2 ages": ages,
        "ß": codes[2] % 2 + 1,
        "plain": codes[3] > 0,
    }
    return pd.DataFrame(held)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return chain()


@pytest.fixture(scope="module")
def release(frame):
    return simulate(Survey(Schema.from_frame(frame), 2, 3.0, "Subspace"), frame, "tree")


@pytest.fixture(scope="module")
def odd():
    return simulate(Survey(ODD, 2, 4.0, "Subspace"), odd_people(), "odd")


def test_a_chain_is_found_and_rooted(release):
    made = release.tree()
    assert made.parents == {"a": None, "b": "a", "c": "b", "d": "c"}
    assert list(made.edges) == ["a", "b", "mutual_information", "standard_error", "q_value"]
    assert (made.edges["q_value"] < 0.05).all()
    assert made.edges["mutual_information"].is_monotonic_decreasing
    assert "SIMULATED" in repr(made)
    assert made.cpts["a"].shape == (2,)
    for table in made.cpts.values():
        np.testing.assert_allclose(table.sum(axis=-1), 1)


def test_the_root_changes_neither_edges_nor_distribution(release, frame):
    first, other = release.tree(), release.tree(root="c")
    assert other.parents == {"c": None, "b": "c", "d": "c", "a": "b"}
    pd.testing.assert_frame_equal(first.edges, other.edges)
    assert first.log_likelihood(frame) == pytest.approx(other.log_likelihood(frame), abs=1e-9)


@pytest.mark.parametrize("consistency", ["none", "joint", "model"])
def test_every_consistency_has_a_tree(release, consistency, frame):
    made = release.with_consistency(consistency).tree()
    assert made.total_mutual_information(frame).share == pytest.approx(1)


def test_what_cannot_have_a_tree_is_refused(frame):
    schema = Schema.from_frame(frame)
    with pytest.raises(TableError, match="collected order 1"):
        simulate(Survey(schema, 1, 1.0, "InpHT"), frame, "x").tree()
    with pytest.raises(TableError, match="collected order 1"):
        simulate(Survey(schema, 1, 1.0, "InpHT"), frame, "x").fidelity(frame)
    with pytest.raises(DeniableError, match="no attribute 'z'"):
        simulate(Survey(schema, 2, 1.0, "InpHT"), frame, "x").tree(root="z")


def test_implausible_reports_have_no_tree():
    survey = Survey(Schema.binary("a", "b", "c"), 2, 0.2, "InpHT")
    slots = np.repeat(np.arange(survey.slots), 5000)
    liars = pd.DataFrame({"slot": slots, "value": np.zeros_like(slots)})
    with pytest.raises(TableError, match="No people can have given"):
        survey.tally(liars).release().tree()


def test_unknown_pairs_count_as_no_edge_and_a_note_says_so(frame):
    survey = Survey(Schema.from_frame(frame), 2, 3.0, "InpHT")
    batch = survey.randomize(frame, seed="part")
    asked = [survey.question(slot).attributes for slot in range(survey.slots)]
    gone = [slot for slot, names in enumerate(asked) if "b" in names and len(names) > 1]
    kept = batch.to_arrow().to_pandas()
    kept = kept[~kept["slot"].isin(gone)]
    made = survey.tally(kept).release().tree()
    assert len(made.edges) == 2
    assert made.parents["b"] is None
    assert "3 of 6 pairs are not known" in made.notes[0]
    assert "forest" in repr(made)


def test_without_known_noise_there_is_a_tree_but_no_test():
    frame = chain(5000)
    survey = Survey(Schema.from_frame(frame), 2, 3.0, "InpEM")
    release = simulate(survey, frame, "em")
    assert release.estimator != decoder_of(survey).exact_estimator
    made = release.tree()
    assert made.edges["q_value"].isna().all()
    assert json.loads(made.to_json())["edges"][0]["q_value"] is None
    with pytest.raises(TableError, match="significant edges takes estimates with a covariance"):
        release.tree(significant=True)


def test_records_are_those_of_the_tree_again_with_the_same_seed(release):
    made = release.tree()
    records = made.sample(100_000, seed="one")
    pd.testing.assert_frame_equal(records, made.sample(100_000, seed="one"))
    assert not records.equals(made.sample(100_000, seed="two"))
    assert not made.sample(100).equals(made.sample(100))
    assert records.dtypes.eq(bool).all()
    for child, parent in made.parents.items():
        expected = made.cpts[child]
        if parent is None:
            assert records[child].mean() == pytest.approx(expected[1], abs=0.006)
        else:
            seen = records.groupby(parent)[child].mean()
            np.testing.assert_allclose(seen, expected[:, 1], atol=0.01)
    assert len(made.sample(0)) == 0
    for wrong in (-1, 2.5, True):
        with pytest.raises(RecordError, match="whole number"):
            made.sample(wrong)


def test_the_likelihood_is_that_of_the_tables(release):
    made = release.tree()
    records = pd.DataFrame({"a": [True], "b": [False], "c": [False], "d": [True]})
    p = made.cpts
    by_hand = np.log(p["a"][1] * p["b"][1, 0] * p["c"][0, 0] * p["d"][0, 1])
    assert made.log_likelihood(records) == pytest.approx(by_hand)
    with pytest.raises(RecordError, match="no column 'd'"):
        made.log_likelihood(records[["a", "b", "c"]])
    with pytest.raises(RecordError, match="no rows"):
        made.log_likelihood(records.head(0))
    with pytest.raises(RecordError, match="same name"):
        made.log_likelihood(pd.concat([records, records], axis=1))


def test_values_of_every_kind_come_back_as_declared(odd):
    made = odd.tree()
    records = made.sample(5000, seed="odd")
    for attribute in ODD.attributes:
        assert set(records[attribute.name]) <= set(attribute.values)
    assert np.isfinite(made.log_likelihood(records))  # names of bins, mixed types
    assert np.isfinite(made.log_likelihood(odd_people(500)))  # numbers in bins
    codes = codes_of(ODD, records)
    for attribute, column in zip(ODD.attributes, codes, strict=True):
        assert [attribute.values[code] for code in column] == list(records[attribute.name])
    assert (odd.fidelity(records)["distance"] < 0.2).all()


def test_exact_information_against_the_best_tree(release, frame):
    found = release.tree().total_mutual_information(frame)
    pairs = (("a", "b"), ("b", "c"), ("c", "d"))
    told = [
        mutual_information(pd.crosstab(frame[a], frame[b], normalize=True).to_numpy()[None])[0]
        for a, b in pairs
    ]
    assert found.tree == pytest.approx(sum(told))
    assert found.share == pytest.approx(1)
    assert found.best == pytest.approx(found.tree)


# Formats ----------------------------------------------------------------------------------------

_VARIABLE = re.compile(r"variable (\w+) \{\s*type discrete \[ (\d+) \] \{ ([^}]*) \};\s*\}")
_PROBABILITY = re.compile(r"probability \( (\w+)(?: \| (\w+))? \) \{([^}]*)\}")


def parse_bif(text: str):
    """Read BIF as its grammar has it: variables with values, and probability tables."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"network \w+ \{\s*\}", "", text, count=1)
    variables = {}
    for name, count, values in _VARIABLE.findall(text):
        listed = [value.strip() for value in values.split(",")]
        assert len(listed) == int(count)
        assert all(re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) for word in (name, *listed))
        variables[name] = listed
    tables = {}
    for child, parent, body in _PROBABILITY.findall(text):
        rows = [row.strip() for row in body.split(";") if row.strip()]
        if not parent:
            assert rows[0].startswith("table ")
            tables[child] = (None, [float(p) for p in rows[0][6:].split(",")])
            continue
        given = dict(re.fullmatch(r"\((\w+)\) (.*)", row).groups() for row in rows)
        assert list(given) == variables[parent]
        tables[child] = (parent, [[float(p) for p in row.split(",")] for row in given.values()])
    assert not re.sub(r"\s", "", _PROBABILITY.sub("", _VARIABLE.sub("", text))), "something is left"
    return variables, tables


@pytest.mark.parametrize("which", ["release", "odd"])
def test_bif_is_read_back(which, request):
    made = request.getfixturevalue(which).tree()
    variables, tables = parse_bif(made.to_bif())
    assert [name_of(name) for name in variables] == list(made.schema.names)
    for attribute, words in zip(made.schema.attributes, variables.values(), strict=True):
        assert [name_of(each) for each in words] == [str(value) for value in attribute.values]
    for child, parent in made.parents.items():
        read_parent, rows = tables[word(child)]
        assert read_parent == (None if parent is None else word(parent))
        np.testing.assert_allclose(rows, made.cpts[child], rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["", "a b", "_x41_", "a_x", "1", "__x", "x_", "naïve", "_x_", "😀"]
)
def test_names_survive_bif(name):
    assert name_of(word(name)) == name
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word(name))


def test_json_tells_everything(odd):
    made = odd.tree()
    form = json.loads(made.to_json())
    assert Schema.from_json(form["schema"]) == ODD
    assert form["parents"] == made.parents
    assert form["simulated"] is True
    np.testing.assert_allclose(form["cpts"]["plain"], made.cpts["plain"])


def test_networkx_goes_from_parents_to_children(release, monkeypatch):
    networkx = pytest.importorskip("networkx")
    graph = release.tree().to_networkx()
    assert list(graph.edges) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert networkx.is_arborescence(graph)
    assert graph.edges["a", "b"]["mutual_information"] > 0.1
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(TableError, match="pip install networkx"):
        release.tree().to_networkx()


# The numbers inside -----------------------------------------------------------------------------


def test_binary_tables_are_clipped_to_their_bounds():
    random = np.random.default_rng(0)
    p, q = random.uniform(0.02, 0.98, (2, 200))
    raw = random.normal(0.25, 0.3, (200, 2, 2))
    made = nearest(raw, np.stack((1 - p, p), 1), np.stack((1 - q, q), 1))
    a, b = 1 - 2 * p, 1 - 2 * q
    sign = np.array([[1, -1], [-1, 1]])
    raw_theta = (raw * sign).sum(axis=(1, 2))
    bounds = np.abs(a + b) - 1, 1 - np.abs(a - b)
    np.testing.assert_allclose((made * sign).sum(axis=(1, 2)), raw_theta.clip(*bounds), atol=1e-9)
    assert made.min() >= 0


def test_larger_tables_are_the_nearest_with_their_margins():
    random = np.random.default_rng(1)
    left, right = random.dirichlet(np.ones(3)), random.dirichlet(np.ones(4))
    raw = np.outer(left, right) + random.normal(0, 0.06, (3, 4))
    made = nearest(raw[None], left[None], right[None])[0]
    np.testing.assert_allclose(made.sum(axis=1), left, atol=1e-7)
    np.testing.assert_allclose(made.sum(axis=0), right, atol=1e-7)
    assert made.min() >= 0
    sums = [{"type": "eq", "fun": lambda x: x.reshape(3, 4).sum(axis=1) - left}]
    sums += [{"type": "eq", "fun": lambda x: (x.reshape(3, 4).sum(axis=0) - right)[:-1]}]
    best = optimize.minimize(
        lambda x: ((x - raw.ravel()) ** 2).sum() * 100,
        np.outer(left, right).ravel(),
        bounds=[(0, None)] * 12,
        constraints=sums,
        options={"ftol": 1e-13},
    )
    np.testing.assert_allclose(made.ravel(), best.x, atol=2e-4)


def test_an_attribute_that_everybody_has_is_not_unknown():
    """Its shares' variance p(1 − p) says nothing about how well it is known."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"all": np.ones(50_000, bool), "some": random.random(50_000) < 0.5})
    release = simulate(Survey(Schema.from_frame(frame), 2, 2.0, "InpHT"), frame, "all")
    margins = margins_of((2, 2), release.estimate, release.variances, release.people)
    assert margins[0][1] > 0.97
    assert np.isfinite(release.tree().log_likelihood(frame))


def test_spanning_takes_zero_and_negative_weights():
    pairs = all_tables(4, 2)
    everything = np.ones(6, bool)
    for weight in (np.zeros(6), -np.arange(6.0), np.full(6, -3.0)):
        assert len(spanning(4, pairs, weight, everything)) == 3
    weight = np.array([0.0, -1, -5, 3, -2, -9])
    rows = spanning(4, pairs, weight, everything)
    assert weight[rows].sum() == 2  # by hand: pairs (0,3), (0,1), (0,2)
    assert len(spanning(4, pairs, weight, ~everything)) == 0


def test_scipy_gets_the_indices_that_its_older_versions_take(monkeypatch):
    from scipy.sparse import csgraph

    given = []
    sound = csgraph.minimum_spanning_tree
    monkeypatch.setattr(csgraph, "minimum_spanning_tree", lambda g: given.append(g) or sound(g))
    spanning(4, all_tables(4, 2), np.arange(6.0), np.ones(6, bool))
    assert {given[0].indices.dtype, given[0].indptr.dtype} == {np.dtype(np.int32)}


def test_drawing_follows_the_rows():
    given = np.array([[1.0, 0, 0], [0, 0, 1], [0.2, 0.3, 0.5]])
    rows = np.repeat([0, 1, 2], 50_000)
    found = draw(given, rows, np.random.default_rng(0))
    for row in range(3):
        share = np.bincount(found[rows == row], minlength=3) / 50_000
        np.testing.assert_allclose(share, given[row], atol=0.01)


def test_synthesis_from_a_model_keeps_every_pair(release):
    records = release.synthesise(200_000, method="model", seed="m")
    told = release.with_consistency("model").fidelity(records)
    assert (told["distance"] < 4 * told["sampling"] + 0.001).all()
    assert list(told) == ["a", "b", "distance", "sampling", "noise"]
    with pytest.raises(TableError, match="method must be one of tree, model"):
        release.synthesise(10, method="magic")


@pytest.mark.slow
def test_synthesis_from_a_graph_of_many_attributes():
    from deniable.analysis.synthesis import _draw_records
    from deniable.release.graph import Clique, CliqueTree

    random = np.random.default_rng(2)
    table = random.dirichlet(np.ones(8)).reshape(2, 2, 2)
    cliques = [Clique((1,), 0), Clique((1, 0), 0), Clique((1, 0, 2), 1)]
    graph = CliqueTree(cliques, [table.sum(axis=(1, 2)), table.sum(axis=2), table])
    b, a, c = np.array(_draw_records(graph, 200_000, random))[[1, 0, 2]]
    seen = np.bincount(b * 4 + a * 2 + c, minlength=8) / 200_000
    np.testing.assert_allclose(seen, table.ravel(), atol=0.005)


def test_records_of_many_values_are_drawn_from_a_model(odd):
    records = odd.synthesise(10, method="model", seed="odd")
    assert len(records) == 10
    for attribute in odd.survey.schema.attributes:
        assert set(records[attribute.name]) <= set(attribute.values)


def test_dependence_has_a_row_for_each_pair(odd):
    measured = dependence(odd)
    assert measured.pairs.shape == (6, 2)
    assert measured.known.all()
    assert (measured.columns["standard_error"] > 0).all()
