"""`make torture`: the simulated week, every event a process of its own."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from program import Program
from week import whole_week


def main() -> None:
    """Live through the week and say how long it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        week = whole_week(Program(Path(root)), separate=True)
    print(f"week: {week.sittings} sittings, {week.passes} passes as the model says, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
