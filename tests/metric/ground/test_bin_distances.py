import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import jensenshannon

from octavo.metric import HellingerTransformer, simplex_distance

R = np.random.default_rng(0).dirichlet(np.ones(6), 5)
S = np.random.default_rng(1).dirichlet(np.ones(6), 4)


def by_pairs(distance):
    return np.array([[distance(r, c) for c in S] for r in R])


LAM = np.array([1.0, 2.0, 3.0, 1.0, 0.5, 2.0])


def lebanon(r, c):
    one, two = r * LAM / (r @ LAM), c * LAM / (c @ LAM)
    return np.arccos(np.sum(np.sqrt(one * two)))


@pytest.mark.parametrize(
    ("kind", "distance"),
    [
        ("tv", lambda r, c: 0.5 * np.abs(r - c).sum()),
        ("l1", lambda r, c: np.abs(r - c).sum()),
        ("l2", lambda r, c: np.sqrt(((r - c) ** 2).sum())),
        ("hellinger", lambda r, c: np.sqrt(((np.sqrt(r) - np.sqrt(c)) ** 2).sum())),
        ("chi2", lambda r, c: 0.5 * ((r - c) ** 2 / (r + c)).sum()),
        ("js", jensenshannon),
        ("aitchison", lambda r, c: np.std(np.log(r / c)) * np.sqrt(6)),
    ],
)
def test_equals_its_formula(kind, distance):
    np.testing.assert_allclose(simplex_distance(R, S, kind), by_pairs(distance), atol=1e-12)


def test_lebanon():
    found = simplex_distance(R, S, "lebanon", lam=LAM)
    np.testing.assert_allclose(found, by_pairs(lebanon), atol=1e-12)
    np.testing.assert_allclose(simplex_distance(R, S, "lebanon", lam=LAM * 1e150), found)
    assert not simplex_distance(R, kind="lebanon").diagonal().any()


def test_empty_bins():
    Z = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    # By hand; what is empty on both sides adds nothing. Against their mean (3/4, 1/4, 0):
    js = np.sqrt(0.5 * (0.5 * np.log(2 / 3) + 0.5 * np.log(2) + np.log(4 / 3)))
    apart = {"chi2": 0.5 * (0.25 / 1.5 + 0.5), "js": js, "tv": 0.5}
    apart["hellinger"] = np.sqrt(2 - np.sqrt(2))
    for kind, value in apart.items():
        found = simplex_distance(Z, kind=kind)
        np.testing.assert_allclose(found, [[0, value], [value, 0]], atol=1e-7)
    with pytest.raises(ValueError, match="row 0 of R has an empty one"):
        simplex_distance(Z, kind="aitchison")
    with pytest.raises(ValueError, match="Row 1 of R has no mass"):
        simplex_distance(Z, kind="lebanon", lam=[0.0, 1.0, 1.0])


def test_sparse_rows_with_repeated_columns():
    X = sp.csr_array(([0.25, 0.25, 0.5], [1, 1, 0], [0, 3]), shape=(1, 3))
    assert simplex_distance(X, [[0.5, 0.5, 0.0]])[0, 0] == 0.0


@pytest.mark.parametrize("bad", [{"kind": "cosine"}, {"kind": "lebanon", "lam": [1.0]}])
def test_bad_options(bad):
    with pytest.raises(ValueError, match="must be"):
        simplex_distance(R, **bad)


def test_bins_must_agree():
    with pytest.raises(ValueError, match="6 bins and S has 3"):
        simplex_distance(R, [[0.2, 0.3, 0.5]])


def test_hellinger_rows_are_euclidean():
    Z = HellingerTransformer().fit(R).transform(R)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    gaps = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.testing.assert_allclose(gaps, simplex_distance(R, kind="hellinger"), atol=1e-14)
    counts = HellingerTransformer(normalize=True).fit_transform(7.0 * R)
    np.testing.assert_allclose(counts, Z, atol=1e-15)
