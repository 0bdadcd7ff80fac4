"""Minimisers against brute force, each other, and their own promises."""

import warnings

import numpy as np
import pytest

from octavo.engine.graphs import max_flow
from octavo.graphical import PairwiseMRF, grid_mrf, minimize_mrf, multiplicative_bound
from octavo.graphical.energies import warm_cuts
from octavo.graphical.energies.messages import pass_messages
from octavo.graphical.energies.moves import expand_range, swap_range
from octavo.graphical.energies.relaxation import solve_relaxation
from octavo.graphical.energies.warm_cuts import WarmCuts
from tests.graphical.energies.oracles import all_energies, random_mrf

MOVES = ["range_expansion", "range_swap", "alpha_expansion", "alpha_beta_swap"]
METHODS = [*MOVES, "trws", "bp", "icm", "lp"]
BENT = lambda x: abs(x) ** 1.5  # noqa: E731
MODELS = [("linear", 2.0), ("quadratic", 4.0), (BENT, 3.0)]
BACKENDS = ["numba", *(["pymaxflow"] if max_flow._maxflow() is not None else [])]


@pytest.mark.parametrize("d", ["linear", "quadratic", BENT])
@pytest.mark.parametrize("backend", BACKENDS)
def test_convex_energies_equal_brute_force(d, backend):
    for seed in range(6):
        mrf = random_mrf(seed, d)
        result = minimize_mrf(mrf, "exact", backend=backend)
        assert result.energy == pytest.approx(all_energies(mrf).min(), rel=1e-12)
        assert result.lower_bound == result.energy
        assert result.bound == 1.0


@pytest.mark.parametrize(("d", "M"), MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_bounds_are_valid_and_energies_those_of_the_labels(method, d, M):
    for seed in range(4):
        mrf = random_mrf(seed, d, M)
        best = all_energies(mrf).min()
        result = minimize_mrf(mrf, method)
        assert result.energy == mrf.energy(result.labels)
        assert best - 1e-9 <= result.energy <= best * result.bound * (1 + 1e-9)
        assert result.lower_bound <= best + 1e-9
        assert (np.diff(result.history) <= 0).all()
        assert result.n_moves == len(result.history) - 1 == len(result.seconds) - 1


@pytest.mark.parametrize(("d", "M"), MODELS)
def test_range_expansion_keeps_its_factor_without_the_lower_bound(d, M):
    factor = multiplicative_bound(5, M, d=d)
    for seed in range(8):
        mrf = random_mrf(seed, d, M)
        result = minimize_mrf(mrf, bound_max_iter=0)
        assert result.converged
        assert result.bound <= factor
        assert result.energy <= factor * all_energies(mrf).min()


@pytest.mark.parametrize("method", ["range_expansion", "range_swap"])
@pytest.mark.parametrize(("d", "M"), MODELS)
def test_with_moves_of_one_label_neither_kind_has_anything_left(method, d, M):
    for seed in range(4):
        mrf = random_mrf(seed, d, M)
        best = all_energies(mrf).min()
        result = minimize_mrf(mrf, method, one_label=True, bound_max_iter=0)
        assert result.converged
        assert best - 1e-9 <= result.energy <= best * result.bound * (1 + 1e-9)
        assert (np.diff(result.history) <= 0).all()
        assert len(result.seconds) == len(result.history)
        assert result.energy <= minimize_mrf(mrf, "alpha_expansion").energy
        for again in (method, "alpha_expansion"):
            more = minimize_mrf(mrf, again, init=result.labels, bound_max_iter=0)
            assert more.n_moves == 0


def test_the_factor_is_at_most_that_of_lemma_4_and_of_potts():
    for M in (1, 2, 3, 5, 8):
        for L in range(1, 16):
            published = 2 + max(2 * M / L, L / M)
            assert multiplicative_bound(20, M, interval=L) <= published + 1e-12
    assert multiplicative_bound(20, 1, interval=1) == 2.0
    assert multiplicative_bound(20, 0.5, d="quadratic", interval=1) == 2.0
    # Theorem 3: O(√M) at L = √M; the quotient settles
    quotients = [multiplicative_bound(100, m * m, d="quadratic") / m for m in (4, 8, 16, 32)]
    assert max(quotients) / min(quotients) < 1.5


@pytest.mark.parametrize("interval", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("method", ["range_expansion", "range_swap"])
def test_every_length_of_intervals_keeps_its_promise(method, interval):
    mrf = random_mrf(3, "quadratic", 4.0)
    best = all_energies(mrf).min()
    result = minimize_mrf(mrf, method, interval)
    assert result.energy <= result.bound * best * (1 + 1e-9)
    assert (np.diff(result.history) < 0).all()


@pytest.mark.parametrize("method", MOVES)
def test_a_start_is_never_made_worse(method):
    rng = np.random.default_rng(0)
    mrf = grid_mrf(rng.uniform(0, 10, (8, 8, 7)), rng.uniform(0, 5, 112), truncation=3)
    for other in MOVES:
        start = minimize_mrf(mrf, other, bound_max_iter=0)
        after = minimize_mrf(mrf, method, init=start.labels, bound_max_iter=0)
        assert after.energy <= start.energy
    shuffled = minimize_mrf(mrf, method, random_order=True, random_state=0, bound_max_iter=0)
    again = minimize_mrf(mrf, method, random_order=True, random_state=0, bound_max_iter=0)
    assert shuffled.energy == again.energy


@pytest.mark.parametrize(("d", "M"), MODELS)
def test_a_range_swap_alone_never_raises_the_energy(d, M):
    rng = np.random.default_rng(7)
    mrf = grid_mrf(rng.uniform(0, 10, (6, 6, 6)), rng.uniform(0, 5, 60), d, M)
    for length in (2, 3, 6):  # the last is longer than d(L) = M allows to be exact
        for low in range(7 - length):
            labels = rng.integers(6, size=36)
            after = swap_range(mrf, labels, (low, low + length - 1), "numba")
            if after is not None:
                assert mrf.energy_of(after) <= mrf.energy_of(labels) + 1e-9


def test_range_expansion_beats_the_narrow_moves_and_nears_the_bound():
    rng = np.random.default_rng(5)
    mrf = grid_mrf(rng.uniform(0, 10, (14, 14, 12)), rng.uniform(0, 5, 364), truncation=6)
    wide = minimize_mrf(mrf, bound_max_iter=200)
    assert wide.energy <= 1.005 * wide.lower_bound
    for method in ("alpha_expansion", "alpha_beta_swap", "icm"):
        assert wide.energy < minimize_mrf(mrf, method, bound_max_iter=0).energy


@pytest.mark.parametrize(("d", "M"), MODELS)
def test_two_backends_one_energy(d, M):
    pytest.importorskip("maxflow")
    rng = np.random.default_rng(1)
    for whole in (False, True):  # whole numbers have many ties
        unary = rng.integers(0, 10, (9, 9, 6)) if whole else rng.uniform(0, 10, (9, 9, 6))
        w = rng.integers(0, 5, 144) if whole else rng.uniform(0, 5, 144)
        mrf = grid_mrf(unary, w, d, M)
        for method in MOVES:
            found = [
                minimize_mrf(mrf, method, backend=b, bound_max_iter=0).energy
                for b in ("numba", "pymaxflow")
            ]
            assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize(("d", "M"), [*MODELS, ("linear", None)])
def test_trees_are_exact(d, M):
    tree = np.array([[0, 1], [1, 2], [1, 3], [5, 4]])  # a tree of four, a pair, one alone
    for seed in range(4):
        mrf = random_mrf(seed, d, M, edges=tree, n=7, n_labels=4)
        result = minimize_mrf(mrf, "tree")
        assert result.energy == pytest.approx(all_energies(mrf).min(), rel=1e-12)
        assert result.bound == 1.0
    with pytest.raises(ValueError, match="without cycles"):
        minimize_mrf(random_mrf(0, d, M), "tree")


@pytest.mark.parametrize(("d", "M"), MODELS)
def test_dual_below_relaxation_below_optimum_after_every_round(d, M):
    for seed in range(3):
        mrf = random_mrf(seed, d, M, n_labels=4)
        relaxed = solve_relaxation(mrf)
        rounds = pass_messages(mrf, reweighted=True, max_iter=60)
        tol = 1e-7 * relaxed.value
        assert (np.diff(rounds.bounds) >= -tol).all()
        assert max(rounds.bounds) <= relaxed.value + tol
        assert relaxed.value <= all_energies(mrf).min() + tol
        assert max(rounds.bounds) >= 0.99 * relaxed.value


def test_two_labels_are_one_cut():
    for seed in range(5):
        mrf = random_mrf(seed, truncation=1.0, n_labels=2)
        best = all_energies(mrf).min()
        for method in ("exact", *MOVES):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert minimize_mrf(mrf, method).energy == pytest.approx(best, rel=1e-12)


def test_no_truncated_difference_is_solved_exactly_and_said():
    mrf = random_mrf(0, "linear", 4.0)
    with pytest.warns(UserWarning, match="'exact' takes the place"):
        result = minimize_mrf(mrf)
    assert result.method == "exact"
    assert result.energy == pytest.approx(all_energies(mrf).min())


@pytest.mark.parametrize("method", METHODS)
def test_a_tiny_truncation_leaves_the_unary_best(method):
    rng = np.random.default_rng(0)
    unary = rng.uniform(0, 10, (4, 4, 5))
    result = minimize_mrf(grid_mrf(unary, 1.0, truncation=1e-9), method)
    np.testing.assert_array_equal(result.labels, unary.argmin(axis=2))


@pytest.mark.parametrize("scale", [1e-5, 1e5, 1e100])
@pytest.mark.parametrize("method", [*METHODS, "exact"])
def test_scale_does_not_matter(method, scale):
    M = None if method == "exact" else 4.0
    mrf = random_mrf(1, "quadratic", M)
    scaled = PairwiseMRF(mrf.unary * scale, mrf.edges, mrf.weights * scale, "quadratic", M)
    plain, other = minimize_mrf(mrf, method), minimize_mrf(scaled, method)
    assert other.energy == pytest.approx(plain.energy * scale, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_forbidden_labels_are_never_given(method):
    rng = np.random.default_rng(2)
    unary = rng.uniform(0, 10, (6, 5))
    unary[rng.random((6, 5)) < 0.4] = np.inf
    unary[:, 2] = np.minimum(unary[:, 2], 9.0)
    mrf = PairwiseMRF(unary, random_mrf(0).edges, 4.0, truncation=2)
    result = minimize_mrf(mrf, method)
    assert np.isfinite(result.energy)
    assert result.lower_bound <= all_energies(mrf).min() + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_negative_unaries_shift_the_energy_alone(method):
    mrf = random_mrf(4, "linear", 2.0)
    lower = PairwiseMRF(mrf.unary - 7.0, mrf.edges, mrf.weights, "linear", 2.0)
    plain, shifted = minimize_mrf(mrf, method), minimize_mrf(lower, method)
    assert shifted.energy == pytest.approx(plain.energy - 42.0)
    shift = np.minimum(lower.unary.min(axis=1), 0).sum()
    best = all_energies(lower).min()
    assert shifted.energy - shift <= shifted.bound * (best - shift) * (1 + 1e-9)


@pytest.mark.parametrize("method", [*METHODS, "tree"])
def test_one_variable_one_label_and_no_edges(method):
    for unary in ([[3.0, 1.0, 2.0]], [[4.0], [5.0]], np.eye(3)):
        result = minimize_mrf(PairwiseMRF(unary, [], truncation=0.5), method)
        assert result.energy == np.min(unary, axis=1).sum()


def test_callbacks_stop_a_run():
    rng = np.random.default_rng(0)
    mrf = grid_mrf(rng.uniform(0, 10, (8, 8, 7)), 3.0, truncation=3)
    calls = []
    result = minimize_mrf(mrf, "trws", callback=lambda: calls.append(1) or len(calls) == 3)
    assert result.n_moves == len(calls) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "luck"}, "method must be one of"),
        ({"method": "exact"}, "without truncation"),
        ({"interval": 0}, "interval must be"),
        ({"interval": "long"}, "interval must be"),
        ({"init": "zero"}, "init must be"),
        ({"init": [0, 1]}, "init must have one entry"),
        ({"max_sweeps": 0}, "max_sweeps must be"),
        ({"bound_max_iter": -1}, "bound_max_iter must be"),
        ({"backend": "luck"}, "backend must be one of"),
        ({"random_order": "yes"}, "random_order must be"),
        ({"one_label": "yes"}, "one_label must be"),
        ({"one_label": True, "method": "icm"}, "'icm' makes none"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        minimize_mrf(random_mrf(0, "linear", 2.0), **options)
    with pytest.raises(ValueError, match="must be a PairwiseMRF"):
        minimize_mrf(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="forbidden label 0"):
        minimize_mrf(PairwiseMRF([[np.inf, 1.0, 2.0]], [], truncation=1), init=[0])


def test_programs_and_graphs_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="method='lp' has"):
        minimize_mrf(grid_mrf(np.zeros((30, 30, 20)), truncation=2), "lp")
    with pytest.raises(ValueError, match="arcs"):
        minimize_mrf(grid_mrf(np.zeros((200, 200, 64)), d="quadratic"), "exact")


@pytest.mark.parametrize(("d", "M"), [*MODELS, (BENT, 40.0)])
def test_a_cut_that_begins_with_any_flow_is_the_cut(d, M):
    rng = np.random.default_rng(5)
    exact = d if isinstance(d, str) else lambda x: abs(x) * (abs(x) + 1) // 2
    mrf = grid_mrf(rng.integers(0, 12, (5, 6, 7)), rng.integers(0, 5, 49), exact, M)
    cuts = WarmCuts(mrf)
    for _ in range(40):  # whole numbers: the cut with the largest source side is one alone
        low, high = np.sort(rng.integers(0, 7, 2)).tolist()
        labels = rng.integers(0, 7, 30)
        cold = expand_range(mrf, labels, (low, high), "numba")
        taken = cuts.best_labels((low, high), labels)
        np.testing.assert_array_equal(np.where(taken < 0, labels, low + taken), cold)


def test_flows_and_graphs_that_would_fill_the_memory_are_not_kept(monkeypatch):
    mrf = random_mrf(0, "linear", 2.0)
    expected = minimize_mrf(mrf, bound_max_iter=0)
    monkeypatch.setattr(warm_cuts, "FLOWS_KEPT", 0)
    monkeypatch.setattr(warm_cuts, "ARCS_KEPT", 0)
    cuts = WarmCuts(mrf)
    cuts.best_labels((0, 1), np.zeros(mrf.n_variables, int))
    cuts.best_labels((0, 2), np.zeros(mrf.n_variables, int))
    assert len(cuts.graphs) == 1
    assert not cuts.own
    assert minimize_mrf(mrf, bound_max_iter=0).energy == pytest.approx(expected.energy, rel=1e-12)
