"""EM for mixtures of HMMs against hmmlearn, enumeration and invariances; what is built on it."""

import warnings

import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM, CategoricalHMM
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score

from octavo.data import make_hmm_sequences
from octavo.engine.probability.gaussians import SingularCovarianceError
from octavo.sequence import (
    HierarchicalHMMMixture,
    HMMClustering,
    HMMMixture,
    HMMMixtureClassifier,
    HMMParams,
    SampledHMMClustering,
    fit_hmms,
)
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm.m_step import updated_bank
from octavo.sequence.hmm.sequence_sets import Mixture, gather_sets, parts_of_sets
from octavo.sequence.hmm_mixtures.baum_welch import expect_own
from octavo.sequence.hmm_mixtures.mixture import expect, maximize
from tests.sequence.models import random_hmm

KINDS = ["diag", "full", "spherical"]
PARTS = ("start", "trans", "weights", "means", "covars")


def sequences(rng, lengths=(6, 3, 8, 1, 5), d=2):
    return [rng.normal(size=(n, d)) for n in lengths]


def one_step(hmms, X, groups=None, noise=0.0):
    data = gather_sets(np.concatenate(X), np.array([len(x) for x in X]), groups)
    mixture = Mixture(np.full(len(hmms), 1 / len(hmms)), pack_hmms(hmms))
    objective, found = expect(mixture, data, noise)
    return objective, found, maximize(mixture, found, noise)


# --- one iteration ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_one_component_is_baum_welch(kind):
    rng = np.random.default_rng(0)
    X, start = sequences(rng), random_hmm(rng, 3, 1, 2, kind)
    objective, _, after = one_step([start], X)
    model = start.to_hmmlearn().set_params(
        init_params="", n_iter=1, covars_prior=0, covars_weight=0, means_weight=0, min_covar=0
    )
    stacked, lengths = np.concatenate(X), [len(x) for x in X]
    np.testing.assert_allclose(objective, model.score(stacked, lengths), rtol=1e-12)
    expected = HMMParams.from_hmmlearn(model.fit(stacked, lengths))
    bank = after.bank
    np.testing.assert_allclose(bank.start[0], expected.startprob, atol=1e-13)
    np.testing.assert_allclose(bank.trans[0], expected.transmat, atol=1e-13)
    np.testing.assert_allclose(bank.means[0], expected.means, atol=1e-12)
    covars = bank.covars[0, ..., 0] if kind == "spherical" else bank.covars[0]
    np.testing.assert_allclose(covars, expected.covars, atol=1e-12)


def test_gaussian_mixture_emissions_are_those_of_hmmlearn():
    rng = np.random.default_rng(1)
    X, start = sequences(rng, (30, 20)), random_hmm(rng, 2, 2, 2, "diag", spread=1.0)
    objective, _, after = one_step([start], X)
    model = start.to_hmmlearn().set_params(
        init_params="", n_iter=1, means_weight=0, covars_prior=-1.5, covars_weight=0, min_covar=0
    )
    assert isinstance(model, GMMHMM)
    stacked, lengths = np.concatenate(X), [30, 20]
    np.testing.assert_allclose(objective, model.score(stacked, lengths), rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stacked, lengths)
    np.testing.assert_allclose(after.bank.weights[0], model.weights_, atol=1e-8)
    np.testing.assert_allclose(after.bank.means[0], model.means_, atol=1e-8)
    np.testing.assert_allclose(after.bank.trans[0], model.transmat_, atol=1e-10)


def test_discrete_sequences_are_baum_welch():
    rng = np.random.default_rng(2)
    X, start = [rng.integers(0, 3, n) for n in (9, 4)], random_hmm(rng, 2, d=3, kind="discrete")
    objective, _, after = one_step([start], X)
    model = CategoricalHMM(2, n_features=3, n_iter=1, init_params="")
    model.startprob_, model.transmat_ = start.startprob, start.transmat
    model.emissionprob_ = start.weights
    stacked = np.concatenate(X)[:, None]
    np.testing.assert_allclose(objective, model.score(stacked, [9, 4]), rtol=1e-12)
    model.fit(stacked, [9, 4])
    np.testing.assert_allclose(after.bank.weights[0], model.emissionprob_, atol=1e-13)


def test_responsibilities_of_groups_multiply_their_sequences():
    rng = np.random.default_rng(3)
    X, hmms = sequences(rng), [random_hmm(rng, 2, spread=0.5) for _ in range(2)]
    groups = np.array(["b", "a", "b", "a", "c"])
    objective, found, _ = one_step(hmms, X, groups)
    each = np.array([[h.to_hmmlearn().score(x) for h in hmms] for x in X])
    joint = np.array([each[groups == g].sum(axis=0) for g in "abc"]) + np.log(0.5)
    np.testing.assert_allclose(found.share, softmax(joint, axis=1), atol=1e-10)
    np.testing.assert_allclose(objective, logsumexp(joint, axis=1).sum(), rtol=1e-12)


def test_parts_of_the_data_add_up(monkeypatch):
    rng = np.random.default_rng(4)
    X, hmms = sequences(rng), [random_hmm(rng, 2, 2) for _ in range(2)]
    groups = [1, 0, 1, 2, 2]
    whole = one_step(hmms, X, groups)
    monkeypatch.setattr(
        "octavo.sequence.hmm.sequence_sets.chunks_of_sequences",
        lambda rows, counts, width: [(None, counts[i : i + 1]) for i in range(counts.size)],
    )
    data = gather_sets(np.concatenate(X), np.array([len(x) for x in X]), groups)
    assert len(list(parts_of_sets(data, 1))) == 3
    parts = one_step(hmms, X, groups)
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-13)
    for name in PARTS:
        np.testing.assert_allclose(
            getattr(parts[2].bank, name), getattr(whole[2].bank, name), atol=1e-12
        )


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(KINDS),
    st.sampled_from([0.0, 0.05]),
    st.booleans(),
)
def test_the_likelihood_never_falls_with_or_without_noise(seed, kind, noise, grouped):
    rng = np.random.default_rng(seed)
    X = sequences(rng, (9, 7, 12, 5, 8, 10))
    data = gather_sets(
        np.concatenate(X), np.array([len(x) for x in X]), [0, 0, 1, 1, 2, 3] if grouped else None
    )
    mixture = Mixture(
        np.array([0.4, 0.6]), pack_hmms([random_hmm(rng, 2, 2, 2, kind, 0.5) for _ in range(2)])
    )
    value, found = expect(mixture, data, noise)
    for _ in range(4):
        try:
            mixture = maximize(mixture, found, noise)
        except SingularCovarianceError:  # a Gaussian on one point: only noise keeps it wide
            assert noise == 0.0
            break
        after, found = expect(mixture, data, noise)
        assert after >= value - 1e-10 * abs(value)
        value = after


def test_noise_is_an_expectation_over_blurred_observations():
    """The objective with noise v is E log p(y + e), e ~ N(0, v), for a model of one state."""
    rng = np.random.default_rng(5)
    X, hmm = sequences(rng), random_hmm(rng, 1, 1, 2)
    objective, _, after = one_step([hmm], X, noise=0.3)
    plain = hmm.score(X)
    rows = sum(len(x) for x in X)
    np.testing.assert_allclose(objective, plain - 0.5 * 0.3 * rows * (1 / hmm.covars).sum())
    np.testing.assert_allclose(after.bank.covars[0, 0, 0], np.concatenate(X).var(axis=0) + 0.3)


# --- many models at once ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "discrete"])
@pytest.mark.parametrize("M", [1, 2])
def test_models_fitted_together_are_those_fitted_alone(kind, M):
    rng = np.random.default_rng(6)
    d = 3 if kind == "discrete" else 2
    X = (
        [rng.integers(0, 3, n) for n in (6, 3, 8, 4)]
        if kind == "discrete"
        else sequences(rng, (6, 3, 8, 4))
    )
    groups = [0, 1, 1, 2]
    hmms = [random_hmm(rng, 2, M, d, kind, 0.5) for _ in range(3)]
    data = gather_sets(np.concatenate(X), np.array([len(x) for x in X]), groups)
    bank = pack_hmms(hmms)
    noise = 0.0 if kind == "discrete" else 0.1
    logliks, statistics = expect_own(bank, data, noise)
    together = updated_bank(bank, statistics, noise=noise)
    for g, hmm in enumerate(hmms):
        own = [x for x, name in zip(X, groups) if name == g]
        objective, _, alone = one_step([hmm], own, [0] * len(own), noise)
        np.testing.assert_allclose(logliks[g], objective, rtol=1e-12)
        for name in PARTS[: 3 if kind == "discrete" else 5]:
            np.testing.assert_allclose(
                getattr(together, name)[g], getattr(alone.bank, name)[0], atol=1e-11, err_msg=name
            )


def test_fit_hmms_gives_every_sequence_a_model_that_explains_it():
    X, y = make_hmm_sequences("variances", n_per_class=3, random_state=0)
    hmms = fit_hmms(X, n_states=2, random_state=0)
    scores = np.array([h.score_samples(X) for h in hmms])
    assert np.all(np.diag(scores) >= scores.max(axis=0) - 1e-6)
    stacked = fit_hmms(np.concatenate(X), [100] * 12, n_states=2, random_state=0)
    np.testing.assert_array_equal(stacked[5].means, hmms[5].means)
    assert len(fit_hmms(X, groups=y, n_states=2, random_state=0, n_init=1)) == 4
    still = fit_hmms(X, n_states=2, random_state=0, stationary_start=True)[5]
    np.testing.assert_allclose(still.startprob @ still.transmat, still.startprob, atol=1e-9)
    np.testing.assert_array_equal(still.transmat, hmms[5].transmat)
    words = [np.arange(6) % 3, np.arange(5) % 2]
    assert fit_hmms(words, n_states=2, emissions="discrete", n_init=1)[1].weights.shape == (2, 3)


# --- the estimator ------------------------------------------------------------------------------


def test_mixture_finds_groups_far_apart_and_restarts_help():
    rng = np.random.default_rng(7)
    hmms = [random_hmm(rng, 2, spread=5.0) for _ in range(3)]
    X = [x for h in hmms for x in h.sample(6, 20, random_state=rng.integers(100))]
    y = np.repeat(np.arange(3), 6)
    model = HMMMixture(3, 2, n_init=5, random_state=0).fit(X)
    assert rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X), model.responsibilities_, atol=1e-6)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9 * abs(model.lower_bound_))
    one = HMMMixture(3, 2, n_init=1, random_state=0).fit(X)
    assert model.lower_bound_ >= one.lower_bound_
    stacked = HMMMixture(3, 2, n_init=5, random_state=0).fit(np.concatenate(X), [20] * 18)
    assert stacked.lower_bound_ == model.lower_bound_


def test_scores_and_criteria_are_their_formulas():
    X, _ = make_hmm_sequences("means", n_per_class=3, random_state=0)
    model = HMMMixture(2, 2, n_init=1, reg_covar=0, random_state=0, tol=1e-3).fit(X)
    each = np.array([h.score_samples(X) for h in model.cluster_hmms_])
    loglik = logsumexp(np.log(model.weights_)[:, None] + each, axis=0)
    np.testing.assert_allclose(model.score_samples(X), loglik, rtol=1e-12)
    np.testing.assert_allclose(model.score(X), loglik.mean())
    np.testing.assert_allclose(model.lower_bound_, loglik.sum(), rtol=1e-12)
    parameters = 1 + 2 * (1 + 2 + 2 * 2)
    np.testing.assert_allclose(model.bic(X), -2 * loglik.sum() + parameters * np.log(12))
    np.testing.assert_allclose(model.aic(X), -2 * loglik.sum() + 2 * parameters)


def test_groups_get_one_label_each():
    X, y = make_hmm_sequences("means", n_per_class=4, random_state=0)
    groups = np.array([f"{c}{i % 2}" for c in "abcd" for i in range(4)])
    model = HMMMixture(2, 2, n_init=1, random_state=0, tol=1e-3).fit(X, groups=groups)
    assert model.labels_.shape == (8,)
    np.testing.assert_array_equal(model.groups_, np.unique(groups))
    np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)


def test_discrete_mixture():
    rng = np.random.default_rng(8)
    stay = HMMParams([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], [[0.99, 0.01], [0.01, 0.99]])
    swap = HMMParams([0.5, 0.5], [[0.05, 0.95], [0.95, 0.05]], [[0.99, 0.01], [0.01, 0.99]])
    X = [x for h in (stay, swap) for x in h.sample(5, 40, random_state=rng.integers(100))]
    model = HMMMixture(2, 2, n_init=5, random_state=0, emissions="discrete").fit(X)
    assert rand_score([0] * 5 + [1] * 5, model.labels_) == 1.0


def test_bad_input_of_mixtures():
    X = sequences(np.random.default_rng(9))
    with pytest.raises(ValueError, match="n_components=6 is more than the 5 sequences"):
        HMMMixture(6).fit(X)
    with pytest.raises(ValueError, match="n_components=3 is more than the 2 groups"):
        HMMMixture(3).fit(X, groups=[0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match=r"groups must have one entry a sequence \(5\)"):
        HMMMixture(1).fit(X, groups=[0, 1])
    X[2][4, 1] = np.inf
    with pytest.raises(ValueError, match="NaN or infinite at sequence 2, position 4"):
        HMMMixture(1).fit(X)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        HMMMixture(1, max_iter=1, n_init=1, tol=1e-12).fit(sequences(np.random.default_rng(9)))
    with pytest.raises(ValueError, match=r"became singular.*raise reg_covar"):
        HMMMixture(1, 2, reg_covar=0, n_init=2).fit([np.zeros((4, 1)), np.zeros((3, 1))])
    fine = HMMMixture(1, 2, n_init=1).fit([np.zeros((4, 1))])
    np.testing.assert_allclose(fine.cluster_hmms_[0].covars, fine.reg_covar)


# --- shards -------------------------------------------------------------------------------------


def test_shards_are_reduced_to_what_the_data_came_from():
    rng = np.random.default_rng(10)
    hmms = [random_hmm(rng, 2, spread=5.0) for _ in range(2)]
    X = [x for h in hmms for x in h.sample(12, 15, random_state=rng.integers(100))]
    y = np.repeat([0, 1], 12)
    model = HierarchicalHMMMixture(3, n_components=2, n_states=2, random_state=0).fit(X)
    assert model.n_shards_ == 8 == len(model.base_hmms_)
    np.testing.assert_array_equal(model.base_masses_, 3)
    assert rand_score(y, model.predict(X)) == 1.0
    direct = HMMMixture(2, 2, random_state=0).fit(X)
    assert model.score(X) > direct.score(X) - 1.0  # a nat of thirty positions of two numbers
    mixed = HierarchicalHMMMixture(6, 2, 2, 2, random_state=0).fit(X[::2] + X[1::2])
    assert len(mixed.base_hmms_) == 8
    np.testing.assert_allclose(mixed.base_masses_.sum(), 24)
    assert rand_score(np.concatenate([y[::2], y[1::2]]), mixed.predict(X[::2] + X[1::2])) == 1.0


def test_new_data_add_shards_and_keep_the_old_ones():
    rng = np.random.default_rng(11)
    hmms = [random_hmm(rng, 2, spread=5.0) for _ in range(2)]
    X = [x for h in hmms for x in h.sample(6, 15, random_state=rng.integers(100))]
    model = HierarchicalHMMMixture(3, n_components=2, n_states=2, random_state=0)
    model.partial_fit(X[:6])
    before = model.base_hmms_
    model.partial_fit(X[6:])
    assert model.n_shards_ == 4
    assert model.base_hmms_[:2] == before
    assert rand_score([0] * 6 + [1] * 6, model.predict(X)) == 1.0
    model.fit(X[:6])
    assert model.n_shards_ == 2
    with pytest.raises(ValueError, match="X has 1 features, the HMMs have 2"):
        model.partial_fit([np.zeros((5, 1))])


def test_little_bootstrap_draws_overlapping_shards():
    X, _ = make_hmm_sequences("variances", n_per_class=5, random_state=0)
    model = HierarchicalHMMMixture(
        4, n_components=2, n_bootstraps=7, n_init=1, random_state=0, tol=1e-3
    ).fit(X)
    assert model.n_shards_ == 7
    np.testing.assert_array_equal(model.base_masses_, 4)
    with pytest.raises(ValueError, match="n_components=9 is more than the 2 HMMs"):
        HierarchicalHMMMixture(10, n_components=9, n_init=1).fit(X)


# --- classes and tags ---------------------------------------------------------------------------


def labelled(rng, n=8, spread=2.0):
    hmms = [random_hmm(rng, 2, spread=spread) for _ in range(3)]
    X = [x for h in hmms for x in h.sample(n, 12, random_state=rng.integers(100))]
    return X, np.repeat(["a", "b", "c"], n)


@pytest.mark.parametrize("estimator", ["vhem", "em", "shem", "ppk", "ppk_hybrid"])
def test_every_way_of_learning_tells_the_classes_apart(estimator):
    """Classes ten standard deviations apart: whoever learns at all makes no mistake."""
    X, y = labelled(np.random.default_rng(12), spread=10.0)
    model = HMMMixtureClassifier(2, estimator, n_states=2, n_init=2, random_state=0).fit(X, y)
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.score(X, y) == 1.0
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert all(len(hmms) == 2 for hmms in model.class_hmms_)


def test_probabilities_are_bayes_rule_on_the_likelihoods():
    X, y = labelled(np.random.default_rng(13))
    priors = [0.2, 0.3, 0.5]
    model = HMMMixtureClassifier(
        1, "em", n_states=2, n_init=1, priors=priors, length_normalized=False, random_state=0
    ).fit(X, y)
    loglik = np.array([model.class_hmms_[c][0].score_samples(X) for c in range(3)]).T
    np.testing.assert_allclose(model.decision_function(X), loglik, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), softmax(loglik + np.log(priors), axis=1))
    model.set_params(length_normalized=True)
    np.testing.assert_allclose(model.decision_function(X), loglik / 12)
    groups = np.repeat(np.arange(8), 3)
    mean = (loglik / 12).reshape(8, 3, 3).mean(axis=1)
    np.testing.assert_allclose(model.decision_function(X, groups=groups), mean)
    empirical = HMMMixtureClassifier(1, "em", n_init=1, priors="empirical").fit(X[4:], y[4:])
    np.testing.assert_allclose(empirical.class_prior_, [0.2, 0.4, 0.4])


def test_tags_are_annotated_and_ranked():
    X, y = labelled(np.random.default_rng(14))
    tags = np.stack([y == "a", y == "b", y != "c"], axis=1).astype(int)
    model = HMMMixtureClassifier(1, n_states=2, n_init=2, random_state=0).fit(X, tags)
    assert model.multilabel_
    assert len(model.base_hmms_) == 9  # three shards of each kind, shared by the tags
    given_tags = model.predict(X, n_tags=2)
    np.testing.assert_array_equal(given_tags.sum(axis=1), 2)
    top = model.annotate(X, n_tags=2)
    np.testing.assert_array_equal(np.sort(top, axis=1), [np.flatnonzero(row) for row in given_tags])
    order = model.rank(X, 0)
    assert set(order[:8]) == set(range(8))
    np.testing.assert_array_equal(order, np.argsort(-model.predict_proba(X)[:, 0], kind="stable"))


def test_groups_are_the_units_that_labels_belong_to():
    X, y = labelled(np.random.default_rng(15))
    groups = np.repeat(np.arange(12), 2)
    model = HMMMixtureClassifier(1, n_states=2, n_init=1, random_state=0)
    model.fit(X, y[::2], groups=groups)
    assert len(model.base_hmms_) == 12
    assert (model.predict(X, groups=groups) == y[::2]).all()


def test_symbols_are_classified_too():
    stay = HMMParams([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], [[0.99, 0.01], [0.01, 0.99]])
    swap = HMMParams([0.5, 0.5], [[0.05, 0.95], [0.95, 0.05]], [[0.99, 0.01], [0.01, 0.99]])
    X = stay.sample(6, 40, random_state=0) + swap.sample(6, 40, random_state=1)
    y = [0] * 6 + [1] * 6
    for estimator in ("vhem", "em", "shem", "ppk"):
        model = HMMMixtureClassifier(
            1, estimator, n_states=2, n_init=3, base_n_init=3, emissions="discrete", random_state=0
        ).fit(X, y)
        assert model.score(X, y) == 1.0, estimator
    shards = HierarchicalHMMMixture(
        2, n_components=2, n_states=2, base_n_init=3, emissions="discrete", random_state=0
    ).fit(X)
    assert rand_score(y, shards.predict(X)) == 1.0


def test_bad_labels():
    X, y = labelled(np.random.default_rng(16), 2)
    model = HMMMixtureClassifier(1, n_init=1)
    with pytest.raises(ValueError, match="y must have one entry or row for each of 6"):
        model.fit(X, y[:3])
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, np.zeros(6))
    with pytest.raises(ValueError, match="0 and 1 only"):
        model.fit(X, np.full((6, 2), 2))
    with pytest.raises(ValueError, match="No sequence has tag 1"):
        model.fit(X, np.eye(2, dtype=int)[np.zeros(6, dtype=int)])
    with pytest.raises(ValueError, match="priors must be 3 numbers"):
        HMMMixtureClassifier(1, priors=[1.0]).fit(X, y)
    with pytest.raises(ValueError, match="tag must be one of"):
        model.fit(X, y).rank(X, "z")


@pytest.mark.parametrize("unit", [1.0, 1e-5])
def test_noise_that_hides_the_observations_is_told(unit):
    slow, quick = (
        HMMParams([0.5, 0.5], trans, [[1], [1]], [[[0.0]], [[4.0]]], [[[1.0]], [[1.0]]])
        for trans in ([[0.9, 0.1], [0.1, 0.9]], [[0.2, 0.8], [0.8, 0.2]])
    )
    X = [unit * x for x in slow.sample(3, 20, 0) + quick.sample(3, 20, 1)]
    hmms = fit_hmms(X, n_states=2, n_init=1, random_state=0)  # its noise is a share
    y, rules = [0, 0, 0, 1, 1, 1], {"n_states": 2, "n_init": 1, "random_state": 0}
    fits = [
        lambda: HMMMixture(2, **rules).fit(X),
        lambda: HMMMixtureClassifier(1, **rules).fit(X, y),
        lambda: HierarchicalHMMMixture(3, **rules).fit(X),
        lambda: HMMClustering(2, **rules).fit(hmms),
        lambda: SampledHMMClustering(2, **rules).fit(hmms),
    ]
    for fit in fits:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit()
        told = ["exceeds the largest variance" in str(one.message) for one in caught]
        assert sum(told) == (unit < 1.0)
