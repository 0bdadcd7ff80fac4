"""Node-based joint graphical lassos: oracles, screening conditions, both solvers, bad input."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.proximal.groups import column_norms
from octavo.graphical import (
    CohubNodeJointGraphicalLasso,
    FusedJointGraphicalLasso,
    GroupJointGraphicalLasso,
    PerturbedNodeJointGraphicalLasso,
    SeparateGraphicalLasso,
    make_node_perturbed_networks,
    node_screening_conditions,
    rcon_norm,
)
from tests.graphical.cvx_networks import covariances, solve_by_cvxpy

QS = (1, 2, np.inf)
SIZES = np.array([30, 20, 25])
MODELS = {
    "perturbed": PerturbedNodeJointGraphicalLasso,
    "cohub": CohubNodeJointGraphicalLasso,
}
TIGHT = {"scale_by_n": False, "tol": 1e-9, "max_iter": 20_000}
ignore_norm = pytest.mark.filterwarnings("ignore:norm=1 penalises")


@ignore_norm
@pytest.mark.parametrize("kind", list(MODELS))
@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["admm2", "paper"])
def test_equals_cvxpy(kind, q, K, solver):
    """The paper's algorithm stops when an iteration changes little: it needs a tighter tol."""
    S, n = covariances(SIZES[:K], 6), SIZES[:K]
    exact, value = solve_by_cvxpy(S, n, 2.0, 7.0, kind, q)
    tol = 1e-9 if solver == "admm2" else 1e-11
    model = MODELS[kind](2.0, 7.0, norm=q, solver=solver, **{**TIGHT, "tol": tol})
    model.fit_covariances(S, n)
    np.testing.assert_allclose(model.precisions_, exact, atol=1e-6)
    assert model.objective_ == pytest.approx(value, abs=1e-5)
    assert 0 <= model.duality_gap_ + 1e-9 <= 1e-4


@pytest.mark.parametrize("kind", list(MODELS))
def test_objective_is_the_paper_s(kind):
    """From the estimates alone, with the overlap norm computed apart."""
    S, n = covariances(SIZES, 6), SIZES
    model = MODELS[kind](2.0, 7.0, **TIGHT).fit_covariances(S, n)
    Theta, total = model.precisions_, 0.0
    for k in range(3):
        total += n[k] * ((S[k] * Theta[k]).sum() - np.linalg.slogdet(Theta[k])[1])
        total += 2.0 * np.abs(Theta[k]).sum()
    if kind == "perturbed":
        for k, other in ((0, 1), (0, 2), (1, 2)):
            total += 7.0 * rcon_norm(Theta[k] - Theta[other]).value
    else:
        total += 7.0 * rcon_norm([T - np.diag(np.diag(T)) for T in Theta]).value
    assert model.objective_ == pytest.approx(total, abs=1e-6)


def test_v_decomposes_the_differences():
    S = covariances(SIZES, 6)
    model = PerturbedNodeJointGraphicalLasso(2.0, 4.0, **TIGHT).fit_covariances(S, SIZES)
    assert list(model.V_) == [(0, 1), (0, 2), (1, 2)]
    for (k, other), V in model.V_.items():
        difference = model.precisions_[k] - model.precisions_[other]
        np.testing.assert_allclose(V + V.T, difference, atol=1e-7)
        assert column_norms(V, 2).sum() == pytest.approx(rcon_norm(difference).value, abs=1e-5)
    off = [V - np.diag(np.diag(V)) for V in model.V_.values()]
    np.testing.assert_allclose(model.column_norms_, [np.linalg.norm(V, axis=0) for V in off])
    np.testing.assert_allclose(model.node_scores_, np.linalg.norm(np.vstack(off), axis=0))


def test_v_decomposes_the_networks():
    S = covariances(SIZES[:2], 6)
    model = CohubNodeJointGraphicalLasso(1.0, 6.0, **TIGHT).fit_covariances(S, SIZES[:2])
    off = model.precisions_ * (1 - np.eye(6))
    np.testing.assert_allclose(model.V_ + model.V_.swapaxes(1, 2), off, atol=1e-7)
    assert model.node_scores_.shape == (6,)
    assert model.column_norms_.shape == (2, 6)


@pytest.mark.parametrize("kind", list(MODELS))
def test_rows_and_covariances_agree(kind):
    """Covariances divide by n, and n_k weights the groups."""
    sample = make_node_perturbed_networks(8, [30, 60], random_state=0)
    model = MODELS[kind](0.1, 0.4).fit(sample.X, groups=sample.groups)
    S = [np.cov(sample.X[sample.groups == k], rowvar=False, bias=True) for k in (0, 1)]
    other = MODELS[kind](0.1 * 45, 0.4 * 45, scale_by_n=False).fit_covariances(S, [30, 60])
    np.testing.assert_allclose(model.precisions_, other.precisions_, atol=1e-10)
    tables = [sample.X[sample.groups == k] for k in (0, 1)]
    np.testing.assert_array_equal(MODELS[kind](0.1, 0.4).fit(tables).precisions_, model.precisions_)


def test_sample_sizes_matter():
    S = covariances([30, 30], 5)
    one = CohubNodeJointGraphicalLasso(2.0, 3.0, **TIGHT).fit_covariances(S, [30, 30])
    other = CohubNodeJointGraphicalLasso(2.0, 3.0, **TIGHT).fit_covariances(S, [30, 300])
    assert np.abs(one.precisions_[1] - other.precisions_[1]).max() > 0.1


def test_labels_name_the_pairs():
    sample = make_node_perturbed_networks(6, 20, random_state=0)
    names = np.array(["healthy", "ill"])[sample.groups]
    model = PerturbedNodeJointGraphicalLasso().fit(sample.X, groups=names)
    assert list(model.V_) == [("healthy", "ill")]
    assert model.groups_.tolist() == ["healthy", "ill"]


def test_standardised_networks_do_not_depend_on_units():
    sample = make_node_perturbed_networks(6, 40, random_state=0)
    options = {"standardize": True, "tol": 1e-8}
    one = PerturbedNodeJointGraphicalLasso(**options).fit(sample.X, groups=sample.groups)
    units = np.array([1.0, 10, 0.1, 5, 2, 100])
    other = PerturbedNodeJointGraphicalLasso(**options).fit(sample.X * units, groups=sample.groups)
    np.testing.assert_allclose(other.precisions_, one.precisions_, atol=1e-8)
    # The density of rows in other units differs by the product of the units.
    shift = np.log(units).sum()
    here = one.score(sample.X, groups=sample.groups)
    assert other.score(sample.X * units, groups=sample.groups) == pytest.approx(here - shift)


@pytest.mark.parametrize("standardize", [False, True])
def test_score_is_the_mean_log_density(standardize):
    sample = make_node_perturbed_networks(5, 40, random_state=0)
    model = CohubNodeJointGraphicalLasso(standardize=standardize)
    model.fit(sample.X, groups=sample.groups)
    total = 0.0
    for k in (0, 1):
        D = np.diag(model.scales_[k])
        normal = multivariate_normal(model.locations_[k], D @ model.covariances_[k] @ D)
        total += normal.logpdf(sample.X[sample.groups == k]).sum()
    assert model.score(sample.X, groups=sample.groups) == pytest.approx(total / 80)


def test_precisions_are_positive_definite_with_exact_zeros():
    sample = make_node_perturbed_networks(30, 15, random_state=0)
    model = PerturbedNodeJointGraphicalLasso(0.2, 0.5).fit(sample.X, groups=sample.groups)
    assert (np.linalg.eigvalsh(model.precisions_) > 0).all()
    off = ~np.eye(30, dtype=bool)
    np.testing.assert_array_equal(model.adjacencies_[:, off], model.precisions_[:, off] != 0)
    np.testing.assert_array_equal(model.precisions_, model.precisions_.swapaxes(1, 2))
    assert 0 < model.adjacencies_.mean() < 0.9


@pytest.mark.parametrize("kind", list(MODELS))
@pytest.mark.parametrize("q", [2, np.inf])
def test_screening_changes_nothing(kind, q):
    sample = make_node_perturbed_networks(25, 40, random_state=1, n_perturbed=0, n_cohubs=0)
    options = {"norm": q, "tol": 1e-9, "max_iter": 20_000}
    apart = MODELS[kind](0.5, 0.6, **options).fit(sample.X, groups=sample.groups)
    whole = MODELS[kind](0.5, 0.6, screening=False, **options).fit(sample.X, groups=sample.groups)
    assert len(apart.blocks_) > 1 == len(whole.blocks_)
    np.testing.assert_allclose(apart.precisions_, whole.precisions_, atol=1e-6)
    if q == 2:  # with q = inf several V attain the norm
        np.testing.assert_allclose(apart.node_scores_, whole.node_scores_, atol=1e-5)


# --- screening conditions -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(MODELS))
@pytest.mark.parametrize("seed", range(6))
def test_solutions_respect_both_conditions(kind, seed):
    """The solution is zero outside `blocks`; its own blocks are no finer than necessary."""
    sample = make_node_perturbed_networks(12, 20, random_state=seed)
    S = [np.cov(sample.X[sample.groups == k], rowvar=False, bias=True) for k in (0, 1)]
    alpha_l1, alpha_joint = 6.0, 3.0
    found = node_screening_conditions(S, [20, 20], alpha_l1, alpha_joint, kind=kind)
    model = MODELS[kind](alpha_l1, alpha_joint, screening=False, **TIGHT).fit_covariances(
        S, [20, 20]
    )
    joined = model.adjacencies_.any(axis=0)
    label = np.empty(12, dtype=int)
    for number, block in enumerate(found.blocks):
        label[block] = number
    assert not joined[label[:, None] != label[None, :]].any()
    reach = np.linalg.matrix_power((joined + np.eye(12)), 12) > 0
    for block in found.necessary_blocks:
        assert reach[np.ix_(block, block)].all()
    # `blocks` is the support of a solution, so every necessary condition must hold for it.
    assert all(found.necessary_hold.values())


def test_conditions_by_hand():
    S = np.array([np.eye(3), np.eye(3)])
    S[0, 0, 1] = S[0, 1, 0] = 0.3
    S[:, 1, 2] = S[:, 2, 1] = 0.15
    found = node_screening_conditions(S, [10, 10], alpha_l1=1.4, alpha_joint=4.0)
    # 3 > 1.4 and 1.5 > 1.4 join all; 3 ≤ 1.4 + 2 but 3 + 0 > 2.8, and 1.5 + 1.5 > 2.8.
    assert [b.tolist() for b in found.blocks] == [[0, 1, 2]]
    assert [b.tolist() for b in found.necessary_blocks] == [[0, 1, 2]]
    found = node_screening_conditions(S, [10, 10], alpha_l1=1.4, alpha_joint=4.0, kind="cohub")
    assert [b.tolist() for b in found.necessary_blocks] == [[0], [1], [2]]
    assert "sums" not in found.necessary_hold
    assert "average" not in node_screening_conditions(S, [10, 10], 1.0, 1.0, 1).necessary_hold


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": 3}, "q must be"),
        ({"kind": "edge"}, "kind must be"),
        ({"alpha_l1": -1.0}, ">= 0"),
        ({"n_samples": [10]}, "one positive number"),
        ({"covariances": np.ones((2, 2, 3))}, "shape"),
    ],
    ids=["q", "kind", "alpha_l1", "sizes", "shape"],
)
def test_conditions_check_their_input(change, words):
    good = {
        "covariances": [np.eye(2)] * 2,
        "n_samples": [5, 5],
        "alpha_l1": 1.0,
        "alpha_joint": 1.0,
    }
    with pytest.raises(ValueError, match=words):
        node_screening_conditions(**{**good, **change})


# --- bad input ------------------------------------------------------------------------------------


@pytest.fixture
def rows():
    return make_node_perturbed_networks(5, 10, random_state=0, n_perturbed=1, n_cohubs=1)


def test_a_group_with_one_sample(rows):
    groups = rows.groups.copy()
    groups[0] = 7
    with pytest.raises(ValueError, match="group 7 has 1 sample"):
        PerturbedNodeJointGraphicalLasso().fit(rows.X, groups=groups)


def test_one_group_is_not_enough_to_compare(rows):
    with pytest.raises(ValueError, match="at least 2 groups, got 1"):
        PerturbedNodeJointGraphicalLasso().fit(rows.X)
    assert CohubNodeJointGraphicalLasso().fit(rows.X).precisions_.shape == (1, 5, 5)


def test_groups_with_different_variables(rows):
    with pytest.raises(ValueError, match=r"tables have \[5, 4\] columns"):
        CohubNodeJointGraphicalLasso().fit([rows.X[:10], rows.X[10:, :4]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(rows, value):
    X = rows.X.copy()
    X[0, 0] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        CohubNodeJointGraphicalLasso().fit(X, groups=rows.groups)


def test_groups_and_tables_are_one_too_many(rows):
    with pytest.raises(ValueError, match="not both"):
        CohubNodeJointGraphicalLasso().fit([rows.X, rows.X], groups=rows.groups)
    with pytest.raises(ValueError, match="inconsistent"):
        CohubNodeJointGraphicalLasso().fit(rows.X, groups=rows.groups[:-1])
    with pytest.raises(ValueError, match="groups contains NaN"):
        CohubNodeJointGraphicalLasso().fit(rows.X, groups=np.full(20, np.nan))


@pytest.mark.parametrize("name", ["alpha_l1", "alpha_joint"])
def test_negative_penalties(rows, name):
    with pytest.raises(ValueError, match=f"'{name}'"):
        CohubNodeJointGraphicalLasso(**{name: -0.1}).fit(rows.X)


def test_constant_variables(rows):
    X = rows.X.copy()
    X[:, 2] = 1.0
    with pytest.raises(ValueError, match="Variable 2 does not vary"):
        PerturbedNodeJointGraphicalLasso(alpha_l1=0.0).fit(X, groups=rows.groups)
    with pytest.raises(ValueError, match="variable 2 is constant in group 0"):
        CohubNodeJointGraphicalLasso(standardize=True).fit(X, groups=rows.groups)
    model = PerturbedNodeJointGraphicalLasso().fit(X, groups=rows.groups)
    assert np.isfinite(model.precisions_).all()
    # Constant in one group only: the other group's diagonal ties it down.
    X = rows.X.copy()
    X[rows.groups == 0, 2] = 1.0
    model = PerturbedNodeJointGraphicalLasso(alpha_l1=0.0, alpha_joint=0.5).fit(
        X, groups=rows.groups
    )
    assert np.isfinite(model.objective_)


def test_unbounded_likelihoods():
    sample = make_node_perturbed_networks(12, 8, random_state=0)
    few = sample.groups * 0 + np.repeat([0, 1], 8)
    keep = np.r_[:5, 8:13]
    with pytest.raises(ValueError, match="pooled covariance of the groups is singular"):
        PerturbedNodeJointGraphicalLasso(alpha_l1=0.0).fit(sample.X[keep], groups=few[keep])
    with pytest.raises(ValueError, match="covariance of a group is singular"):
        PerturbedNodeJointGraphicalLasso(alpha_l1=0.0, alpha_joint=0.0).fit(sample.X, groups=few)
    # Pooled, 16 rows less two means span 12 variables; co-hubs are bounded in any case.
    assert np.isfinite(
        PerturbedNodeJointGraphicalLasso(0.0, 1.0).fit(sample.X, groups=few).objective_
    )
    model = CohubNodeJointGraphicalLasso(0.0, 1.0).fit(sample.X[keep], groups=few[keep])
    assert np.isfinite(model.objective_)


def test_not_converged_says_how_far(rows):
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        PerturbedNodeJointGraphicalLasso(max_iter=2).fit(rows.X, groups=rows.groups)


def test_norm_of_one_warns_about_scores(rows):
    with pytest.warns(UserWarning, match="say nothing about nodes"):
        CohubNodeJointGraphicalLasso(norm=1).fit(rows.X, groups=rows.groups)


def test_sparse_input_is_refused(rows):
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="dense"):
        CohubNodeJointGraphicalLasso().fit(csr_array(rows.X))


def test_unknown_groups_cannot_be_scored(rows):
    model = CohubNodeJointGraphicalLasso().fit(rows.X, groups=rows.groups)
    with pytest.raises(ValueError, match="which fit has not seen"):
        model.score(rows.X, groups=rows.groups + 1)


@pytest.mark.parametrize(
    ("S", "n", "words"),
    [
        ([np.eye(2), np.eye(3)], [5, 5], "one shape"),
        ([np.eye(2)] * 2, [5, 0], "one positive number"),
        ([[[1.0, 2.0], [0.0, 1.0]]] * 2, [5, 5], "symmetric"),
        ([[[1.0, np.nan], [np.nan, 1.0]]] * 2, [5, 5], "NaN"),
    ],
    ids=["shapes", "sizes", "asymmetric", "NaN"],
)
def test_bad_covariances(S, n, words):
    with pytest.raises(ValueError, match=words):
        PerturbedNodeJointGraphicalLasso().fit_covariances(S, n)


def test_frames_keep_their_names(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows.X, columns=list("abcde"))
    model = PerturbedNodeJointGraphicalLasso().fit([frame[:10], frame[10:]])
    assert model.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("seed", [0, 5, 10])
@pytest.mark.parametrize(
    ("cls", "alpha_l1", "alpha_joint"),
    [
        (PerturbedNodeJointGraphicalLasso, 0.1, 0.5),
        (CohubNodeJointGraphicalLasso, 0.05, 0.4),
        (CohubNodeJointGraphicalLasso, 0.0, 1.4),  # only the columns of V can say what is zero
    ],
)
def test_zeros_are_exact(cls, alpha_l1, alpha_joint, seed):
    """The edges at the default tolerance are those of a solution that is ten thousand times tight.

    Entries that the tolerance cannot tell from zero may be on either side.
    """
    sample = make_node_perturbed_networks(12, 60, n_cohubs=1, n_perturbed=1, random_state=seed)
    rough = cls(alpha_l1=alpha_l1, alpha_joint=alpha_joint)
    rough.fit(sample.X, groups=sample.groups)
    tight = cls(alpha_l1=alpha_l1, alpha_joint=alpha_joint, tol=1e-9, max_iter=50_000)
    tight.fit(sample.X, groups=sample.groups)
    spread = np.sqrt(np.diagonal(tight.precisions_, axis1=1, axis2=2))
    size = np.abs(tight.precisions_) / spread[:, :, None] / spread[:, None, :]
    assert (size == 0.0).mean() > 0.1
    assert not (rough.adjacencies_ & (size == 0.0)).any()
    assert size[(size > 0.0) & (rough.precisions_ == 0.0)].max(initial=0.0) < 1e-4
    np.testing.assert_array_equal(
        rough.adjacencies_, (rough.precisions_ != 0.0) & ~np.eye(12, dtype=bool)
    )


@pytest.mark.parametrize("factor", [1e-5, 1e4, 1e5])
@pytest.mark.parametrize(
    ("cls", "alphas"),
    [
        (PerturbedNodeJointGraphicalLasso, {"alpha_l1": 0.1, "alpha_joint": 0.3}),
        (CohubNodeJointGraphicalLasso, {"alpha_l1": 0.05, "alpha_joint": 0.4}),
        (FusedJointGraphicalLasso, {"alpha_l1": 0.1, "alpha_joint": 0.05}),
        (GroupJointGraphicalLasso, {"alpha_l1": 0.1, "alpha_joint": 0.05}),
        (SeparateGraphicalLasso, {"alpha_l1": 0.1}),
    ],
)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_data_in_another_unit_give_the_same_networks(cls, alphas, factor):
    sample = make_node_perturbed_networks(12, 100, n_cohubs=1, n_perturbed=1, random_state=2)
    one = cls(**alphas, tol=1e-7, max_iter=5000).fit(sample.X, groups=sample.groups)
    squared = {name: value * factor**2 for name, value in alphas.items()}
    other = cls(**squared, tol=1e-7, max_iter=5000)
    other.fit(factor * sample.X, groups=sample.groups)
    np.testing.assert_allclose(other.precisions_ * factor**2, one.precisions_, atol=1e-4)
    np.testing.assert_allclose(other.covariances_ / factor**2, one.covariances_, atol=1e-4)
    np.testing.assert_array_equal(other.adjacencies_, one.adjacencies_)
    shift = 2.0 * 12 * one.n_samples_.sum() * np.log(factor)
    slack = one.duality_gap_ + other.duality_gap_ + 1e-9 * abs(shift)
    assert abs(other.objective_ - one.objective_ - shift) <= slack


@pytest.mark.parametrize(
    "cls",
    [
        PerturbedNodeJointGraphicalLasso,
        CohubNodeJointGraphicalLasso,
        FusedJointGraphicalLasso,
        GroupJointGraphicalLasso,
        SeparateGraphicalLasso,
    ],
)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_one_column_in_another_unit_is_solved_too(cls):
    sample = make_node_perturbed_networks(12, 100, n_cohubs=1, n_perturbed=1, random_state=0)
    X = sample.X.copy()
    X[:, 3] *= 1e5
    model = cls(alpha_l1=0.1).fit(X, groups=sample.groups)
    assert model.duality_gap_ <= 1e-5 * X.size
    assert np.isfinite(model.covariances_).all()
    identity = model.covariances_ @ model.precisions_
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(12), identity.shape), atol=1e-7)


def test_groups_on_different_scales_are_a_warning_and_overflow_a_sentence():
    sample = make_node_perturbed_networks(6, 30, n_cohubs=0, n_perturbed=1, random_state=0)
    X = sample.X * np.where(sample.groups == 1, 1e4, 1.0)[:, None]
    model = FusedJointGraphicalLasso(max_iter=50)
    with pytest.warns(ConvergenceWarning, match="bring the groups to one scale"):
        model.fit(X, groups=sample.groups)
    with pytest.raises(ValueError, match=r"variance of variable 0 is inf, beyond .* another unit"):
        model.fit(sample.X * 1e155, groups=sample.groups)
    with pytest.raises(ValueError, match="beyond what a double can hold"):
        model.fit(sample.X * 1e-160, groups=sample.groups)
