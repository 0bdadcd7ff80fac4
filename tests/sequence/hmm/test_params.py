"""HMMs as data: to hmmlearn and back, sampling, scoring, padding."""

import copy
import pickle

import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM, GaussianHMM
from sklearn.mixture import GaussianMixture

from octavo.sequence import HMMParams
from tests.sequence.models import random_hmm, same_hmm

KINDS = ["diag", "full", "spherical"]


@pytest.mark.parametrize("kind", [*KINDS, "discrete"])
@pytest.mark.parametrize("M", [1, 3])
def test_there_and_back_through_hmmlearn(kind, M):
    rng = np.random.default_rng(0)
    hmm = random_hmm(rng, 3, M, 3, kind)
    model = hmm.to_hmmlearn()
    same_hmm(HMMParams.from_hmmlearn(model), hmm)
    X = rng.integers(0, 3, 7) if kind == "discrete" else rng.normal(size=(7, 3))
    np.testing.assert_allclose(hmm.score(X), model.score(X.reshape(7, -1)), rtol=1e-11)


@pytest.mark.parametrize("kind", [*KINDS, "tied"])
def test_fitted_models_of_hmmlearn_keep_their_likelihood(kind):
    X = np.random.default_rng(1).normal(size=(60, 2))
    for model in (GaussianHMM(2, kind, random_state=0), GMMHMM(2, 2, covariance_type=kind)):
        model.set_params(n_iter=3, random_state=0).fit(X)
        hmm = HMMParams.from_hmmlearn(model)
        np.testing.assert_allclose(hmm.score(X), model.score(X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["diag", "full", "spherical", "tied"])
def test_a_gaussian_mixture_is_an_hmm_with_one_state(kind):
    X = np.random.default_rng(3).normal(size=(50, 2))
    mixture = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    hmm = HMMParams.from_gaussian_mixture(mixture)
    np.testing.assert_allclose(hmm.score_samples(list(X[:, None])), mixture.score_samples(X))


def test_stacked_sequences_score_as_a_list_does():
    rng = np.random.default_rng(4)
    hmm = random_hmm(rng, 3, 2)
    X = [rng.normal(size=(n, 2)) for n in (4, 1, 6)]
    listed = hmm.score_samples(X)
    np.testing.assert_array_equal(hmm.score_samples(np.concatenate(X), [4, 1, 6]), listed)
    np.testing.assert_allclose(hmm.score(X), listed.sum())


@pytest.mark.parametrize("kind", [*KINDS, "discrete"])
def test_samples_follow_the_model(kind):
    """Moments of the second position against those of its mixture, at four standard errors."""
    rng = np.random.default_rng(5)
    hmm = random_hmm(rng, 3, 2, 2, kind)
    n = 20_000
    X = hmm.sample(n, 3, random_state=0)
    assert len(X) == n
    state = hmm.startprob @ hmm.transmat
    second = np.array([x[1] for x in X])
    if kind == "discrete":
        np.testing.assert_allclose(second.mean(), (state @ hmm.weights)[1], atol=4 * 0.5 / n**0.5)
        return
    part = state[:, None] * hmm.weights
    mean = np.einsum("sm,smd->d", part, hmm.means)
    full = {
        "full": hmm.covars,
        "diag": np.eye(2) * hmm.covars[..., None] if kind == "diag" else None,
        "spherical": np.eye(2) * hmm.covars[..., None, None] if kind == "spherical" else None,
    }[kind]
    gap = hmm.means - mean
    cov = np.einsum("sm,smde->de", part, full) + np.einsum("sm,smd,sme->de", part, gap, gap)
    spread = np.sqrt(np.diag(cov) / n)
    assert np.all(np.abs(second.mean(axis=0) - mean) < 4 * spread)
    np.testing.assert_allclose(np.cov(second.T), cov, atol=0.05 * np.abs(cov).max())
    again = hmm.sample(2, 3, random_state=0)
    np.testing.assert_array_equal(hmm.sample(2, 3, random_state=0)[1], again[1])


def test_containers_are_plain_data():
    hmm = random_hmm(np.random.default_rng(7))
    same_hmm(pickle.loads(pickle.dumps(hmm)), hmm)
    same_hmm(copy.deepcopy(hmm), hmm)
    assert copy.deepcopy(hmm) == hmm != random_hmm(np.random.default_rng(8))
    assert repr(hmm) == "HMMParams(n_states=2, n_mix=1, n_features=2, covariance_type='diag')"
    word = random_hmm(np.random.default_rng(7), kind="discrete", d=5)
    assert repr(word) == "HMMParams(n_states=2, n_symbols=5)"


def test_bad_sequences_are_located():
    hmm = random_hmm(np.random.default_rng(8))
    good = np.zeros((3, 2))
    bad = good.copy()
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite at sequence 1, position 1"):
        hmm.score([good, bad])
    with pytest.raises(ValueError, match="X has 1 features, the HMMs have 2"):
        hmm.score([np.zeros((3, 1))])
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        hmm.score([good, good[:0]])
    with pytest.raises(ValueError, match="lengths add up to 2"):
        hmm.score(good, [2])
    with pytest.raises(ValueError, match="rows of numbers"):
        hmm.score([np.array([["a", "b"]])])
    word = random_hmm(np.random.default_rng(8), kind="discrete", d=3)
    with pytest.raises(ValueError, match=r"integers 0\.\.2, got 3 at sequence 0, position 2"):
        word.score([0, 1, 3])
    with pytest.raises(ValueError, match="one integer symbol a position, got float64"):
        word.score([0.5, 1.0])
