"""The OpenAPI document is true: schemathesis sends what it allows, and what it does not."""

from __future__ import annotations

import pytest
import schemathesis
from crashing import started
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from server_parts import Service, survey

from deniable.server.app import _Routes
from deniable.server.openapi import document
from deniable.server.serve import Rules, new_token, prepare
from deniable.server.stores import open_store


@pytest.fixture(scope="module", params=["assigned", "drawn"])
def collector(request, tmp_path_factory):
    """A real collector with some reports, and the analysts' token."""
    url = f"sqlite:///{tmp_path_factory.mktemp('openapi') / 's.db'}"
    with open_store(url) as store:
        prepare(store, [survey()], Rules(request.param))
        token = new_token(store)
    with started(url) as process:
        if request.param == "drawn":
            body = b",".join(b'{"slot": %d, "value": %d}' % (i % 10, i % 2) for i in range(400))
            assert process.post(b"[%b]" % body)[0] == 200
        yield process, token


schema = schemathesis.openapi.from_dict(document())
# Too many reports at once are refused as well, with a status that schemathesis does not think of.
schema.config.checks.negative_data_rejection.expected_statuses.append("413")


@schema.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_schemathesis_finds_nothing(case, collector):
    """No 5xx, no undocumented status, no body that is not as documented; 401 without a token."""
    process, token = collector
    case.call_and_validate(
        base_url=f"http://127.0.0.1:{process.port}",
        headers={"Authorization": f"Bearer {token}"},
        excluded_checks=[positive_data_acceptance],  # no document tells which tickets are good
    )


def test_every_address_is_documented(tmp_path):
    with Service(f"sqlite:///{tmp_path / 's.db'}", (survey(),), Rules()) as service:
        routes = {route.path for route in _Routes(service.collector, ()).all()}
    # What pages load is theirs.
    own = {route for route in routes if not route.startswith("/static")}
    assert own == set(document()["paths"])
