"""IBPCategorical takes answers: levels of columns, not the tables of scikit-learn's checks."""

import numpy as np

from octavo.bayes import IBPCategorical, IBPLinearGaussian
from tests.conformance.discovery import Case

X = np.array([[0, 1, 0], [1, 1, 2], [0, 0, 1], [1, 0, 2], [1, 1, 0], [0, 0, 1]])


def case(**options):
    return Case(
        make=lambda: IBPCategorical(n_iter=6, burn_in=3, random_state=0, **options),
        fit=lambda m: m.fit(X),
        query=lambda m: m.transform(X),
        bad=[
            ("fractions", lambda m: m.fit(X * 0.5), ValueError, "not whole"),
            ("infinity", lambda m: m.fit(np.where(X > 1, np.inf, X)), ValueError, "infinity"),
            ("NaN", lambda m: m.fit(np.full((3, 2), np.nan)), ValueError, "no answer"),
            ("empty", lambda m: m.fit(np.empty((0, 3))), ValueError, "two rows"),
            ("type", lambda m: m.fit("answers"), ValueError, "2D array"),
            ("one row", lambda m: m.fit(X[:1]), ValueError, "two rows"),
            ("shape", lambda m: m.fit(X[0]), ValueError, "2D array"),
            ("option", lambda m: m.set_params(alpha=0.0).fit(X), ValueError, "'alpha'"),
            ("unseen", lambda m: m.fit(X).transform(X + 1), ValueError, "not seen in fit"),
        ],
        unfitted=[
            lambda m: m.transform(X),
            lambda m: m.predict_proba(X),
            lambda m: m.score(X),
            lambda m: m.sample(2),
        ],
    )


CASES = [
    case(),
    case(engine="variational", max_features=3, tol=0.1),
    Case(make=lambda: IBPLinearGaussian(n_iter=20, burn_in=10, random_state=0)),
]
