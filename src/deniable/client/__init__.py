"""The device's side: light imports only (no dataframes, no database, no plotting)."""

from deniable.client.client import Client
from deniable.client.ledger import Ledger
from deniable.messages.report import Report, ReportBatch

__all__ = ["Client", "Ledger", "Report", "ReportBatch"]
