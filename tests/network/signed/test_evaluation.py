"""Held-out links stay unseen; the generator draws what it says."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from octavo.data import make_weakly_balanced
from octavo.network import (
    ExponentialPredictor,
    ImbalancePredictor,
    cross_validate_signs,
    embeddedness_curve,
    sign_folds,
)


class Spy(BaseEstimator):
    """Answers by what it has seen: right only where a held-out link leaks."""

    def fit(self, A):
        self.seen_ = A
        return self

    def decision_function(self, pairs):
        there = np.asarray(self.seen_[pairs[:, 0], pairs[:, 1]]).ravel()
        back = np.asarray(self.seen_[pairs[:, 1], pairs[:, 0]]).ravel()
        return there + back

    def predict(self, pairs):
        assert not self.decision_function(pairs).any()
        return np.ones(len(pairs), dtype=int)


def test_a_held_out_link_is_never_seen_in_either_direction():
    A = make_weakly_balanced([20, 20], 0.4, 0.1, random_state=0).A
    scores = cross_validate_signs(Spy(), A, 5, random_state=0)
    assert len(scores.pairs) == A.nnz


def test_a_planted_link_would_be_seen():
    A = make_weakly_balanced([20, 20], 0.4, random_state=0).A
    train, pairs, _ = next(sign_folds(A, 5, random_state=0))
    leaky = train.tolil()
    leaky[pairs[0, 1], pairs[0, 0]] = 1.0
    with pytest.raises(AssertionError):
        Spy().fit(leaky.tocsr()).predict(pairs)


def test_folds_part_the_links():
    A = make_weakly_balanced([10, 10], 0.5, random_state=0).A
    seen = np.vstack([pairs for _, pairs, _ in sign_folds(A, 4, random_state=1)])
    assert len(np.unique(seen, axis=0)) == A.nnz
    with pytest.raises(ValueError, match="n_splits"):
        sign_folds([(0, 1, 1)], 3)


def test_scores_are_those_of_the_predictions():
    A = make_weakly_balanced([25, 15], 0.4, 0.1, random_state=0).A
    scores = cross_validate_signs(ImbalancePredictor(), A, 4, random_state=0)
    pooled = (scores.signs == scores.predicted).mean()
    assert pooled == pytest.approx(scores.accuracy.mean(), abs=0.02)
    thresholds, accuracy, n_links = embeddedness_curve(A, scores)
    assert n_links[0] == A.nnz
    assert accuracy[0] == pytest.approx(pooled)
    assert (np.diff(thresholds) > 0).all()
    assert (np.diff(n_links) < 0).all()


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_exponential_keeps_its_leading_part(symmetric):
    from scipy.linalg import expm

    network = make_weakly_balanced([12, 8], 0.7, random_state=0)
    A = network.A.toarray()
    model = ExponentialPredictor(20, symmetric, random_state=0).fit(network.A)
    pairs = np.argwhere(np.triu(np.ones((20, 20)), 1))
    if symmetric:
        whole = expm(A)
    else:
        U, values, Vt = np.linalg.svd(A)
        whole = (U * np.exp(values)) @ Vt
    expected = whole[tuple(pairs.T)] / np.exp(model.values_.max())
    assert model.decision_function(pairs) == pytest.approx(expected, abs=1e-9)


def test_the_generator_keeps_its_density_and_noise():
    network = make_weakly_balanced([100, 200], 0.2, 0.1, random_state=0)
    n_pairs = 300 * 299 / 2
    assert network.A.nnz / 2 == pytest.approx(0.2 * n_pairs, abs=4 * np.sqrt(0.16 * n_pairs))
    links = network.A.tocoo()
    turned = np.mean(links.data != network.truth[links.row, links.col])
    assert turned == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / (network.A.nnz / 2)))
    assert (network.A != network.A.T).nnz == 0


def test_a_power_law_has_hubs():
    flat = make_weakly_balanced([300, 300], 0.05, random_state=0).A
    steep = make_weakly_balanced([300, 300], 0.05, sampling="power_law", random_state=0).A
    degrees = [np.diff(A.indptr) for A in (flat, steep)]
    assert degrees[1].max() > 4 * degrees[0].max()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sizes": []}, "sizes"),
        ({"sizes": [0, 2]}, "sizes"),
        ({"density": 0.0}, "density"),
        ({"noise": 2.0}, "noise"),
        ({"sampling": "some"}, "sampling"),
        ({"exponent": 1.0}, "exponent"),
    ],
)
def test_the_generator_refuses(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_weakly_balanced(**({"sizes": [3, 3], "density": 0.5} | options))
