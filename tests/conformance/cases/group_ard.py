"""Group ARD takes tables; impulse responses take rows in the order of time."""

from octavo.kernel import GroupARDRegression, GroupLassoEB, ImpulseResponseSelector
from tests.conformance.discovery import Case

IN_TIME = "rows are times: a prediction depends on the rows before it"

CASES = [
    Case(make=GroupARDRegression),
    Case(make=lambda: GroupARDRegression(gamma="cv", n_gammas=4, noise="ml")),
    Case(make=lambda: GroupLassoEB(n_gammas=4)),
    Case(
        make=lambda: ImpulseResponseSelector(n_lags=2),
        expected_failures={
            "check_methods_subset_invariance": IN_TIME,
            "check_methods_sample_order_invariance": IN_TIME,
            "check_fit2d_1feature": "it may need more rows than inputs times lags",
            "check_parameters_default_constructible": "the number of lags has no default",
        },
    ),
]
