"""One iteration of hierarchical EM against scikit-learn's EM, moments and HMMs of one state."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from octavo.bayes.gaussian_mixtures.hierarchical_em import check_mixture, expect, maximize
from octavo.engine.probability.gaussians import SingularCovarianceError
from octavo.sequence import HMMParams
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm.sequence_sets import Mixture
from octavo.sequence.hmm_mixtures import vhem

FORMS = ["full", "diag", "spherical"]


def mixture_of(rng, n, d, form):
    weights, means = rng.dirichlet(np.ones(n)), 2 * rng.normal(size=(n, d))
    if form == "full":
        root = rng.normal(size=(n, d, d))
        return weights, means, root @ root.swapaxes(1, 2) + 0.2 * np.eye(d)
    return weights, means, rng.gamma(2.0, 0.5, (n, d) if form == "diag" else n) + 0.1


@pytest.mark.parametrize("form", FORMS)
def test_points_of_one_sample_each_are_plain_em(form):
    """Components without spread that stand for one sample: the special case is EM itself."""
    rng = np.random.default_rng(0)
    X, (weights, means, covars) = rng.normal(size=(40, 2)), mixture_of(rng, 3, 2, form)
    inverse = np.linalg.inv(covars) if form == "full" else 1 / covars
    one = GaussianMixture(
        3,
        covariance_type=form,
        weights_init=weights,
        means_init=means,
        precisions_init=inverse,
        max_iter=1,
        reg_covar=0.0,
    )
    with pytest.warns(ConvergenceWarning):
        one.fit(X)
    flat = np.zeros({"full": (40, 2, 2), "diag": (40, 2), "spherical": 40}[form])
    points = check_mixture((np.ones(40), X, flat))
    start = check_mixture((weights, means, covars))
    objective, found = expect(start, points, np.ones(40))
    np.testing.assert_allclose(objective / 40, one.lower_bound_, rtol=1e-12)
    after = maximize(start, found, points)
    np.testing.assert_allclose(after.weights, one.weights_, rtol=1e-10)
    np.testing.assert_allclose(after.means, one.means_, rtol=1e-10)
    variances = after.covars[:, 0] if form == "spherical" else after.covars
    np.testing.assert_allclose(variances, one.covariances_, rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_variational_hierarchical_em_for_hmms_of_one_state(form):
    rng = np.random.default_rng(1)
    parts, start = mixture_of(rng, 12, 3, form), mixture_of(rng, 4, 3, form)
    given, reduced = check_mixture(parts), check_mixture(start)
    virtual = 30.0 * given.weights

    def bank(mixture):
        return pack_hmms(
            [
                HMMParams([1.0], [[1.0]], [[1.0]], m[None, None], c[None, None], form)
                for m, c in zip(*mixture[1:])
            ]
        )

    base = vhem.Collection(bank(parts), given.weights, virtual, 1)
    hmms = Mixture(reduced.weights, bank(start))
    for _ in range(5):
        objective, found = expect(reduced, given, virtual)
        wanted, theirs = vhem.expect(hmms, base)
        np.testing.assert_allclose(objective, wanted, rtol=1e-12)
        np.testing.assert_allclose(found.share, theirs.share, atol=1e-12)
        reduced, hmms = maximize(reduced, found, given), vhem.maximize(hmms, theirs, base)
        np.testing.assert_allclose(reduced.weights, hmms.weights, rtol=1e-12)
        np.testing.assert_allclose(reduced.means, hmms.bank.means[:, 0, 0], rtol=1e-10)
        np.testing.assert_allclose(reduced.covars, hmms.bank.covars[:, 0, 0], rtol=1e-10)


def test_groups_without_components_keep_their_gaussian_and_flat_ones_are_refused():
    given = check_mixture(([0.5, 0.5], [[0.0], [1.0]], [[1.0], [1.0]]))
    start = check_mixture(([0.5, 0.5], [[0.0], [500.0]], [[1.0], [2.0]]))
    _, found = expect(start, given, np.full(2, 1e4))
    after = maximize(start, found, given)
    np.testing.assert_array_equal(after.means[1], [500.0])
    np.testing.assert_array_equal(after.covars[1], [2.0])
    np.testing.assert_allclose(after.covars[0], [1.25])
    points = given._replace(covars=np.zeros((2, 1)))
    apart = start._replace(means=np.array([[0.0], [1.0]]), covars=np.full((2, 1), 1e-3))
    _, found = expect(apart, points, np.full(2, 1e4))
    with pytest.raises(SingularCovarianceError, match=r"component 0 became singular.*reg_covar"):
        maximize(apart, found, points)
