"""Segments that are known, limits in which the mixture is another one, invariances, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from octavo.bayes import (
    HierarchicalLSBP,
    KernelStickBreakingMixture,
    LogisticStickBreakingMixture,
    SuperpixelFeatures,
    kl_similarity,
    rank_similar,
    sample_lsbp_prior,
)
from octavo.bayes.stick_breaking.observations import (
    Block,
    Observations,
    neighbours,
    start_features,
)
from octavo.cluster import classification_accuracy
from octavo.data import make_block_image, make_speaker_series

T = np.arange(60.0)
KIND = ((T >= 15) & (T < 40)).astype(int)
X = 5.0 * KIND[:, None] + np.random.RandomState(0).normal(size=(60, 1))
SMALL = {"n_components": 4, "n_centers": 15, "n_init": 2, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return LogisticStickBreakingMixture(**SMALL).fit(X, T)


def test_shapes_and_consistency(fitted):
    assert fitted.gate_coef_.shape == (3, 16)
    assert fitted.gate_cov_.shape == (3, 16, 16)
    assert fitted.bandwidths_.shape == (3,)
    assert_allclose(fitted.resp_.sum(axis=1), 1.0)
    assert_allclose(fitted.gate_proba(np.linspace(-9, 99, 7)).sum(axis=1), 1.0)
    assert_allclose(fitted.predict_proba(X, T), fitted.resp_, atol=1e-10)
    assert_allclose(fitted.score(X, T), fitted.lower_bound_ / 60, rtol=1e-10)
    assert (np.diff(fitted.lower_bounds_) > -1e-7).all()
    assert adjusted_rand_score(KIND, fitted.labels_) == 1.0
    drawn, labels = fitted.sample(T, random_state=0)
    assert drawn.shape == (60, 1)
    assert np.mean(labels == fitted.labels_) > 0.9
    assert abs(drawn[KIND == 1].mean() - 5.0) < 1.0


def test_gates_are_kernels_around_centres(fitted):
    rows = np.exp(-((T[:, None] - fitted.centers_[:, 0]) ** 2) / fitted.bandwidths_[0])
    g = fitted.gate_coef_[0, 0] + rows @ fitted.gate_coef_[0, 1:]
    assert_allclose(fitted.gate_proba(T)[:, 0], 1 / (1 + np.exp(-g)), rtol=1e-8)


def test_one_component_is_the_conjugate_model():
    model = LogisticStickBreakingMixture(1, n_centers=5).fit(X, T)
    blocks = [Block("gaussian", X)]
    prior = Observations(blocks, neighbours(T[:, None]))
    evidence = prior.evidences(prior.tables(blocks), np.ones((60, 1)))[0] + 60 * prior.log_unit
    assert_allclose(model.lower_bound_, evidence, rtol=1e-12)
    assert model.gate_coef_.shape == (0, 6)
    assert_allclose(model.gate_proba([3.0]), [[1.0]])


def lone_bias(n_yes, n, a0, b0):
    """The mean of a gate's bias by the fixed point of its own scalar bound, with no other weight.

    q(w) = N(m, v) under p(w) = N(0, 1/λ), λ ~ Gamma(a0, b0), and the bound of Jaakkola and Jordan
    (2000) with η² = m² + v for the n rows, n_yes of which stay at the stick.
    """
    m, v = 0.0, 1.0
    for _ in range(10_000):
        eta = np.sqrt(m * m + v)
        precision = (a0 + 0.5) / (b0 + 0.5 * eta**2) + 2 * n * np.tanh(eta / 2) / (4 * eta)
        m, v = (n_yes - n / 2) / precision, 1 / precision
    return m


def test_without_kernels_it_is_a_stick_breaking_mixture():
    """Memberships are those of scikit-learn's mixture where atoms are far apart."""
    wide = X * 2
    model = LogisticStickBreakingMixture(2, n_centers=0, tol=1e-12, random_state=0).fit(wide, T)
    plain = BayesianGaussianMixture(n_components=2, random_state=0, max_iter=500).fit(wide)
    assert adjusted_rand_score(model.labels_, plain.predict(wide)) == 1.0
    n_yes = model.resp_[:, 0].sum()  # points between the two are in part of each
    share = 1 / (1 + np.exp(-lone_bias(n_yes, 60, model.a0, model.b0)))
    assert_allclose(model.gate_proba(T)[:, 0], share, atol=1e-6)


@pytest.mark.parametrize("allocation", ["categorical", "bernoulli"])
@pytest.mark.parametrize("inference", ["map", "sample", "fixed"])
@pytest.mark.parametrize("weight_prior", ["student_t", "spike_slab"])
def test_every_way_finds_plain_segments(allocation, inference, weight_prior):
    model = LogisticStickBreakingMixture(
        **SMALL, allocation=allocation, bandwidth_inference=inference, weight_prior=weight_prior
    ).fit(X, T)
    assert adjusted_rand_score(KIND, model.labels_) > 0.9
    assert_allclose(model.gate_cov_, model.gate_cov_.transpose(0, 2, 1), atol=1e-12)
    if inference != "sample":
        assert (np.diff(model.lower_bounds_) > -1e-6).all()
    else:
        assert (np.diff(model.lower_bounds_[31:]) > -1e-6).all()


def test_moving_turning_and_scaling_places_changes_nothing():
    coords = np.random.RandomState(1).uniform(0, 10, (60, 2))
    Y = 4.0 * (coords[:, :1] > 5) + np.random.RandomState(2).normal(size=(60, 1))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    first = LogisticStickBreakingMixture(**SMALL).fit(Y, coords)
    second = LogisticStickBreakingMixture(**SMALL).fit(Y, 3.0 * coords @ turn + 100.0)
    assert_allclose(second.resp_, first.resp_, atol=1e-6)
    assert_allclose(second.bandwidths_, 9.0 * first.bandwidths_, rtol=1e-8)
    assert_allclose(second.lower_bound_, first.lower_bound_, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e5, 1e-5])
def test_scale_of_the_data_changes_nothing(fitted, scale):
    model = LogisticStickBreakingMixture(**SMALL).fit(scale * X + 7.0 * scale, T)
    assert_allclose(model.resp_, fitted.resp_, atol=1e-5)


def test_bounds_are_of_densities_in_units_of_the_data():
    """In other units every density is divided by the unit: n log 7 off the bound, in each class."""
    few = {"n_centers": 6, "random_state": 0, "max_iter": 10}
    flat = (LogisticStickBreakingMixture(3, **few), KernelStickBreakingMixture(3, **few))
    for model in flat:
        bounds = [model.fit(unit * X, T).lower_bound_ for unit in (1.0, 7.0)]
        assert_allclose(bounds[0] - bounds[1], 60 * np.log(7.0), rtol=1e-6)
        assert_allclose(model.lower_bounds_[-1], model.lower_bound_)
    model = HierarchicalLSBP(3, 3, **few)
    bounds = [model.fit([unit * X, unit * X[:40]], [T, T[:40]]).lower_bound_ for unit in (1.0, 7.0)]
    assert_allclose(bounds[0] - bounds[1], 100 * np.log(7.0), rtol=1e-6)


def test_starts_see_shares_of_counts_standardised_columns_and_indicators():
    counts, codes = np.array([[1.0, 3.0], [0.0, 0.0], [2.0, 6.0]]), np.array([0, 2, 1])
    blocks = [Block("multinomial", counts), Block("categorical", codes),
              Block("gaussian", np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))]  # fmt: skip
    root = np.sqrt(1.5)
    assert_allclose(
        start_features(blocks),
        [
            [0.25, 0.75, 1.0, 0.0, 0.0, -root, 0.0],
            [0.00, 0.00, 0.0, 0.0, 1.0, root, 0.0],
            [0.25, 0.75, 0.0, 1.0, 0.0, 0.0, 0.0],
        ],
    )


def test_units_of_widths():
    squared = LogisticStickBreakingMixture(**SMALL, bandwidths=[25.0, 100.0]).fit(X, T)
    length = LogisticStickBreakingMixture(
        **SMALL, bandwidths=[5.0, 10.0], bandwidth_units="length"
    ).fit(X, T)
    assert_allclose(length.resp_, squared.resp_)
    assert_allclose(length.bandwidths_**2, squared.bandwidths_)
    assert_allclose(length.gate_proba([1.5]), squared.gate_proba([1.5]))


def test_truncation_levels_are_compared_without_constants():
    model = LogisticStickBreakingMixture([1, 2, 5], n_centers=15, random_state=0).fit(X, T)
    assert model.n_components_ > 1
    assert set(model.truncation_bounds_) == {1, 2, 5}
    assert model.lower_bound_reduced_ == max(model.truncation_bounds_.values())
    assert model.gate_coef_.shape == (model.n_components_ - 1, 16)


def test_labels_to_start_from():
    model = LogisticStickBreakingMixture(3, n_centers=10).fit(X, T, init_labels=KIND * 7)
    assert adjusted_rand_score(KIND, model.labels_) == 1.0


def test_codes_counts_and_products():
    rng = np.random.RandomState(0)
    probs = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    codes = np.array([[rng.choice(3, p=probs[k]) for _ in range(6)] for k in KIND])
    counts = np.array([rng.multinomial(9, probs[k]) for k in KIND])
    by_codes = LogisticStickBreakingMixture(**SMALL, observation="categorical").fit(codes, T)
    assert adjusted_rand_score(KIND, by_codes.labels_) > 0.85
    assert len(by_codes.atoms_) == 6
    dense = LogisticStickBreakingMixture(**SMALL, observation="multinomial").fit(counts, T)
    sparse = LogisticStickBreakingMixture(**SMALL, observation="multinomial").fit(
        sp.csr_array(counts), T
    )
    assert_allclose(sparse.resp_, dense.resp_, atol=1e-8)
    assert_allclose(dense.atoms_["probabilities"].sum(axis=1), 1.0)
    blocks = LogisticStickBreakingMixture(**SMALL, observation="multinomial").fit(
        [counts, sp.csr_array(counts)], T
    )
    assert len(blocks.atoms_) == 2
    mixed = LogisticStickBreakingMixture(
        **SMALL, observation=["gaussian", "diag", "categorical", "multinomial"]
    ).fit([X, KIND[:, None] + 0.3 * rng.normal(size=(60, 1)), codes[:, :1], counts], T)
    assert adjusted_rand_score(KIND, mixed.labels_) == 1.0
    drawn, _ = mixed.sample(T)
    assert [part.shape for part in drawn] == [(60, 1), (60, 1), (60,), (60, 3)]
    with pytest.raises(ValueError, match="codes below 3"):
        by_codes.predict(codes + 1, T)
    with pytest.raises(ValueError, match="list of 2 tables"):
        LogisticStickBreakingMixture(observation=["diag", "diag"]).fit([X], T)
    with pytest.raises(ValueError, match="as many rows"):
        LogisticStickBreakingMixture(observation=["diag", "diag"]).fit([X, X[1:]], T)


def test_warnings_of_odd_places():
    with pytest.warns(UserWarning, match="one place"):
        model = LogisticStickBreakingMixture(2, n_centers=5).fit(X, np.zeros(60))
    assert model.gate_coef_.shape == (1, 1)
    with pytest.warns(UserWarning, match="more than the 60 points"):
        LogisticStickBreakingMixture(2, n_centers=61, n_init=1).fit(X, T)


def test_constant_and_collinear_columns_have_an_answer():
    odd = np.hstack([X, 2 * X, np.full_like(X, 3.0)])
    for observation in ("gaussian", "diag"):
        model = LogisticStickBreakingMixture(**SMALL, observation=observation).fit(odd, T)
        assert np.isfinite(model.lower_bound_)
        # a column twice counts twice where columns are taken for independent
        assert adjusted_rand_score(KIND, model.labels_) > (
            0.9 if observation == "gaussian" else 0.5
        )


class TestPaper:
    def test_blocks_of_an_image(self):
        Y, coords, truth = make_block_image(random_state=11)
        model = LogisticStickBreakingMixture(10, n_centers=60, n_init=2, random_state=0).fit(
            Y, coords
        )
        assert adjusted_rand_score(truth, model.labels_) >= 0.95

    @pytest.mark.slow
    def test_blocks_with_default_settings(self):
        for seed in range(3):
            Y, coords, truth = make_block_image(random_state=seed)
            model = LogisticStickBreakingMixture(random_state=seed).fit(Y, coords)
            assert adjusted_rand_score(truth, model.labels_) >= 0.95

    def test_speakers_come_back(self):
        Y, coords, truth = make_speaker_series(random_state=11)
        model = LogisticStickBreakingMixture(10, n_centers=40, random_state=0).fit(Y, coords)
        assert classification_accuracy(truth, model.labels_) >= 0.98
        assert model.labels_[20] == model.labels_[270]
        assert model.active_components_.size == 3


def three_sets():
    rng = np.random.RandomState(4)
    levels = [np.where(T < 20, 0.0, 6.0), np.where(T < 40, 6.0, 0.0), np.where(T < 30, -6.0, 0.0)]
    return [level[:, None] + rng.normal(size=(60, 1)) for level in levels], levels


class TestHierarchical:
    def test_atoms_mean_the_same_everywhere(self):
        sets, levels = three_sets()
        model = HierarchicalLSBP(8, 4, n_centers=12, random_state=0).fit(sets, [T] * 3)
        assert adjusted_rand_score(np.concatenate(levels), np.concatenate(model.labels_)) > 0.95
        assert model.active_atoms_.size == 3
        assert_allclose(model.atom_usage_.sum(axis=1), 60)
        assert_allclose(model.atom_histogram_.sum(axis=1), 1)
        assert_allclose(model.stick_atoms_.sum(axis=2), 1)
        assert_allclose(model.atom_weights_.sum(), 1)
        assert (np.diff(model.lower_bounds_) > -1e-6).all()
        assert [p.shape for p in model.atom_proba_] == [(60, 8)] * 3
        for found, labels in zip(model.predict(sets, [T] * 3), model.labels_, strict=True):
            assert (found == labels).all()
        assert_allclose(model.gate_proba(T, 1).sum(axis=1), 1)
        assert_allclose(model.similarity(), kl_similarity(model))
        assert rank_similar(model, 0).tolist() == model.rank_similar(0).tolist() == [1, 2]

    def test_order_of_data_sets_does_not_matter(self):
        sets, _ = three_sets()
        options = {"n_centers": 12, "n_init": 1, "random_state": 0, "merge_moves": False}
        one = HierarchicalLSBP(2, 2, **options).fit(sets[:2], [T] * 2)
        two = HierarchicalLSBP(2, 2, **options).fit(sets[1::-1], [T] * 2)
        assert_allclose(two.lower_bound_, one.lower_bound_, rtol=1e-6)
        for a, b in zip(one.labels_, two.labels_[::-1], strict=True):
            assert adjusted_rand_score(a, b) == 1.0

    def test_one_data_set_with_fixed_atoms_is_the_plain_mixture(self):
        """u at the identity: the same memberships; bounds differ by the library's part."""
        from octavo.bayes.stick_breaking.climbing import Mixture
        from octavo.bayes.stick_breaking.gating import GateFitter
        from octavo.bayes.stick_breaking.locations import KernelBank
        from octavo.bayes.stick_breaking.shared_atoms import CONCENTRATION, SharedMixture
        from octavo.bayes.stick_breaking.starts import smoothed
        from octavo.bayes.stick_breaking.weight_priors import StudentT

        bank = KernelBank(T[:, None], T[::6, None], np.array([30.0]))
        observations = Observations([Block("gaussian", X)], neighbours(T[:, None]))
        fitter = GateFitter(bank, StudentT(1e-6, 1e-6), "fixed", None)
        plain = Mixture([X], observations, fitter, 2, "categorical")
        shared = SharedMixture([X], [0, 60], observations, [fitter], 2, 2, "categorical")
        resp = smoothed(KIND, 2)
        identity = np.eye(2)[None]
        params, both = plain.begin(resp), shared.begin([resp], identity)
        for _ in range(5):
            bound, found = plain.expect(params)
            other, others = shared.expect(both._replace(usage=identity))
            library = both.sticks.expected_log_weights().sum()
            library -= both.sticks.divergence(CONCENTRATION)
            assert_allclose(other - library, bound, rtol=1e-10)
            assert_allclose(others[0][0], found[0], atol=1e-10)
            params = plain.turn_once(params, found)
            both = shared.maximize(both._replace(usage=identity), others)

    def test_data_set_out_of_range(self):
        sets, _ = three_sets()
        model = HierarchicalLSBP(3, 2, n_centers=5, n_init=1).fit(sets, [T] * 3)
        with pytest.raises(ValueError, match="from 0 to 2"):
            model.gate_proba(T, 3)
        with pytest.raises(ValueError, match="each of the 3"):
            model.predict(sets[:1], [T])


class TestKernelSticks:
    def test_weights_are_equation_two(self):
        model = KernelStickBreakingMixture(4, n_centers=20, random_state=0).fit(X, T)
        rest, expected = np.ones(60), np.empty((60, 4))
        for k in range(3):
            kernel = np.exp(-((T - model.locations_[k, 0]) ** 2) / model.bandwidths_[k])
            expected[:, k] = rest * model.sticks_[k] * kernel
            rest = rest * (1 - model.sticks_[k] * kernel)
        expected[:, 3] = rest
        assert_allclose(model.gate_proba(T), expected, atol=1e-12)
        assert (np.diff(model.lower_bounds_) > -1e-7).all()
        assert_allclose(model.predict_proba(X, T), model.resp_, atol=1e-10)
        assert not set(model.labels_[KIND == 0]) & set(model.labels_[KIND == 1])

    def test_stick_is_the_mode_on_a_fine_grid(self):
        from octavo.bayes.stick_breaking.kernel_sticks import best_stick

        rng = np.random.RandomState(0)
        kernel, yes, no = rng.uniform(0, 1, (3, 30))
        v = np.linspace(1e-4, 1 - 1e-4, 20_001)
        value = yes.sum() * np.log(v) + (no * np.log1p(-v[:, None] * kernel)).sum(axis=1)
        value += 1.5 * np.log1p(-v)
        assert abs(best_stick(kernel, yes, no, 2.5) - v[value.argmax()]) < 1e-4


class TestPrior:
    def test_draws_follow_their_weights(self):
        labels, weights = sample_lsbp_prior(np.zeros(20_000) + np.arange(20_000) % 2, 3, 0)
        for place in (0, 1):
            share = np.bincount(labels[place::2], minlength=3) / 10_000
            assert_allclose(share, weights[place], atol=0.025)  # five standard errors

    def test_two_dimensions_and_bad_values(self):
        coords = np.random.RandomState(0).uniform(size=(50, 2))
        labels, weights = sample_lsbp_prior(coords, n_components=4, random_state=1)
        assert weights.shape == (50, 4)
        assert labels.max() < 4
        with pytest.raises(ValueError, match="at least 1"):
            sample_lsbp_prior(coords, 0)
        with pytest.raises(ValueError, match="positive"):
            sample_lsbp_prior(coords, 3, bandwidths=[-1.0])


def test_similarity_is_the_divergence_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    found = kl_similarity([p, q], smoothing=0.0)
    assert_allclose(found, [[1.0, 0.5], [0.0, 1.0]])  # KL(p, q) = log 2; q has what p lacks
    with pytest.raises(ValueError, match="row 1 has none"):
        kl_similarity([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="from 0 to 1"):
        rank_similar([p, q], 2)


@pytest.mark.parametrize("kind", [LogisticStickBreakingMixture, KernelStickBreakingMixture])
def test_huge_coordinates_are_refused(kind):
    X, coords = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(ValueError, match="coords is too large"):
        kind(2, n_init=1, max_iter=3).fit(X, coords * 1e200)


def test_superpixels():
    pytest.importorskip("skimage")
    rng = np.random.RandomState(0)
    image = 0.2 * rng.uniform(size=(60, 60, 3))
    image[:, 30:, 0] += 0.7
    features = SuperpixelFeatures(60, codebook_size=8, random_state=0)
    patches = features.fit_transform(image)
    assert sum(block.sum() for block in patches.blocks) == 3 * 3600
    assert 45 < len(patches.coords) == patches.segments.max() + 1
    truth = (np.arange(60) >= 30).astype(int)[None].repeat(60, axis=0)
    models = [
        LogisticStickBreakingMixture(k, observation="multinomial", n_centers=20, random_state=0)
        for k in (2, 4)
    ]
    halves, bands = (features.segment(image, model) for model in models)
    assert adjusted_rand_score(truth.ravel(), halves.ravel()) > 0.9
    # Beside the edge the filters see an edge: a texture of its own, which a third stick takes.
    assert models[1].lower_bound_ > models[0].lower_bound_
    assert set(bands[:, 26:34].ravel()) - set(bands[:, :14].ravel()) - set(bands[:, 46:].ravel())


def test_superpixels_without_scikit_image(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "skimage", None)
    monkeypatch.setitem(sys.modules, "skimage.color", None)
    with pytest.raises(ImportError, match=r"octavo\[images\]"):
        SuperpixelFeatures().fit(np.zeros((8, 8)))


def test_the_data_set_with_other_coordinates_is_named():
    X, where = np.zeros((8, 2)), np.arange(8.0)
    with pytest.raises(ValueError, match=r"Data set 1: .* got 7 places and 8 rows"):
        HierarchicalLSBP(2, 2).fit([X, X], [where, where[:-1]])
