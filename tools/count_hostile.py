"""Count the cases of the hostile suite, as ``docs/reliability.md`` tells them.

``python tools/count_hostile.py`` walks over everything public as the suite does, without running a
case, and prints the numbers of functions, of estimators and of their cases.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Count all cases, and those that the suite chooses when it is in a hurry."""
    from tests.conformance import hostile, hostile_estimators
    from tests.conformance.test_hostile import BASES, ESTIMATORS, FUNCTIONS

    warnings.simplefilter("ignore")
    os.environ.pop("OCTAVO_FUZZ", None)
    os.chdir(tempfile.mkdtemp())  # examples write files
    every = {"functions": 0, "estimators": 0}
    chosen = dict(every)

    def add(kind: str, name: str, cases: Any, one_in: int) -> None:
        listed = list(cases)
        every[kind] += len(listed)
        chosen[kind] += len(hostile.chosen(name, listed, one_in))

    for package, name, thing in FUNCTIONS:
        call = hostile.valid_call(package, name, thing)
        assert call is not None, name
        add("functions", name, hostile.spoilt(call), 5)
    for package, name, thing in ESTIMATORS:
        if name in BASES:
            continue
        use = hostile_estimators.valid_use(package, name, thing)
        assert use is not None, name
        add("estimators", name, hostile_estimators.spoilt_tables(use), 3)
        add("estimators", name, hostile_estimators.spoilt_settings(use), 5)
    print(f"{len(FUNCTIONS)} functions, {len(ESTIMATORS)} estimators")
    for title, counts in (("make test", chosen), ("make fuzz", every)):
        print(f"{title}: {counts['functions']:,} + {counts['estimators']:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
