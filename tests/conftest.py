"""Fixtures that every kind of test shares."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Two workers with as many threads each as there are cores would wait for each other most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a failure is one for everybody; a slow machine is none.
# HYPOTHESIS_PROFILE=explore looks for new ones, many of them.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", patient, derandomize=True)
settings.register_profile("explore", patient, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that stands beside the repository, and is no part of it."""
    folder = Path(os.environ.get("DENIABLE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(
            "the shared real data is not beside this repository: put it in ../shared/data "
            "or name its folder in DENIABLE_SHARED_DATA"
        )
    return folder


@pytest.fixture(scope="session")
def java() -> None:
    """What Spark needs, and pip does not bring: a skip elsewhere, a failure where checks run."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing = "Spark needs Java 17 or newer (apt-get install openjdk-17-jre-headless)"
        pytest.fail(missing) if "CI" in os.environ else pytest.skip(missing)


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark on this machine, whose tasks may fail twice."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        # It ends long before code that is compiled well has paid for that.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.files.openCostInBytes": "134217728",  # a partition for each file
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # Spark forks to start Java, and JAX, if a test before has loaded it, warns of any fork.
        warnings.simplefilter("ignore", RuntimeWarning)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


LONG = (
    *("browser", "spark", "test_association_error", "contract/test_contract", "docs/test_docs"),
    *("cli/test_reproduce", "clients/test_fuzz", "test_consistency_error", "server/test_crashes"),
    *("test_categorical", "cli/test_commands", "test_error", "test_model", "test_real_collector"),
)
"""What takes longest; begun last, one worker would be at it while the other has nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each file to one worker, so that what its tests share is made once; so for all of Spark."""
    for item in items:
        folder, file = item.path.parent.name, item.path.stem
        group = folder if folder in ("spark", "browser") else f"{folder}/{file}"
        group = "spark" if "[scale.md]" in item.nodeid else group  # that page uses Spark, too
        item.add_marker(pytest.mark.xdist_group(group))

    def rank(item: pytest.Item) -> int:
        return next((n for n, name in enumerate(LONG) if name in item.nodeid), len(LONG))

    items.sort(key=rank)
