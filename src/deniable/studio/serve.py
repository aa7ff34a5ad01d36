"""Running the studio: two addresses of this machine, and one process."""

from __future__ import annotations

import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from deniable.server.connections import descriptors
from deniable.server.errors_log import write_errors
from deniable.server.serve import Server, bound
from deniable.studio.app import Studio
from deniable.studio.folder import Folder

LOOPBACK = "127.0.0.1"
"""Where the studio listens; nothing makes it listen anywhere else."""

BACKLOG = 64

_ENDS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""What else than Ctrl-C ends it, so that collectors end, too: a terminal that is closed, say."""


def run(
    folder: str | Path, port: int, announce: Callable[[str], None], *, opens_browser: bool = True
) -> None:
    """Serve the studio until told to stop; collectors that it started end with it."""
    place = Folder(folder)
    with ExitStack() as stack:
        sockets = [stack.enter_context(bound(LOOPBACK, each)) for each in (port, 0)]
        for each in sockets:
            each.listen(BACKLOG)
        studio = Studio(place, *(each.getsockname()[1] for each in sockets))
        stack.callback(studio.desk.close)
        if threading.current_thread() is threading.main_thread():
            for end in _ENDS:
                if signal.getsignal(end) != signal.SIG_IGN:  # as nohup has it
                    signal.signal(end, lambda *_: sys.exit(0))
        announce(studio.address)
        if opens_browser:
            # Beside this thread: some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=[studio.address], daemon=True).start()
        most, _ = descriptors()
        write_errors()
        Server(studio, None, most, BACKLOG).run(sockets)
