"""README and quickstart in a fresh Jupyter kernel: every line runs without a network, and shows."""

from __future__ import annotations

import ast
from pathlib import Path

import nbclient
import nbformat
import pytest
from docs_parts import DOCS, ROOT, blocks

pytestmark = pytest.mark.slow

NO_NETWORK = """
import socket
def refuse(*_, **__):
    raise OSError("a notebook must not need a network")
socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
"""


def cells_of(page: Path) -> list[str]:
    """Every statement of a page as a cell of its own, so that what it ends with shows."""
    statements = []
    for language, block in blocks(page):
        if language == "python":
            lines = block.splitlines()
            for node in ast.parse(block).body:
                statements.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return statements


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "quickstart.md"], ids=lambda p: p.name)
def test_every_line_runs_in_a_notebook_without_a_network_and_shows(
    page: Path, tmp_path: Path
) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in (NO_NETWORK, *cells_of(page))]
    kernel = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=kernel
    ).execute()
    shown = [output.data for cell in notebook.cells for output in cell.outputs if "data" in output]
    tables = [data["text/html"] for data in shown if "text/html" in data]
    charts = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
    assert any("95 % interval" in table for table in tables), "a table shows as one"
    assert charts, "a chart shows as a picture"
    assert all("<script" not in part for part in (*tables, *charts)), "and loads nothing"


def test_a_page_that_needs_the_network_is_noticed(tmp_path: Path) -> None:
    """The planted bug."""
    bug = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')"
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in (NO_NETWORK, bug)]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="must not need a network"):
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
