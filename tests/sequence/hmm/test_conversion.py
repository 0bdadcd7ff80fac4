"""One HMM type: whatever form a model has, every method takes it and answers alike."""

import copy
import pickle

import numpy as np
import pytest
from hmmlearn import hmm as hmmlearn_models
from hmmlearn.vhmm import VariationalCategoricalHMM, VariationalGaussianHMM
from scipy import sparse, stats
from sklearn.exceptions import NotFittedError

from octavo.data import make_hmm_sequences
from octavo.sequence import (
    CountHMM,
    HierarchicalHMMClustering,
    HierarchicalHMMMixture,
    HMMClustering,
    HMMMixture,
    HMMParams,
    HybridDecoder,
    HybridDecoderCV,
    PPKSpectralClustering,
    SampledHMMClustering,
    as_hmm,
    asymptotic_risks,
    clustering_loglik,
    decode,
    decode_path_family,
    hmm_distance_matrix,
    hmm_expected_loglik,
    hmm_kl,
    hmm_posteriors,
    hmm_ppk,
    path_risks,
    simulate_hmm,
    transformed_variables,
)
from tests.sequence.models import random_hmm

KINDS = [("spherical", 1), ("diag", 1), ("full", 1), ("diag", 3), ("full", 2), ("discrete", 1)]
LENGTHS = [40, 1, 25]
METHODS = [
    {"method": "viterbi"},
    {"method": "pmap"},
    {"method": "pvd"},
    {"method": "constrained-pmap"},
    {"method": "hybrid-pvd", "alpha": 0.3},
    {"method": "hybrid-pmap", "alpha": 0.3},
    {"method": "k-block", "k": 3},
    {"method": "power", "mu": 2.0},
]


def model_and_data(kind, M, seed=0):
    """An HMM and sequences that neither fit it well nor badly."""
    rng = np.random.default_rng(seed)
    hmm = random_hmm(rng, 3, M, 4 if kind == "discrete" else 2, kind, spread=1.0)
    X, _ = simulate_hmm(hmm, LENGTHS, rng=seed)
    return hmm, X


def counted(hmm):
    """A CountHMM with the parameters of an HMM of symbols."""
    model = CountHMM(hmm.n_mix)
    model.startprob_, model.transmat_ = hmm.startprob, hmm.transmat
    model.emissionprob_ = hmm.weights
    return model


# --- decoding -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "M"), KINDS)
def test_hmm_params_decode_as_the_hmmlearn_model(kind, M):
    hmm, X = model_and_data(kind, M)
    theirs = hmm.to_hmmlearn()
    table = X.reshape(len(X), -1)
    viterbi = theirs.decode(table, LENGTHS, algorithm="viterbi")[1]
    np.testing.assert_array_equal(HybridDecoder(hmm, "viterbi").predict(X, LENGTHS), viterbi)
    gamma = HybridDecoder(hmm).predict_proba(X, LENGTHS)
    np.testing.assert_allclose(gamma, theirs.predict_proba(table, LENGTHS), atol=1e-10)
    np.testing.assert_allclose(hmm.score(X, LENGTHS), theirs.score(table, LENGTHS), rtol=1e-10)
    for choice in METHODS:
        ours, other = HybridDecoder(hmm, **choice), HybridDecoder(theirs, **choice)
        np.testing.assert_array_equal(ours.predict(X, LENGTHS), other.predict(X, LENGTHS))
    search = [
        HybridDecoderCV(model, cv=3).fit(X, viterbi, LENGTHS).cv_results_["split_test_score"]
        for model in (hmm, theirs)
    ]
    np.testing.assert_array_equal(*search)
    risks = [asymptotic_risks(model, "pmap", 30, 4, rng=0) for model in (hmm, theirs)]
    assert risks[0] == pytest.approx(risks[1], nan_ok=True)


@pytest.mark.parametrize(("kind", "M"), KINDS)
def test_functions_take_the_logarithms_of_any_model(kind, M):
    hmm, X = model_and_data(kind, M)
    listed = np.split(X, np.cumsum(LENGTHS)[:-1])
    for model in (hmm, hmm.to_hmmlearn()):
        logs = as_hmm(model).logs(X, LENGTHS)
        for choice in METHODS:
            wanted = HybridDecoder(hmm, **choice).predict(X, LENGTHS)
            found = decode(*logs, **choice, lengths=LENGTHS)
            np.testing.assert_array_equal(found, wanted)
            parts = decode(*as_hmm(model).logs(listed), **choice)
            np.testing.assert_array_equal(np.concatenate(parts), wanted)
        posteriors = hmm_posteriors(*logs, lengths=LENGTHS)
        np.testing.assert_allclose(
            posteriors.gamma, HybridDecoder(hmm).predict_proba(X, LENGTHS), atol=1e-12
        )
        np.testing.assert_allclose(posteriors.loglik, hmm.score_samples(X, LENGTHS))
        path = HybridDecoder(hmm).predict(X, LENGTHS)
        risks = path_risks(posteriors, logs, path, lengths=LENGTHS)
        assert risks == pytest.approx(HybridDecoder(hmm).score_path(X, path, LENGTHS), nan_ok=True)
        family = decode_path_family(*logs, [0.1, 0.9], lengths=LENGTHS)
        np.testing.assert_array_equal(
            family, HybridDecoder(hmm).decode_family(X, [0.1, 0.9], LENGTHS)
        )
        found = transformed_variables(*logs, 1.0, lengths=LENGTHS)
        product = np.exp(found.forward + found.backward)
        np.testing.assert_allclose(
            product / product.sum(axis=1, keepdims=True), posteriors.gamma, atol=1e-10
        )


@pytest.mark.parametrize(("kind", "M"), [pair for pair in KINDS if pair[0] != "discrete"])
def test_densities_are_scipys(kind, M):
    hmm, X = model_and_data(kind, M)
    d = X.shape[1]
    wanted = np.empty((len(X), 3))
    for s in range(3):
        parts = []
        for m in range(M):
            covar = hmm.covars[s, m]
            matrix = covar if kind == "full" else np.eye(d) * covar
            parts.append(
                hmm.weights[s, m] * stats.multivariate_normal(hmm.means[s, m], matrix).pdf(X)
            )
        wanted[:, s] = np.log(np.sum(parts, axis=0))
    np.testing.assert_allclose(hmm.log_emission(X), wanted, rtol=1e-10, atol=1e-10)


def every_hmmlearn_model():
    """Return (name, fitted model, data) of everything that hmmlearn can fit."""
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(80, 2)) + 4 * rng.integers(0, 2, (80, 1))
    symbols, counts = rng.integers(0, 4, (80, 1)), rng.poisson(3.0, (80, 2))
    votes = rng.multinomial(5, [0.2, 0.3, 0.5], 80)
    for kind in ("spherical", "diag", "full", "tied"):
        yield f"Gaussian {kind}", hmmlearn_models.GaussianHMM(2, kind), numbers
        yield f"GMM {kind}", hmmlearn_models.GMMHMM(2, 2, covariance_type=kind), numbers
        yield f"variational Gaussian {kind}", VariationalGaussianHMM(2, kind), numbers
    yield "categorical", hmmlearn_models.CategoricalHMM(2), symbols
    yield "variational categorical", VariationalCategoricalHMM(2), symbols
    yield "Poisson", hmmlearn_models.PoissonHMM(2), counts
    yield "multinomial", hmmlearn_models.MultinomialHMM(2, n_trials=5), votes


@pytest.mark.parametrize(("name", "model", "X"), list(every_hmmlearn_model()))
def test_every_hmmlearn_model_goes_in_and_out(name, model, X):
    model = model.set_params(n_iter=4, random_state=0).fit(X, [50, 30])
    hmm = as_hmm(model)
    assert isinstance(hmm, HMMParams)
    np.testing.assert_allclose(hmm.score(X, [50, 30]), model.score(X, [50, 30]), rtol=1e-9)
    path = HybridDecoder(model, "viterbi").predict(X[:50])
    joint = -50 * HybridDecoder(model).score_path(X[:50], path)["Rinf_bar_joint"]
    np.testing.assert_allclose(joint, model.decode(X[:50])[0], rtol=1e-9)  # paths may tie
    np.testing.assert_allclose(
        HybridDecoder(model).predict_proba(X, [50, 30]),
        model.predict_proba(X, [50, 30]),
        atol=1e-9,
    )
    back = hmm.to_hmmlearn()
    np.testing.assert_allclose(back.score(X, [50, 30]), model.score(X, [50, 30]), rtol=1e-9)
    drawn, states = simulate_hmm(model, [6, 4], rng=0)
    assert drawn.reshape(10, -1).shape == (10, X.shape[1])
    assert states.shape == (10,)
    assert len(hmm.sample(3, 5, random_state=0)) == 3


def test_other_emissions_decode_and_say_why_they_do_not_cluster():
    X = np.random.default_rng(2).poisson(3.0, (20, 1))
    model = hmmlearn_models.PoissonHMM(2, random_state=0).fit(X)
    HybridDecoder(model).predict(X)
    good = random_hmm(np.random.default_rng(0))
    with pytest.raises(
        TypeError, match=r"HMM 1 must have Gaussian mixture or discrete emissions.*got PoissonHMM"
    ):
        HMMClustering(1).fit([good, model])
    normal = ([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [stats.norm(0, 1), stats.norm(4, 1)])
    with pytest.raises(TypeError, match=r"q: HMM 0 must have Gaussian.*got a list"):
        hmm_kl(good, normal)
    with pytest.raises(TypeError, match=r"cannot be a model of hmmlearn"):
        as_hmm(normal).to_hmmlearn()


# --- what is learnt -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixture():
    X, _ = make_hmm_sequences("means", n_per_class=6, length=60, random_state=0)
    return HMMMixture(3, n_states=3, n_init=2, tol=1e-3, random_state=0).fit(X), X


def test_a_learnt_component_decodes(mixture):
    model, X = mixture
    for hmm in model.cluster_hmms_:
        theirs = hmm.to_hmmlearn()
        for x in X[::6]:
            decoded = HybridDecoder(hmm, "viterbi").predict(x)
            np.testing.assert_array_equal(decoded, theirs.predict(x))
            np.testing.assert_allclose(
                HybridDecoder(hmm).predict_proba(x), theirs.predict_proba(x), atol=1e-9
            )


def test_learnt_centres_decode(mixture):
    X = mixture[1]
    hmms = mixture[0].cluster_hmms_
    for model in (
        HMMClustering(2, n_init=1, random_state=0),
        SampledHMMClustering(2, n_init=1, tol=1e-2, random_state=0),
        PPKSpectralClustering(2, random_state=0),
    ):
        centre = model.fit(hmms).cluster_hmms_[0]
        np.testing.assert_array_equal(
            HybridDecoder(centre, "viterbi").predict(X[0]), centre.to_hmmlearn().predict(X[0])
        )
    tree = HierarchicalHMMClustering((2, 1), n_init=1, random_state=0).fit(hmms)
    top = tree.levels_[-1].cluster_hmms[0]
    np.testing.assert_array_equal(
        HybridDecoder(top, "viterbi").predict(X[0]), top.to_hmmlearn().predict(X[0])
    )


def test_a_whole_mixture_is_an_hmm_whose_components_never_meet(mixture):
    model, X = mixture
    hmm = as_hmm(model)
    assert hmm.n_states == 9
    np.testing.assert_allclose(hmm.score_samples(X), model.score_samples(X), rtol=1e-10)
    component = np.repeat(np.arange(3), 3)
    decoder, sure = HybridDecoder(model, labels=component), 0
    for x, chance in zip(X, model.predict_proba(X)):
        np.testing.assert_allclose(
            decoder.predict_proba(x), np.tile(chance, (len(x), 1)), atol=1e-9
        )
        if chance.max() > 0.99:
            assert set(decoder.predict(x)) == {chance.argmax()}
            sure += 1
    assert sure > len(X) / 2
    shards = HierarchicalHMMMixture(6, n_components=2, n_init=1, tol=1e-2, random_state=0).fit(X)
    np.testing.assert_allclose(as_hmm(shards).score_samples(X), shards.score_samples(X))


def test_mixtures_of_symbols_and_of_different_sizes_join():
    rng = np.random.default_rng(4)
    model = HMMMixture(2, n_states=2, emissions="discrete", n_init=1, tol=1e-2, random_state=0)
    X = [rng.integers(0, 3, 12) for _ in range(6)]
    model.fit(X)
    np.testing.assert_allclose(as_hmm(model).score_samples(X), model.score_samples(X))
    hmms = [random_hmm(rng, 2, 1), random_hmm(rng, 1, 3)]
    medoids = PPKSpectralClustering(2, random_state=0).fit(hmms)
    joined = as_hmm(medoids)
    assert joined.weights.shape == (3, 3)
    x = rng.normal(size=(5, 2))
    wanted = np.logaddexp(*(np.log(0.5) + h.score(x) for h in medoids.cluster_hmms_))
    np.testing.assert_allclose(joined.score(x), wanted)
    with pytest.raises(NotFittedError, match="HMMMixture instance is not fitted"):
        as_hmm(HMMMixture())


# --- clustering ---------------------------------------------------------------------------------


def test_every_form_of_a_model_clusters_alike():
    rng = np.random.default_rng(5)
    symbols = [random_hmm(rng, 2, d=3, kind="discrete") for _ in range(5)]
    normals = [random_hmm(rng, 2, 2, kind="full") for _ in range(5)]
    forms = [
        (symbols, [counted(h) for h in symbols]),
        (symbols, [h.to_hmmlearn() for h in symbols]),
        (symbols, [(h.startprob, sparse.csr_array(h.transmat), h.weights) for h in symbols]),
        (normals, [h.to_hmmlearn() for h in normals]),
    ]
    estimators = [
        HMMClustering(2, n_init=1, random_state=0),
        HierarchicalHMMClustering((3, 2), n_init=1, random_state=0),
        SampledHMMClustering(2, n_init=1, tol=1e-2, random_state=0),
        PPKSpectralClustering(2, random_state=0),
    ]
    for ours, theirs in forms:
        for estimator in estimators:
            wanted = estimator.fit(ours).labels_
            np.testing.assert_array_equal(estimator.fit(theirs).labels_, wanted)
            np.testing.assert_array_equal(estimator.predict(theirs), estimator.predict(ours))
        same = {"rtol": 1e-12, "atol": 1e-12}
        for function in (hmm_ppk, hmm_distance_matrix):
            np.testing.assert_allclose(function(theirs), function(ours), **same)
        for function in (hmm_kl, hmm_expected_loglik):
            found = function(theirs[0], ours[1])
            np.testing.assert_allclose(found, function(ours[0], theirs[1]), **same)
        labels = np.zeros(5, dtype=int)
        np.testing.assert_allclose(
            clustering_loglik(theirs, labels, theirs[:1]),
            clustering_loglik(ours, labels, ours[:1]),
            **same,
        )


# --- the converter ------------------------------------------------------------------------------


def test_models_of_symbols_in_every_form_are_the_same_hmm():
    hmm = random_hmm(np.random.default_rng(6), 2, d=3, kind="discrete")
    assert as_hmm(hmm) is hmm
    forms = [counted(hmm), hmm.to_hmmlearn(), (hmm.startprob, hmm.transmat, hmm.weights)]
    assert all(as_hmm(model) == hmm for model in forms)
    X, states = simulate_hmm(hmm, [30, 20], rng=1)
    for model in forms:
        again = simulate_hmm(model, [30, 20], rng=1)
        np.testing.assert_array_equal(again[0], X)
        np.testing.assert_array_equal(again[1], states)
    learnt = CountHMM(3, pseudocount=1).fit(X, states, [30, 20])
    assert as_hmm(learnt).score(X, [30, 20]) == pytest.approx(2 * learnt.score(X, lengths=[30, 20]))


def test_simulated_observations_follow_the_states():
    """Mean and covariance of what each state emits, at five standard errors."""
    for kind in ("spherical", "diag", "full"):
        hmm = random_hmm(np.random.default_rng(7), 2, 2, 2, kind)
        X, states = simulate_hmm(hmm, 40_000, rng=0)
        for s in (0, 1):
            mine = X[states == s]
            mean = hmm.weights[s] @ hmm.means[s]
            full = hmm.covars[s] if kind == "full" else None
            if kind == "diag":
                full = np.eye(2) * hmm.covars[s][:, None]
            elif kind == "spherical":
                full = np.eye(2) * hmm.covars[s][:, None, None]
            gap = hmm.means[s] - mean
            cov = np.einsum("m,mde->de", hmm.weights[s], full + gap[:, :, None] * gap[:, None])
            error = np.sqrt(np.diag(cov) / len(mine))
            assert np.all(np.abs(mine.mean(axis=0) - mean) < 5 * error), kind
            products = (mine - mean)[:, :, None] * (mine - mean)[:, None]
            error = products.std(axis=0) / np.sqrt(len(mine))
            assert np.all(np.abs(products.mean(axis=0) - cov) < 5 * error), kind


def test_sparse_varying_and_other_emissions_are_plain_data_too():
    start, trans = [0.5, 0.5], np.array([[0.9, 0.1], [0.2, 0.8]])
    normals = [stats.norm(0, 1), stats.norm(4, 1)]
    x = np.random.default_rng(8).normal(size=6)
    wanted = as_hmm((start, trans, normals)).score(x)
    by_hand = HMMParams(start, trans, [[1], [1]], [[[0]], [[4]]], [[[1]], [[1]]])
    np.testing.assert_allclose(by_hand.score(x), wanted)
    for model in (
        HMMParams(start, sparse.csr_array(trans), emission=normals),
        HMMParams(start, np.broadcast_to(trans, (5, 2, 2)), emission=normals),
        HMMParams(start, trans, emission=lambda rows: -0.5 * (rows[:, None] - [0, 4]) ** 2),
    ):
        constant = 0.0 if not callable(model.emission) else 6 * 0.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(model.score(x), wanted + constant)
        assert model == copy.copy(model)
        assert model != by_hand
    spread = HMMParams(start, sparse.csr_array(trans), [[0.3, 0.7], [0.6, 0.4]])
    assert pickle.loads(pickle.dumps(spread)) == spread
    assert repr(spread) == "HMMParams(n_states=2, n_symbols=2)"
    listed = HMMParams(start, trans, emission=normals)
    assert repr(listed) == "HMMParams(n_states=2, emission=a list of 2 distributions)"


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: as_hmm("hmm"), TypeError, r"model must be an HMMParams.*, got str\."),
        (lambda: as_hmm(np.zeros(3)), TypeError, r"model must be an HMMParams.*, got ndarray\."),
        (lambda: as_hmm(([1], [[1]])), ValueError, r"\(startprob, transmat, emission\), got 2"),
        (lambda: as_hmm(CountHMM(2)), NotFittedError, "CountHMM instance is not fitted"),
        (
            lambda: as_hmm(hmmlearn_models.GaussianHMM(2)),
            NotFittedError,
            "GaussianHMM is not fitted",
        ),
        (
            lambda: HybridDecoder(HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[0.0]]])).predict(
                [0.0]
            ),
            ValueError,
            r"covariance of state 0, Gaussian 0 is singular",
        ),
        (
            lambda: HybridDecoder(HMMParams([1], [[1]], [[0.5]], [[[0]]], [[[1]]])).predict([0.0]),
            ValueError,
            r"weights row 0: .*they add up to 0\.5",
        ),
        (
            lambda: HybridDecoder(HMMParams([1], [[1]], [[1]], [[0]], [[[1]]])).predict([0.0]),
            ValueError,
            r"means must have shape \(1, 1, d\), got \(1, 1\)",
        ),
        (
            lambda: HybridDecoder(HMMParams([1], [[1]], [[1]], [[[0]]], [[[1]]])).predict(
                np.zeros((3, 2))
            ),
            ValueError,
            r"X has 2 features.*1",
        ),
        (
            lambda: HybridDecoder(HMMParams([1], [[1]], [[1]], [[[0]]], [[[1]]])).predict(
                [[0.0], [np.nan]]
            ),
            ValueError,
            r"NaN or infinite at sequence 1, position 0",
        ),
        (lambda: HMMParams([1], [[1]]), TypeError, r"weights or an emission, got neither"),
        (
            lambda: HMMParams([1], [[1]], [[1]], emission=len),
            TypeError,
            r"weights or an emission, got both",
        ),
        (
            lambda: HMMParams([0.5, 0.5], np.eye(2), emission=[stats.norm()]).score([0.0]),
            ValueError,
            r"one distribution a state \(2\), got 1",
        ),
    ],
)
def test_errors_say_what_was_expected_and_seen(act, error, words):
    with pytest.raises(error, match=words):
        act()


def test_transitions_that_are_listed_twice_add_up():
    trans = np.array([[0.9, 0.1], [0.4, 0.6]])
    rows, columns = [0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 1]
    parts = sparse.coo_array(([0.5, 0.1, 0.4, 0.4, 0.6, 0.0], (rows, columns)), shape=(2, 2))
    indptr = np.array([0, 3, 6], dtype=np.int64)
    compressed = sparse.csr_array((parts.data, np.array(columns), indptr), shape=(2, 2))
    table, x = [[0.3, 0.7], [0.6, 0.4]], [0, 1, 1, 0, 0]
    whole = HMMParams([0.5, 0.5], trans, table)
    for split in (parts, compressed):
        twice = HMMParams([0.5, 0.5], split, table)
        assert twice.score(x) == pytest.approx(whole.score(x), rel=1e-14)
        np.testing.assert_array_equal(
            HybridDecoder(twice).predict(x), HybridDecoder(whole).predict(x)
        )
