"""`make torture`: the simulated week, every event a process of its own."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from program import Program  # found on the path set above
from week import whole_week  # found on the path set above


def main() -> None:
    """Live through the week and say how long it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        week = whole_week(Program(Path(root)), separate=True)
    took = time.monotonic() - begin
    print(f"week: {week.sittings} sittings, {week.passes} passes as the model says, {took:.0f} s")


if __name__ == "__main__":
    main()
