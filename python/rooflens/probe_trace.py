"""torch.profiler in a program of the user's, from its first mark to its end."""

from __future__ import annotations

import atexit
import json
import os
from typing import Any, Dict


def start_trace(path: str) -> None:
    """Starts a session that ends with the process and is then written to `path`.

    ROOFLENS_TRACE_OPTIONS may hold record_shapes, profile_memory and with_stack as a JSON object.
    """
    from torch import profiler

    options: Dict[str, Any] = json.loads(os.environ.get("ROOFLENS_TRACE_OPTIONS") or "{}")
    session = profiler.profile(**options)
    session.start()

    def stop() -> None:
        session.stop()
        session.export_chrome_trace(path)

    atexit.register(stop)
