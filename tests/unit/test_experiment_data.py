"""The data of the experiments: official files, derived bits, stand-ins."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable.errors import DataError
from deniable.lab.experiments import sources
from deniable.lab.experiments.sources import GENRES, TAXI, Data, DataFiles, obtain
from deniable.questions.entropy import Key

pytestmark = pytest.mark.slow  # whole data sets


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A tiny MovieLens release in which a genre has 3 popular movies."""
    monkeypatch.setattr(sources, "_TOP", 3)
    random = np.random.default_rng(5)
    folder = tmp_path / "ml-tiny"
    folder.mkdir()
    kinds = [*GENRES, "IMAX", "Film-Noir", "(no genres listed)"]
    genres = ["|".join(random.choice(kinds, 1 + i % 3, replace=False)) for i in range(60)]
    ids = random.choice(np.arange(1, 500), 60, replace=False)
    titles = [f'"A, movie {i}"' for i in range(60)]
    rows = [f"{i},{t},{g}" for i, t, g in zip(ids, titles, genres, strict=True)]
    (folder / "movies.csv").write_text("movieId,title,genres\n" + "\n".join(rows) + "\n")
    seen = random.random((40, 60)) < random.random(60) * 0.6
    users, movies = np.nonzero(seen)
    rated = [f"{u + 7},{ids[m]},3.5,1" for u, m in zip(users, movies, strict=True)]
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + "\n".join(rated))
    return folder


def by_hand(folder) -> pd.DataFrame:
    """Who rated one of the 3 most-rated movies of which genre, person by person."""
    movies = pd.read_csv(folder / "movies.csv")
    ratings = pd.read_csv(folder / "ratings.csv")
    times = ratings["movieId"].value_counts()
    made = {}
    for genre in GENRES:
        own = [r.movieId for r in movies.itertuples() if genre in r.genres.split("|")]
        own = sorted((m for m in own if m in times), key=lambda m: (-times[m], m))[:3]
        made[genre] = ratings["movieId"].isin(own).groupby(ratings["userId"]).any()
    return pd.DataFrame(made)


def counted(frame) -> dict[tuple[bool, ...], int]:
    return {tuple(map(bool, row)): n for row, n in frame.value_counts().items()}


def as_counts(data: Data) -> dict[tuple[bool, ...], int]:
    rows = data.records.to_pandas().itertuples(index=False)
    return {tuple(map(bool, row)): int(n) for row, n in zip(rows, data.counts, strict=True)}


def test_movielens_bits_are_those_derived_by_hand(release, tmp_path):
    data = obtain("movielens", DataFiles(movielens=release), tmp_path / "cache")
    assert data.kind == "official"
    assert "ml-tiny" in data.origin
    assert as_counts(data) == counted(by_hand(release))
    packed = tmp_path / "ml-tiny.zip"
    with zipfile.ZipFile(packed, "w") as made:
        for name in ("movies.csv", "ratings.csv"):
            made.write(release / name, f"ml-tiny/{name}")
    assert (
        obtain("movielens", DataFiles(movielens=packed), tmp_path / "cache").digest == data.digest
    )


def test_derived_data_is_kept_until_the_files_change(release, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    data = obtain("movielens", DataFiles(movielens=release), cache)
    monkeypatch.setattr(sources, "movielens", lambda path: pytest.fail("derived again"))
    assert obtain("movielens", DataFiles(movielens=release), cache).digest == data.digest
    monkeypatch.undo()
    with (release / "ratings.csv").open("a") as file:
        file.write(f"\n99,{pd.read_csv(release / 'movies.csv')['movieId'][0]},5,1\n")
    assert obtain("movielens", DataFiles(movielens=release), cache).counts.sum() == 41


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ratings.csv", None, "it has no ratings.csv"),
        ("movies.csv", None, "it has no movies.csv"),
        ("ratings.csv", "user,film\n1,2\n", "cannot be read"),
        ("ratings.csv", "userId,movieId\nsecret,2\n", "cannot be read"),
        ("movies.csv", "", "cannot be read"),
        ("movies.csv", "movieId,genres\n", "cannot be read"),
        ("movies.csv", "movieId,genres\nsecret,Action\n", "cannot be read"),
        ("ratings.csv", "userId,movieId\n", "has no ratings"),
        ("ratings.csv", "userId,movieId\n1,-5\n", "cannot be read"),
        ("ratings.csv", "userId,movieId\n9000000000000,5\n", "cannot be read"),
    ],
)
def test_bad_releases_are_refused_without_quoting_them(release, tmp_path, name, content, message):
    (release / name).unlink()
    if content is not None:
        (release / name).write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        obtain("movielens", DataFiles(movielens=release), tmp_path)
    assert "secret" not in str(caught.value)


def test_ratings_of_unknown_movies_and_movies_without_genres_are_no_error(release, tmp_path):
    before = obtain("movielens", DataFiles(movielens=release), tmp_path / "cache")
    with (release / "movies.csv").open("a") as file:
        file.write("499,Nothing is known of it,\n")
    with (release / "ratings.csv").open("a") as file:
        file.write("\n7,123456,4.0,1\n8,499,4.0,1\n")
    after = obtain("movielens", DataFiles(movielens=release), tmp_path / "cache")
    assert as_counts(after) == as_counts(before)


def test_a_file_that_is_no_zip_is_refused(tmp_path, release):
    packed = tmp_path / "broken.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(release / "movies.csv", "movies.csv")
        made.writestr("ratings.csv", "userId,movieId\n" + "1,2\n" * 5000)
    content = bytearray(packed.read_bytes())
    content[-200:-150] = b"x" * 50
    packed.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a MovieLens release"):
        obtain("movielens", DataFiles(movielens=packed), tmp_path)
    (tmp_path / "ml.zip").write_bytes(b"not a zip")
    with pytest.raises(DataError, match="cannot be read as a MovieLens release"):
        obtain("movielens", DataFiles(movielens=tmp_path / "ml.zip"), tmp_path)
    with pytest.raises(DataError, match="There is no gone"):
        obtain("movielens", DataFiles(movielens=tmp_path / "gone"), tmp_path)


def trips(people: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(3)
    start = pd.Timestamp("2016-03-01") + pd.to_timedelta(random.integers(0, 10**6, people), "s")
    fare = random.choice([0.0, 5.5, 10.0, 52.0], people)
    return pd.DataFrame(
        {
            "tpep_pickup_datetime": start,
            "tpep_dropoff_datetime": start
            + pd.to_timedelta(random.integers(60, 9000, people), "s"),
            "trip_distance": random.choice([0.8, 9.99, 10.0, 17.3], people),
            "PULocationID": random.choice([4, 263, 132, 1, 90], people),
            "DOLocationID": random.choice([4, 138, 132, 1], people),
            "payment_type": random.integers(1, 5, people),
            "fare_amount": fare,
            "tip_amount": fare * random.choice([0, 0.2, 0.25, 0.3], people),
            "tolls_amount": random.choice([0, 5.54], people),
        }
    )


def test_taxi_bits_are_those_derived_by_hand(tmp_path):
    frame = trips()
    frame.iloc[:250].to_parquet(tmp_path / "yellow_tripdata_2016-03.parquet")
    later = frame.iloc[250:].assign(airport_fee=1.25)  # the files' columns differ from year to year
    later.to_parquet(tmp_path / "yellow_tripdata_2016-04.parquet")
    data = obtain("taxi", DataFiles(taxi=tmp_path), tmp_path / "cache")
    manhattan = {4, 90, 263}
    rows = []
    for t in frame.itertuples():
        m_pick, m_drop = t.PULocationID in manhattan, t.DOLocationID in manhattan
        if t.fare_amount <= 0 or not (m_pick or m_drop):
            continue
        nights = [
            at.hour >= 20 or at.hour < 3 for at in (t.tpep_pickup_datetime, t.tpep_dropoff_datetime)
        ]
        tip = t.tip_amount >= 0.25 * t.fare_amount
        head = (t.payment_type == 1, t.tolls_amount > 0, t.trip_distance >= 10)
        rows.append((*head, *nights, m_pick, m_drop, tip))
    assert as_counts(data) == counted(pd.DataFrame(rows, columns=list(TAXI)))
    assert data.columns == list(TAXI)
    assert "2 official files" in data.origin


def test_bad_taxi_files_are_refused(tmp_path):
    other = tmp_path / "trees.parquet"
    trips().to_parquet(other)
    with pytest.raises(DataError, match=r"no files yellow_tripdata_\*\.parquet"):
        obtain("taxi", DataFiles(taxi=tmp_path), tmp_path / "cache")
    old = tmp_path / "yellow_tripdata_2010-01.parquet"
    trips().drop(columns="PULocationID").to_parquet(old)
    with pytest.raises(DataError, match="PULocationID"):
        obtain("taxi", DataFiles(taxi=tmp_path), tmp_path / "cache")
    trips().assign(PULocationID=1, DOLocationID=1).to_parquet(old)
    with pytest.raises(DataError, match="no trips that touch Manhattan"):
        obtain("taxi", DataFiles(taxi=tmp_path), tmp_path / "cache")


def test_a_name_is_a_name_and_no_pattern(tmp_path):
    for folder in ("taxi*", "taxi2"):
        (tmp_path / folder).mkdir()
        trips().to_parquet(tmp_path / folder / "yellow_tripdata_2016-03.parquet")
    data = obtain("taxi", DataFiles(taxi=tmp_path / "taxi*"), tmp_path / "cache")
    one = tmp_path / "taxi2" / "yellow_tripdata_2016-03.parquet"
    assert as_counts(data) == as_counts(obtain("taxi", DataFiles(taxi=one), tmp_path / "cache"))
    assert "in an official file" in data.origin


def test_a_derived_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "taxi_2015_2019.parquet").write_bytes(b"PAR1")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "movielens_ml32m_12773users.parquet")
    for name in ("taxi", "movielens"):
        with pytest.raises(DataError, match="not the derived data"):
            obtain(name, DataFiles(derived=tmp_path), tmp_path)


@pytest.mark.parametrize("name", sources.NAMES)
def test_without_files_a_stand_in_is_used_and_says_so(name, tmp_path, monkeypatch):
    monkeypatch.delenv("DENIABLE_SHARED_DATA", raising=False)
    data = obtain(name, DataFiles(derived=tmp_path), tmp_path)
    assert data.kind == "stand-in"
    assert "stand-in" in data.origin
    assert data.counts.sum() == 200_000
    assert obtain(name, DataFiles(derived=tmp_path), tmp_path).digest == data.digest
    with pytest.raises(DataError, match="no folder"):
        obtain(name, DataFiles(derived=tmp_path / "gone"), tmp_path)


def test_derived_files_are_preferred_to_stand_ins(shared_data, tmp_path):
    taxi = obtain("taxi", DataFiles(derived=shared_data), tmp_path)
    assert taxi.kind == "derived"
    assert taxi.counts.sum() == 261_753
    assert len(obtain("movielens", DataFiles(derived=shared_data), tmp_path).columns) == 17


def test_the_taxi_stand_in_has_the_strong_pairs(tmp_path):
    """As in the real data: the three pairs of the paper stand out."""
    data = obtain("taxi", DataFiles(derived=tmp_path), tmp_path)
    frame = data.draw(100_000, Key.of("pairs")).to_pandas().astype(float)
    r = frame.corr()
    assert r.loc["Night_pick", "Night_drop"] > 0.9
    assert 0.5 < r.loc["Toll", "Far"] < 0.8
    assert 0.2 < r.loc["CC", "Tip"] < 0.4
    assert abs(r.loc["Far", "Night_pick"]) < 0.1


def test_people_are_drawn_as_often_as_they_are(tmp_path):
    data = obtain("taxi", DataFiles(derived=tmp_path), tmp_path)
    drawn = Data.of("drawn", "synthetic", "", data.draw(100_000, Key.of("draw")).to_pandas())
    found = as_counts(drawn)
    expected = {row: n / 2 for row, n in as_counts(data).items() if n >= 20}
    counts = np.array([found.get(row, 0) for row in expected])
    shares = np.array(list(expected.values()))
    counts = np.append(counts, 100_000 - counts.sum())
    shares = np.append(shares, 100_000 - shares.sum())
    assert stats.chisquare(counts, shares).pvalue > 1e-4
    off = np.roll(shares, 1)  # the planted bug: everybody is taken for their neighbour
    assert stats.chisquare(counts, off).pvalue < 1e-9


def test_data_survives_being_saved(tmp_path):
    data = obtain("values-3", DataFiles(), tmp_path)
    data.save(tmp_path / "kept.parquet")
    again = Data.load(tmp_path / "kept.parquet")
    assert (again.name, again.kind, again.origin) == (data.name, data.kind, data.origin)
    assert again.digest == data.digest
    other = Data(data.name, data.kind, data.origin, data.records, data.counts + 1)
    assert other.digest != data.digest
    (tmp_path / "kept.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="delete it"):
        Data.load(tmp_path / "kept.parquet")
