"""Static, autoregressive-only, factorised and heuristic rivals; choice, calibration, scores."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, Ridge
from sklearn.metrics import roc_auc_score

from octavo.data import make_autoregressive_graphs
from octavo.network import (
    AutoregressiveLinkPredictor,
    AutoregressiveLinkPredictorCV,
    FactorizedLinkPredictor,
    SparseLowRankDenoiser,
    SparseVAR,
    calibrate_penalties,
    feature_error,
    link_auc,
    link_heuristics,
    prox_nuclear_l1,
)


def table(n=40, d=4, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


def test_var_columns_are_lassos_and_ridges():
    X = table()
    lasso, ridge = SparseVAR(kappa=0.2).fit(X), SparseVAR(penalty="l2", kappa=0.2).fit(X)
    T = len(X) - 1
    for j in range(4):
        peer = Lasso(0.1, fit_intercept=False, tol=1e-14).fit(X[:-1], X[1:, j])
        assert lasso.coef_[:, j] == pytest.approx(peer.coef_, abs=1e-8)
        peer = Ridge(0.2 * T, fit_intercept=False).fit(X[:-1], X[1:, j])
        assert ridge.coef_[:, j] == pytest.approx(peer.coef_, abs=1e-8)
    off = X[1:] - X[:-1] @ lasso.coef_
    assert lasso.objective_ == pytest.approx((off**2).sum() / T + 0.2 * np.abs(lasso.coef_).sum())
    off = X[1:] - X[:-1] @ ridge.coef_
    assert ridge.objective_ == pytest.approx((off**2).sum() / T + 0.2 * (ridge.coef_**2).sum())
    assert lasso.predict(X) == pytest.approx(X @ lasso.coef_)


def test_var_of_order_two_without_penalty_is_that_of_statsmodels():
    models = pytest.importorskip("statsmodels.tsa.api")
    X = table(300, 3)
    peer = models.VAR(X).fit(2, trend="n")
    ours = SparseVAR(order=2, kappa=0.0).fit(X)
    assert ours.coef_ == pytest.approx(peer.params, abs=1e-8)
    assert ours.predict(X)[-1] == pytest.approx(peer.forecast(X[-2:], 1)[0])
    assert len(ours.predict(X)) == 299


def test_var_says_when_rows_are_too_few():
    with pytest.raises(ValueError, match="order=3 needs at least 4"):
        SparseVAR(order=3).fit(table(3))
    with pytest.raises(ValueError, match="look back"):
        SparseVAR(order=3).fit(table(9)).predict(table(2))


def test_the_denoiser_is_the_map_at_half_the_penalties():
    Y = table(8, 6)
    model = SparseLowRankDenoiser(1.0, 0.3, nonneg=False).fit(Y)
    assert model.A_sparse_ == pytest.approx(prox_nuclear_l1(Y, 0.5, 0.15), abs=1e-7)
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    low = SparseLowRankDenoiser(1.0, 0.0, nonneg=False).fit(sp.csr_array(Y)).A_next_
    assert low == pytest.approx((U * np.maximum(s - 0.5, 0.0)) @ Vt)
    series = np.array([Y, 2 * Y])
    assert SparseLowRankDenoiser(1.0, 0.3, False).fit(series).A_next_ == pytest.approx(
        SparseLowRankDenoiser(1.0, 0.3, False).fit(3 * Y).A_next_, abs=1e-7
    )


def test_heuristics_are_networkxs():
    nx = pytest.importorskip("networkx")
    graph = nx.karate_club_graph()
    A = nx.to_numpy_array(graph, weight=None)
    pairs = list(nx.non_edges(graph))
    i, j = np.array(pairs).T
    for kind, peer in (
        ("adamic_adar", nx.adamic_adar_index),
        ("preferential_attachment", nx.preferential_attachment),
    ):
        theirs = [score for *_, score in peer(graph, pairs)]
        assert link_heuristics(A, kind)[i, j] == pytest.approx(theirs)
    common = [len(list(nx.common_neighbors(graph, u, v))) for u, v in pairs]
    assert link_heuristics(A, "common_neighbours")[i, j] == pytest.approx(common)
    walks = sum(0.05**k * np.linalg.matrix_power(A, k) for k in range(1, 60))
    assert link_heuristics(A, "katz", beta=0.05) == pytest.approx(walks)
    half = 0.5 / np.linalg.eigvalsh(A)[-1]  # half of what converges; 60 terms leave 2^-60
    walks = sum(half**k * np.linalg.matrix_power(A, k) for k in range(1, 60))
    assert link_heuristics(A, "katz") == pytest.approx(walks)


def test_heuristics_of_two_kinds_of_nodes_and_bad_input():
    A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    both = np.block([[np.zeros((2, 2)), A], [A.T, np.zeros((3, 3))]])
    whole = link_heuristics(both, "katz", beta=0.1)
    assert link_heuristics(A, "katz", beta=0.1) == pytest.approx(whole[:2, 2:])
    assert link_heuristics(A, "preferential_attachment").tolist() == [[2, 2, 4], [2, 2, 4]]
    with pytest.raises(ValueError, match="square"):
        link_heuristics(A, "adamic_adar")
    with pytest.raises(ValueError, match="diverges"):
        link_heuristics(np.ones((3, 3)), "katz", beta=0.4)
    with pytest.raises(ValueError, match="katz"):
        link_heuristics(A, "some")
    assert not link_heuristics(np.zeros((3, 3)), "katz").any()


def test_calibration_is_theorem_3():
    made = make_autoregressive_graphs(12, 2, 6, random_state=0)
    psi = table(12, 2)
    found = calibrate_penalties(made.snapshots, 0.5, 0.3, 2.0, feature_map=psi)
    designs = []
    for i in range(12):
        for part in range(2):
            omega = np.zeros((12, 12))
            omega[i] = psi[:, part]
            designs.append(omega)
    d, T, n, x = 24, 5, 12, 2.0
    F = np.array([[(o * A).sum() for o in designs] for A in made.snapshots])
    v_op = np.sqrt(
        max(
            np.linalg.norm(sum(o.T @ o for o in designs) / d, 2),
            np.linalg.norm(sum(o @ o.T for o in designs) / d, 2),
        )
    )
    v_inf = np.sqrt((sum(o * o for o in designs) / d).max())
    sizes = (F[:-1] ** 2).sum(axis=0) / T + F[-1] ** 2
    ell = 2 * max(np.log(np.log(max(s, 1 / s, np.e))) for s in sizes if s > 0)
    inner = 2 * np.e * (x + 2 * np.log(d) + ell)
    assert found.tau == pytest.approx(
        3 * np.sqrt(2) * 0.3 * 0.5 * v_op * np.sqrt((x + np.log(24)) / d)
    )
    assert found.gamma == pytest.approx(
        3 * 0.7 * 0.5 * v_inf * np.sqrt(2 * (x + 2 * np.log(n)) / d)
    )
    assert found.kappa == pytest.approx(
        6 * 0.5 * np.sqrt(sizes.max()) * (np.sqrt(inner / T) + np.sqrt(inner) / d)
    )
    for wrong in ({"noise": -1.0}, {"alpha": 1.0}, {"confidence": 0.0}, {"rank": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            calibrate_penalties(made.snapshots, **{"noise": 0.5, **wrong})


def test_auc_is_scikit_learns_and_new_links_count_alone():
    rng = np.random.RandomState(0)
    A, scores = rng.random_sample((6, 7)) < 0.4, rng.randint(0, 5, (6, 7)).astype(float)
    assert link_auc(A, scores) == pytest.approx(roc_auc_score(A.ravel(), scores.ravel()))
    known = rng.random_sample((6, 7)) < 0.3
    assert link_auc(A, scores, known) == pytest.approx(roc_auc_score(A[~known], scores[~known]))
    with pytest.raises(ValueError, match="without"):
        link_auc(np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="one shape"):
        link_auc(A, scores.T)


def test_error_of_features():
    assert feature_error([1.0, 2.0], [1.0, 4.0]) == pytest.approx(2.0 / np.sqrt(17.0))
    assert feature_error([1e200, 2e200], [1e200, 4e200]) == pytest.approx(2.0 / np.sqrt(17.0))
    with pytest.raises(ValueError, match="zero"):
        feature_error([1.0], [0.0])


def test_the_choice_looks_at_the_past_only():
    made = make_autoregressive_graphs(15, 2, 7, density=0.4, random_state=0)
    plain = AutoregressiveLinkPredictor(rank=2)
    grid = {"taus": [1e-3, 1e-1], "gammas": [1e-4], "kappas": [1e-3, 1e-2], "estimator": plain}
    model = AutoregressiveLinkPredictorCV(**grid).fit(made.snapshots)
    assert model.cv_scores_.shape == (2, 1, 2, 2)
    assert model.taus_.tolist() == [1e-1, 1e-3]
    for a, tau in enumerate(model.taus_):
        for fold in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                by_hand = AutoregressiveLinkPredictor(tau, 1e-4, 1e-2, rank=2, tol=1e-3).fit(
                    made.snapshots[: 5 + fold]
                )
            score = link_auc(made.snapshots[5 + fold], by_hand.A_next_)
            assert model.cv_scores_[a, 0, 0, fold] == pytest.approx(score)
    assert model.best_score_ == model.cv_scores_.mean(axis=-1).max()
    best = AutoregressiveLinkPredictor(**model.best_params_, rank=2).fit(made.snapshots)
    assert model.predict_scores() == pytest.approx(best.A_next_)
    assert model.predict_features() == pytest.approx(best.predict_features())
    by_features = AutoregressiveLinkPredictorCV(**grid, scoring="features").fit(made.snapshots)
    assert (by_features.cv_scores_ <= 0.0).all()


def test_the_default_grid_and_bad_grids():
    made = make_autoregressive_graphs(12, 2, 5, density=0.4, random_state=1)
    plain = AutoregressiveLinkPredictor(rank=2)
    model = AutoregressiveLinkPredictorCV(estimator=plain).fit(made.snapshots)
    assert model.cv_scores_.shape == (4, 3, 1, 2)
    best = AutoregressiveLinkPredictor(**model.best_params_, rank=2).fit(made.snapshots)
    assert model.A_next_ == pytest.approx(best.A_next_)
    assert np.count_nonzero(best.A_next_) > 12
    for bad, words in (
        ({"taus": [-1.0]}, "at least 0"),
        ({"gammas": [[1.0]]}, "sequence"),
        ({"n_splits": 4}, "need at least 6"),
    ):
        with pytest.raises(ValueError, match=words):
            AutoregressiveLinkPredictorCV(**bad, estimator=plain).fit(made.snapshots)


@pytest.mark.parametrize("nonneg", [True, False])
def test_factors_never_raise_the_objective_and_it_is_what_it_says(nonneg):
    made = make_autoregressive_graphs(20, 3, 7, density=0.4, nonneg=nonneg, random_state=0)
    model = FactorizedLinkPredictor(3, 1e-5, kappa=1e-3, nonneg=nonneg, max_iter=1000).fit(
        [sp.csr_array(A) for A in made.snapshots]
    )
    assert (np.diff(model.objectives_) <= 1e-12).all()
    total = made.snapshots.sum(axis=0)
    psi = np.linalg.svd(total)[2][:3].T
    psi *= np.sign(psi[np.abs(psi).argmax(axis=0), np.arange(3)])
    F, K = made.snapshots @ psi, model.var_coef_
    value = ((F[1:] - F[:-1] @ K) ** 2).sum() / 6 + 1e-3 * 20 * np.abs(K).sum()
    value += ((model.predict_scores() @ psi - F[-1] @ K) ** 2).sum() / 60
    value += 1e-5 * np.abs(model.U_).sum() * np.abs(model.V_).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    if nonneg:
        assert model.U_.min() >= 0.0
        assert model.V_.min() >= 0.0
    scores = model.predict_scores()
    assert model.predict_scores([[3, 4]]) == pytest.approx(scores[3, 4])


def test_factors_without_penalty_meet_the_features():
    made = make_autoregressive_graphs(20, 3, 7, density=0.4, random_state=0)
    free = FactorizedLinkPredictor(3, 0.0, kappa=1e-3, nonneg=False).fit(made.snapshots)
    convex = AutoregressiveLinkPredictor(0.0, 0.0, 1e-3, rank=3, nonneg=False, tol=1e-9)
    convex.fit(made.snapshots)
    assert free.objective_ == pytest.approx(convex.objective_, rel=1e-6)
    with pytest.warns(UserWarning, match="No link"):
        FactorizedLinkPredictor(3, 1e3).fit(made.snapshots)
    with pytest.raises(ValueError, match="order=9"):
        FactorizedLinkPredictor(order=9).fit(made.snapshots)


def test_the_generator_is_section_4_2():
    made = make_autoregressive_graphs(40, 4, 9, random_state=3)
    assert made.snapshots.shape == (9, 40, 40)
    assert made.snapshots == pytest.approx(made.U[:-1] @ made.V.T)
    assert made.A_next == pytest.approx(made.U[-1] @ made.V.T)
    assert made.snapshots.min() >= 0.0
    assert np.abs(np.linalg.eigvals(made.K)).max() == pytest.approx(0.9)
    assert np.linalg.matrix_rank(made.A_next) <= 4
    noise = made.U[1:] - made.U[:-1] @ made.K
    assert 0.01 < (noise > 1e-12).mean() < 0.04  # P(N > 2) is 0.023
    signed = make_autoregressive_graphs(40, 4, 9, nonneg=False, random_state=3)
    assert signed.snapshots.min() < 0.0
    for wrong in ({"rank": 60}, {"density": 0.0}, {"radius": 1.0}, {"sigma": -1.0}, {"T": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            make_autoregressive_graphs(**wrong)


def test_prox_that_has_not_arrived_says_so(monkeypatch):
    from octavo.network.autoregressive import combined_shrinkage

    Y = np.random.default_rng(0).normal(size=(12, 9))
    short = functools.partial(combined_shrinkage.shrink_both, max_iter=2)
    monkeypatch.setattr(combined_shrinkage, "shrink_both", short)
    with pytest.warns(ConvergenceWarning, match="of the norm of Y apart after 2 steps"):
        prox_nuclear_l1(Y, 1.0, 0.3, True)
