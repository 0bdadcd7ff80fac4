"""Stick-breaking mixtures take rows with places; superpixels take images."""

import numpy as np

from octavo.bayes import (
    HierarchicalLSBP,
    KernelStickBreakingMixture,
    LogisticStickBreakingMixture,
    SuperpixelFeatures,
)
from tests.conformance.discovery import Case

SHORT = {"n_components": 3, "n_centers": 5, "n_init": 1, "random_state": 0}
T = np.arange(16.0)
X = np.random.default_rng(0).normal(size=(16, 2)) + 4.0 * (T[:, None] > 7)
OTHER = X[::-1].copy()

BAD = [
    ("NaN", lambda m: m.fit(np.where(X > 4, np.nan, X), T), ValueError, "NaN"),
    ("NaN place", lambda m: m.fit(X, np.where(T > 4, np.nan, T)), ValueError, "NaN"),
    ("empty", lambda m: m.fit(X[:0], T[:0]), ValueError, "0 sample"),
    ("shape", lambda m: m.fit(X[:, 0], T), ValueError, "2D array"),
    ("length", lambda m: m.fit(X, T[:-1]), ValueError, "one place per row"),
    ("no places", lambda m: m.fit(X), ValueError, "Coordinates are needed"),
    ("type", lambda m: m.fit("rows", T), ValueError, "scalar|could not convert|2D"),
    ("option", lambda m: m.set_params(n_components=0).fit(X, T), ValueError, "'n_components'"),
    ("width", lambda m: m.set_params(bandwidths=[-1.0]).fit(X, T), ValueError, "positive"),
    ("no width", lambda m: m.set_params(bandwidths=[]).fit(X, T), ValueError, "at least one"),
    (
        "codes",
        lambda m: m.set_params(observation="categorical").fit(X + 0.5, T),
        ValueError,
        "whole numbers",
    ),
    (
        "counts",
        lambda m: m.set_params(observation="multinomial").fit(X - 9, T),
        ValueError,
        "counts",
    ),
    ("labels", lambda m: m.fit(X, T, T), ValueError, "at most n_components=3 groups"),
]


def case(cls):
    return Case(
        make=lambda: cls(**SHORT),
        fit=lambda m: m.fit(X, T),
        query=lambda m: m.predict_proba(X, T),
        bad=BAD,
        unfitted=[lambda m: m.predict(X, T), lambda m: m.gate_proba(T)],
    )


SHARED = {"n_atoms": 4, **SHORT}
SETS, PLACES = [X, OTHER], [T, T]
BAD_SETS = [
    ("NaN", lambda m: m.fit([X, OTHER * np.nan], PLACES), ValueError, "NaN"),
    ("empty", lambda m: m.fit([], []), ValueError, "at least one data set"),
    ("shape", lambda m: m.fit([X, OTHER[:, :1]], PLACES), ValueError, "features|columns"),
    ("length", lambda m: m.fit(SETS, [T]), ValueError, "coordinates for each"),
    ("type", lambda m: m.fit(X, PLACES), TypeError, "list with one entry"),
    ("option", lambda m: m.set_params(n_atoms=0).fit(SETS, PLACES), ValueError, "'n_atoms'"),
    ("width", lambda m: m.set_params(bandwidths=0.0).fit(SETS, PLACES), ValueError, "bandwidths"),
]

CASES = [
    case(LogisticStickBreakingMixture),
    case(KernelStickBreakingMixture),
    Case(
        make=lambda: HierarchicalLSBP(**SHARED),
        fit=lambda m: m.fit(SETS, PLACES),
        query=lambda m: np.concatenate(m.atom_proba_),
        bad=BAD_SETS,
        unfitted=[lambda m: m.predict(SETS, PLACES), lambda m: m.similarity()],
    ),
]

try:
    import skimage  # noqa: F401
except ImportError:
    CASES.append(
        Case(
            make=lambda: SuperpixelFeatures(n_segments=4),
            fit=lambda m: m,
            query=lambda m: m.get_params(),
            bad=[
                (
                    label,
                    lambda m: m.fit(np.full((8, 8), 0.5)),
                    ImportError,
                    "octavo\\[images\\]",
                )
                for label in ("NaN", "empty", "shape", "type", "option")
            ],
            unfitted=[lambda m: m.transform(X)],
            iterative=False,
        )
    )
else:
    PICTURE = np.random.default_rng(0).random((24, 24, 3))
    CASES.append(
        Case(
            make=lambda: SuperpixelFeatures(n_segments=9, random_state=0),
            fit=lambda m: m.fit(PICTURE),
            query=lambda m: m.transform(PICTURE).blocks,
            bad=[
                ("NaN", lambda m: m.fit(PICTURE * np.nan), ValueError, "NaN"),
                ("empty", lambda m: m.fit([]), ValueError, "at least one image|shape"),
                ("shape", lambda m: m.fit(PICTURE[0, 0]), ValueError, "shape"),
                ("range", lambda m: m.fit(300.0 * PICTURE), ValueError, "0 to 255"),
                ("type", lambda m: m.fit("picture"), ValueError, "shape"),
                ("option", lambda m: m.set_params(n_segments=0).fit(PICTURE), ValueError, "'n_seg"),
                ("kinds", lambda m: m.set_params(features=["x"]).fit(PICTURE), ValueError, "name"),
            ],
            unfitted=[lambda m: m.transform(PICTURE)],
            iterative=False,
        )
    )
