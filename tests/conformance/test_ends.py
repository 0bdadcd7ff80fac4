"""Computations that once never ended: they run in a process of their own, with a time limit."""

import subprocess
import sys

import pytest

ENDLESS = {
    "nested_td": """
import numpy as np
from octavo.rl import nested_td
rng = np.random.default_rng(0)
X, X_next, r = rng.normal(size=(50, 4)), rng.normal(size=(50, 4)), rng.normal(size=50)
X[0, 0] = 1e155
for penalty in ("l1", "l2"):
    try:
        nested_td(X, X_next, r, alpha_fixed=0.1, penalty=penalty)
    except ValueError as error:
        assert "not finite" in str(error), error
    else:
        raise AssertionError("it was not refused")
""",
    "make_overlap_mixture": """
from octavo.cluster import make_overlap_mixture
for wanted in ({"bar_omega": 0.05}, {"max_omega": 0.1}, {"bar_omega": 0.05, "max_omega": 0.1}):
    found = make_overlap_mixture(3, 2, **wanted, tol=1e-308, random_state=0).overlap_map()
    assert "bar_omega" not in wanted or abs(found.average - 0.05) <= 1e-9, found
    assert "max_omega" not in wanted or abs(found.maximum - 0.1) <= 1e-9, found
""",
    "machines of LIBSVM": """
import numpy as np
from octavo.svm import AEOneClassSVM, AESVC, EnsembleSVC, PUBaggingSVC
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)
EnsembleSVC(n_estimators=3, C=100.0, tol=1e-308, random_state=0).fit(X, y)
PUBaggingSVC(n_estimators=3, tol=1e-308, random_state=0).fit(X, y)
AESVC(C=100.0, tol=1e-308).fit(X, y)
AEOneClassSVM(tol=1e-308).fit(X)
""",
}


@pytest.mark.parametrize("program", ENDLESS.values(), ids=ENDLESS.keys())
def test_it_ends(program):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
