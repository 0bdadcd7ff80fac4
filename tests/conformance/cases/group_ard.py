"""Group ARD takes tables; impulse responses take rows in the order of time."""

from octavo.kernel import GroupARDRegression, GroupLassoEB, ImpulseResponseSelector
from tests.conformance.discovery import Case

IN_TIME = "rows are times: a prediction depends on the rows before it"

CASES = [
    Case(make=GroupARDRegression),
    Case(make=lambda: GroupARDRegression(gamma="cv", n_gammas=4, noise="ml")),
    Case(make=lambda: GroupLassoEB(n_gammas=4)),
    Case(
        make=lambda: ImpulseResponseSelector(n_lags=2, noise="ml"),
        expected_failures={
            "check_methods_subset_invariance": IN_TIME,
            "check_methods_sample_order_invariance": IN_TIME,
        },
    ),
]
