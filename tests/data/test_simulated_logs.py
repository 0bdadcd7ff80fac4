"""Simulated clicks and splice sites have the rates, shapes and effects that they promise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from octavo.data import make_clicks, make_splice_sites
from octavo.linear import ConjunctionHasher, WeightedDegreeFeatures


def test_clicks_are_thinned_to_the_wanted_share():
    X, y, X_later, y_later = make_clicks(3000, 900, negatives=2.0, random_state=0)
    assert X.shape == (3000, 5)
    assert (y.sum(), y_later.sum()) == (1000, 300)
    assert len(set(map(tuple, X[:, [1, 2]]))) == len(set(X[:, 1])), "a page has one publisher"
    counts = np.sort(np.unique(X[:, 0], return_counts=True)[1])[::-1]
    assert counts[0] > 20 * np.median(counts), "users are not Zipf distributed"


def test_clicks_are_reproducible_and_differ_by_seed():
    one, two, other = (make_clicks(300, 30, random_state=seed) for seed in (1, 1, 2))
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ctr", 2),
        ("ctr", 1e-308),  # visits were drawn for ever
        ("effect", np.nan),
        ("drift", -1.0),
        ("negatives", np.inf),
        ("n_users", 0),
    ],
)
def test_clicks_that_never_come_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}.* must"):
        make_clicks(300, 30, **{name: value})


def test_conjunctions_predict_clicks_of_a_later_day():
    X, y, X_later, y_later = make_clicks(20_000, 6000, random_state=0)
    scores = []
    for pairs in (None, "all"):
        hasher = ConjunctionHasher(18, pairs).fit(X)
        model = LogisticRegression(C=0.1, max_iter=100, tol=1e-3).fit(hasher.transform(X), y)
        scores.append(roc_auc_score(y_later, model.decision_function(hasher.transform(X_later))))
    assert scores[1] > scores[0] + 0.01 > 0.7


def test_splice_sites_carry_their_signal_before_the_site():
    sequences, y = make_splice_sites(2000, 60, random_state=0)
    assert {len(s) for s in sequences} == {60}
    assert {s[30:32] for s in sequences} == {"AG"}
    assert y.mean() == pytest.approx(0.1, abs=0.03)
    features = WeightedDegreeFeatures(degree=3).fit(sequences)
    table = features.transform(sequences)
    model = LogisticRegression(C=0.05, max_iter=200, tol=1e-3).fit(table[:1500], y[:1500])
    assert roc_auc_score(y[1500:], model.decision_function(table[1500:])) > 0.8
    weak, labels = make_splice_sites(2000, 60, strength=0.0, random_state=0)
    pyrimidines = np.array([sum(c in "CT" for c in s[15:29]) for s in weak])
    gap = pyrimidines[labels == 1].mean() - pyrimidines[labels == 0].mean()
    assert abs(gap) < 0.6
    with pytest.raises(ValueError, match="at least 4, got 3"):
        make_splice_sites(length=3)
