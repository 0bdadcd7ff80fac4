"""The estimators on energies take images, probabilities and pairs of views, not tables."""

import numpy as np

from octavo.graphical import MRFLabelSmoother, StereoMatcher, TruncatedMRFDenoiser
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
IMAGE = np.kron([[0.0, 5.0], [9.0, 2.0]], np.ones((4, 5))) + rng.normal(0, 0.5, (8, 10))
PROBABILITIES = rng.dirichlet(np.ones(4), 20)
LEFT = rng.uniform(0, 255, (6, 14))
VIEWS = np.stack([LEFT, np.roll(LEFT, -2, axis=1)])
GRID = np.column_stack([np.arange(19), np.arange(1, 20)])

CASES = [
    Case(
        make=lambda: TruncatedMRFDenoiser(levels=8),
        fit=lambda model: model.fit(IMAGE),
        query=lambda model: model.transform(IMAGE[:5]),
        bad=[
            ("NaN", lambda m: m.fit(np.full((3, 3), np.nan)), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.zeros((0, 3))), ValueError, "shape"),
            ("shape", lambda m: m.fit(np.zeros(5)), ValueError, "image"),
            ("type", lambda m: m.fit([["a", "b"]]), ValueError, "real numbers"),
            ("option", lambda m: m.set_params(method="luck").fit(IMAGE), ValueError, "'method'"),
        ],
        unfitted=[lambda m: m.transform(IMAGE)],
    ),
    Case(
        make=lambda: MRFLabelSmoother(connectivity=GRID),
        fit=lambda model: model.fit(PROBABILITIES),
        query=lambda model: np.append(model.labels_, model.objective_),
        bad=[
            ("NaN", lambda m: m.fit(np.full((20, 3), np.nan)), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.zeros((0, 3))), ValueError, "n_samples"),
            ("shape", lambda m: m.fit(np.ones(4)), ValueError, "n_samples"),
            ("type", lambda m: m.fit([["a", "b"]]), ValueError, "real numbers"),
            ("option", lambda m: m.set_params(weight=-1).fit(PROBABILITIES), ValueError, "weight"),
        ],
        unfitted=[lambda m: m.predict(PROBABILITIES)],
    ),
    Case(
        make=lambda: StereoMatcher(n_disparities=6),
        fit=lambda model: model.fit(VIEWS),
        query=lambda model: np.append(model.labels_.ravel(), model.objective_),
        bad=[
            ("NaN", lambda m: m.fit(VIEWS * np.nan), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.zeros((2, 0, 3))), ValueError, "shape"),
            ("shape", lambda m: m.fit(LEFT, LEFT[:3]), ValueError, "one shape"),
            ("type", lambda m: m.fit([[["a"]], [["b"]]]), ValueError, "real numbers"),
            ("option", lambda m: m.set_params(interval=0).fit(VIEWS), ValueError, "interval"),
        ],
        unfitted=[lambda m: m.warp(LEFT)],
    ),
]
