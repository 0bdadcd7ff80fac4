"""The classifiers: labels of every kind, scales, priors, user models, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.bayes import (
    SemiSupervisedGenerativeClassifier,
    SemiSupervisedGenerativeClassifierCV,
)
from octavo.bayes.generative_ssl.cross_validated import held_out_folds


def rows(n=80, n_labelled=16, seed=0):
    rng = np.random.RandomState(seed)
    truth = np.r_[0, 1, 0, 1, rng.randint(0, 2, n - 4)]
    X = rng.standard_normal((n, 2)) + 2.5 * truth[:, None]
    return X, truth, np.where(np.arange(n) < n_labelled, truth, -1)


def test_labels_may_be_missing_in_many_ways():
    X, truth, y = rows()
    whole = SemiSupervisedGenerativeClassifier(n_init=0).fit(X, y).predict_proba(X)
    names = np.array(["no", "yes"], dtype=object)
    for given in (
        np.where(y < 0, np.nan, truth),
        [None if label < 0 else names[label] for label in y],
        [-1 if label < 0 else names[label] for label in y],
        ["-1" if label < 0 else str(names[label]) for label in y],
    ):
        found = SemiSupervisedGenerativeClassifier(n_init=0).fit(X, given)
        np.testing.assert_allclose(found.predict_proba(X), whole, atol=1e-12)
    moved = SemiSupervisedGenerativeClassifier(n_init=0, unlabelled_marker=9)
    moved.fit(X, np.where(y < 0, 9, np.where(truth, 1, -1)))
    assert moved.classes_.tolist() == [-1, 1]
    np.testing.assert_allclose(moved.predict_proba(X), whole, atol=1e-12)


@pytest.mark.parametrize("scale", [1e5, 1e-5])
@pytest.mark.parametrize("name", ["gaussian_nb", "qda", "lda", "gmm"])
def test_units_do_not_matter(name, scale):
    X, _, y = rows()
    options = {"n_init": 1, "tol": 1e-9, "max_iter": 3000, "random_state": 0}
    one = SemiSupervisedGenerativeClassifier(name, **options).fit(X, y)
    other = SemiSupervisedGenerativeClassifier(name, **options)
    other.fit(scale * X + 7.0 * scale, y)
    shifted = scale * X + 7.0 * scale
    np.testing.assert_allclose(other.predict_proba(shifted), one.predict_proba(X), atol=1e-4)
    lost = 2 * np.log(scale)
    np.testing.assert_allclose(other.log_density(shifted) + lost, one.log_density(X), atol=1e-3)


def test_stratified_labels_are_weighted_to_the_priors():
    rng = np.random.RandomState(0)
    truth = (rng.uniform(size=2000) < 0.1).astype(int)
    X = rng.standard_normal((2000, 1)) + 2.0 * truth[:, None]
    chosen = np.r_[np.flatnonzero(truth == 0)[:60], np.flatnonzero(truth == 1)[:60]]
    y = np.full(2000, -1)
    y[chosen] = truth[chosen]
    balanced = SemiSupervisedGenerativeClassifier(
        priors=[0.9, 0.1], label_design="stratified", random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(np.exp(balanced.class_log_prior_), [0.9, 0.1])
    assert abs(balanced.means_[1, 0] - 2.0) < 0.4
    with pytest.raises(ValueError, match="needs priors"):
        SemiSupervisedGenerativeClassifier(label_design="stratified").fit(X, y)


def test_stratified_labels_pool_covariances_by_the_priors():
    rng = np.random.RandomState(1)
    y = np.repeat([0, 1], [30, 90])
    X = rng.standard_normal((120, 2)) * np.where(y, 1.0, 4.0)[:, None]
    model = SemiSupervisedGenerativeClassifier(
        model="lda", objective="labelled", priors=[0.8, 0.2], label_design="stratified"
    ).fit(X, y)
    spreads = [np.cov(X[y == k].T, bias=True) for k in (0, 1)]
    pooled = 0.8 * spreads[0] + 0.2 * spreads[1]
    np.testing.assert_allclose(model.covariances_, pooled, rtol=1e-3, atol=1e-3)


def test_samples_have_the_moments_of_the_model():
    X, _, y = rows(400, 200)
    for name in ("gaussian_nb", "qda", "lda", "gmm"):
        model = SemiSupervisedGenerativeClassifier(name, n_init=0, random_state=0).fit(X, y)
        drawn, labels = model.sample(20_000)
        assert drawn.shape == (20_000, 2)
        share = np.exp(model.class_log_prior_)
        means = model.means_
        if name == "gmm":
            means = np.einsum("km,kmd->kd", model.weights_, means)
        for k in (0, 1):
            assert abs((labels == k).mean() - share[k]) < 0.02
            np.testing.assert_allclose(drawn[labels == k].mean(axis=0), means[k], atol=0.1)
    counts = np.abs(X).astype(int)
    model = SemiSupervisedGenerativeClassifier("multinomial_nb", n_init=0, random_state=0)
    assert model.fit(counts, y).sample(3)[0].shape == (3, 2)


class Laplacian:
    """Independent Laplace distributions: a model that octavo does not have."""

    def start(self, X, W, rng):
        mass = W.sum(axis=0)
        means = (W.T @ X) / mass[:, None]
        spread = np.array([W[:, k] @ np.abs(X - means[k]) / mass[k] for k in range(len(mass))])
        return np.concatenate([np.log(mass / mass.sum()), means.ravel(), np.log(spread).ravel()])

    def log_joint(self, theta, X):
        K = theta.size // (1 + 2 * X.shape[1])
        logits, rest = theta[:K], theta[K:].reshape(2, K, -1)
        prior = logits - np.log(np.exp(logits).sum())
        off = np.sqrt((X[:, None] - rest[0]) ** 2 + 1e-6) / np.exp(rest[1])
        return prior - (off + rest[1] + np.log(2.0)).sum(axis=2)


def test_a_users_model_needs_two_methods():
    X, truth, y = rows()
    model = SemiSupervisedGenerativeClassifier(Laplacian(), n_init=0, max_iter=200).fit(X, y)
    assert model.score(X, truth) > 0.9
    start = Laplacian().start(X[:16], np.eye(2)[y[:16]], None)
    q = Laplacian().log_joint(start, X)
    total = np.logaddexp(q[:, 0], q[:, 1])
    begin = (q[np.arange(16), y[:16]] - total[:16]).sum() + 16 / 80 * total.sum()
    assert model.objective_ > begin
    with pytest.raises(ValueError, match="no method sample"):
        model.sample(2)
    with pytest.raises(ValueError, match="needs more than this model has"):
        SemiSupervisedGenerativeClassifier(Laplacian(), "ml", solver="em").fit(X, y)


def test_cross_validation_is_that_of_plain_fits():
    X, truth, y = rows()
    for objective in ("entropy_reg", "multi_conditional"):
        for scoring in ("error", "nll"):
            model = SemiSupervisedGenerativeClassifierCV(
                objective=objective,
                scoring=scoring,
                trade_offs=[0.1, 1.0],
                cv=3,
                n_init=0,
                random_state=0,
            ).fit(X, y)
            assert model.cv_scores_.shape == (2, 3)
            assert model.trade_off_ == [0.1, 1.0][model.cv_scores_.mean(axis=1).argmin()]
            plain = SemiSupervisedGenerativeClassifier(
                objective=objective, trade_off=model.trade_off_, n_init=0, random_state=0
            ).fit(X, y)
            np.testing.assert_allclose(model.means_, plain.means_)
    fold = held_out_folds(y, 3, np.random.RandomState(0))[1]
    keep = np.setdiff1d(np.arange(len(y)), fold)
    plain = SemiSupervisedGenerativeClassifier(
        objective="multi_conditional", trade_off=1.0, n_init=0, random_state=0
    ).fit(X[keep], y[keep])
    nll = -plain.predict_joint_log_proba(X[fold])[np.arange(len(fold)), truth[fold]].mean()
    assert model.cv_scores_[1, 1] == pytest.approx(nll, rel=1e-6)


def test_folds_leave_a_row_of_each_class():
    codes = np.array([0, 1, 1, 2, 2, 2, 2, 2, 2, -1, -1])
    folds = held_out_folds(codes, 5, np.random.RandomState(0))
    for rows_out in folds:
        left = np.delete(codes, rows_out)
        assert set(left[left >= 0]) == {0, 1, 2}
    assert sorted(np.concatenate(folds)) == list(range(1, 9))
    with pytest.raises(ValueError, match="at least two labelled rows"):
        held_out_folds(np.array([0, 1, -1]), 2, np.random.RandomState(0))


def test_bad_input_is_met_by_sentences():
    X, _, y = rows()
    fit = SemiSupervisedGenerativeClassifier(n_init=0).fit
    with pytest.raises(ValueError, match="no labelled row"):
        fit(X, np.full(80, -1))
    with pytest.raises(ValueError, match="one class"):
        fit(X, np.where(y == 0, 0, -1))
    names = np.array(["a", "b", None], dtype=object)[y]
    with pytest.raises(ValueError, match=r"\['c'\] have no labelled row"):
        SemiSupervisedGenerativeClassifier(priors={"a": 0.3, "b": 0.3, "c": 0.4}).fit(X, names)
    with pytest.raises(ValueError, match="one entry for each"):
        SemiSupervisedGenerativeClassifier(priors=[0.2, 0.3, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="sum to one"):
        SemiSupervisedGenerativeClassifier(priors=[0.2, 0.3]).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match='solver="em"'):
        SemiSupervisedGenerativeClassifier(solver="em").fit(X, y)
    with pytest.raises(ValueError, match="1e150"):
        fit(X * 1e200, y)
    with pytest.raises(ValueError, match="egative"):
        SemiSupervisedGenerativeClassifier("multinomial_nb").fit(X, y)
    far = fit(X, y).predict_proba(np.full((1, 2), 1e300))
    assert np.isfinite(far).all()


def test_a_class_without_labels_is_found_by_maximum_likelihood():
    rng = np.random.RandomState(0)
    truth = np.arange(300) % 3
    X = rng.standard_normal((300, 2)) + 8.0 * truth[:, None]
    y = np.where((np.arange(300) < 40) & (truth < 2), truth, -1)
    model = SemiSupervisedGenerativeClassifier(
        objective="ml", priors={0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, n_init=10, random_state=0
    ).fit(X, y)
    assert model.score(X, truth) > 0.98


def test_shifted_unlabelled_rows_are_told():
    X, _, y = rows()
    X[y < 0] += 5.0
    with pytest.warns(UserWarning, match="Kolmogorov"):
        SemiSupervisedGenerativeClassifier(n_init=0, test_shift=True).fit(X, y)


def test_one_row_a_class_rests_on_the_floor():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.4, 0.6], [0.1, 0.9]])
    for name in ("gaussian_nb", "qda", "lda"):
        model = SemiSupervisedGenerativeClassifier(name, random_state=0).fit(X, [0, 1, -1, -1])
        assert model.predict(X[:2]).tolist() == [0, 1]
        assert np.isfinite(model.objective_)


def test_the_floor_is_a_part_of_given_bounds():
    # two rows of class 0 that coincide: its standard deviation is the floor
    X = np.array([[1.0, 0.0], [1.0, 0.0], [5.0, 2.0], [7.0, 4.0], [6.0, 1.0]])
    y = [0, 0, 1, 1, 1]
    options = {"objective": "labelled", "var_floor": 0.05, "mean_penalty": 0.0}
    own = SemiSupervisedGenerativeClassifier(**options).fit(X, y)
    np.testing.assert_allclose(np.sqrt(own.vars_[0]), [0.05 * 6.0, 0.05 * 4.0])
    given = SemiSupervisedGenerativeClassifier(**options, bounds=([0.0, -10.0], [20.0, 10.0]))
    np.testing.assert_allclose(np.sqrt(given.fit(X, y).vars_[0]), [1.0, 1.0])
    one = SemiSupervisedGenerativeClassifier(**options, bounds=(0, 20)).fit(X, y)
    # a density in the units of X, whatever the bounds
    top = -np.log(2.0 * np.pi) - np.log(one.vars_[0]).sum() / 2 + np.log(2 / 5)
    assert abs(one.predict_joint_log_proba(X)[0, 0] - top) < 1e-9


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1.0, 1.0), "lower below upper; got 1 and 1 for axis 0"),
        ((0.0, [1.0, -1.0]), "for axis 1"),
        ((0.0, np.inf), "two finite numbers"),
        ([[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]], "two arrays of 2"),
    ],
)
def test_bounds_that_are_none(bounds, words):
    X, _, y = rows()
    ends = np.broadcast_arrays(*bounds) if np.ndim(bounds[1]) != np.ndim(bounds[0]) else bounds
    with pytest.raises(ValueError, match=words):
        SemiSupervisedGenerativeClassifier(bounds=ends).fit(X, y)
