"""Spectra, detectors and reports against scikit-learn, scipy, lifelines and closed forms."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize
from scipy.spatial.distance import squareform
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM

from octavo.survival import (
    MaxMinSymbolizer,
    MismatchOutlierDetector,
    SpectrumTransform,
    SymbolicMismatch,
    Symbols,
    risk_report,
)


def cohort(seed, n=20, metric="euclidean"):
    rng = np.random.default_rng(seed)
    records = [
        Symbols(list(rng.normal(size=(5, 8)) + 3 * (i % 7 == 0)), rng.dirichlet(np.ones(5)))
        for i in range(n)
    ]
    return SymbolicMismatch(MaxMinSymbolizer(metric=metric)).fit(records).mismatch_


@pytest.mark.parametrize("seed", range(5))
def test_euclidean_mismatch_has_one_positive_eigenvalue(seed):
    Psi = cohort(seed)
    model = SpectrumTransform(on="paper").fit(Psi)
    assert model.n_positive_ == 1
    assert np.linalg.matrix_rank(model.matrix_, tol=1e-10 * model.eigenvalues_[0]) == 1
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(Psi)[::-1], atol=1e-12)


@pytest.mark.parametrize("on", ["similarity", "gram", "paper"])
@pytest.mark.parametrize("method", ["clip", "flip", "shift", "square"])
def test_transformed_matrices_are_positive_and_rows_agree(method, on):
    Psi = cohort(1, metric="dtw")
    model = SpectrumTransform(method, on)
    K = model.fit_transform(Psi)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * values[-1]
    if method != "shift":
        np.testing.assert_allclose(model.transform(Psi), K, atol=1e-10 * np.abs(K).max())


def test_spectra_by_hand():
    S = np.array([[0.0, 2.0], [2.0, 0.0]])  # eigenvalues 2 and -2
    expected = {
        "clip": [[1, 1], [1, 1]],
        "flip": [[2, 0], [0, 2]],
        "shift": [[2, 2], [2, 2]],
        "square": [[4, 0], [0, 4]],
        "none": S,
    }
    for method, K in expected.items():
        found = SpectrumTransform(method, on="paper").fit_transform(S)
        np.testing.assert_allclose(found, K, atol=1e-14)


def test_clipping_is_idempotent_and_keeps_what_is_positive():
    Psi = cohort(2, metric="dtw")
    once = SpectrumTransform(on="paper").fit_transform(Psi)
    np.testing.assert_allclose(SpectrumTransform(on="paper").fit_transform(once), once, atol=1e-12)
    A = np.random.default_rng(0).normal(size=(6, 6))
    np.testing.assert_allclose(SpectrumTransform(on="paper").fit_transform(A @ A.T), A @ A.T)


def test_gram_of_squared_distances_is_that_of_centred_points():
    points = np.random.default_rng(0).normal(size=(9, 3))
    D = ((points[:, None] - points) ** 2).sum(axis=2)
    centred = points - points.mean(axis=0)
    model = SpectrumTransform(on="gram")
    np.testing.assert_allclose(model.fit_transform(D), centred @ centred.T, atol=1e-12)
    assert model.n_positive_ == 3
    new = np.array([[0.3, -1.0, 2.0]])
    row = ((new[:, None] - points) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        model.transform(row), (new - points.mean(axis=0)) @ centred.T, atol=1e-12
    )


@pytest.mark.parametrize("clip", ["similarity", "paper", "gram", None])
@pytest.mark.parametrize("k", [3, 7])
def test_neighbour_sums_equal_scikit_learn(k, clip):
    Psi = cohort(3, metric="dtw")
    model = MismatchOutlierDetector(k=k, clip=clip).fit(Psi)
    used = Psi
    if clip == "paper":
        used = SpectrumTransform(on="paper").fit_transform(Psi)
    elif clip is not None:
        G = SpectrumTransform(on=clip).fit_transform(Psi)
        used = np.sqrt(np.maximum(np.diag(G) + np.diag(G)[:, None] - 2 * G, 0))
    used = used.copy()
    np.fill_diagonal(used, 0.0)
    d, _ = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(used).kneighbors()
    np.testing.assert_allclose(model.anomaly_scores_, d.sum(axis=1), rtol=1e-10)
    assert model.high_risk_.sum() == 5  # a quarter of twenty
    np.testing.assert_array_equal(model.fit_predict(Psi), np.where(model.high_risk_, -1, 1))


def test_one_class_machine_equals_scikit_learn():
    Psi = cohort(4, 60, metric="dtw")
    K = SpectrumTransform().fit_transform(Psi)
    peer = OneClassSVM(kernel="precomputed", nu=0.25, tol=1e-6).fit(K)
    for clip in ("similarity", "paper"):
        model = MismatchOutlierDetector("ocsvm", clip=clip).fit(Psi)
        np.testing.assert_allclose(-model.anomaly_scores_, peer.score_samples(K), rtol=1e-6)
        np.testing.assert_array_equal(model.labels_, peer.predict(K))
        np.testing.assert_array_equal(model.predict(Psi), peer.predict(K))


def test_linkage_equals_scipy():
    Psi = cohort(5, 30, metric="dtw")
    model = MismatchOutlierDetector("linkage", clip=None).fit(Psi)
    plain = Psi.copy()
    np.fill_diagonal(plain, 0.0)
    Z = linkage(squareform(plain), "average")
    np.testing.assert_allclose(model.merges_, Z)
    height = Z[:, 2]
    line = np.linspace(height[0], height[-1], len(height))
    labels = fcluster(Z, height[np.argmax(line - height)], "distance")
    largest = np.argmax(np.bincount(labels))
    np.testing.assert_array_equal(model.high_risk_, labels != largest)
    planted = np.arange(30) % 7 == 0
    assert model.high_risk_[planted].all()


@pytest.mark.parametrize("method", ["knn", "ocsvm", "linkage"])
@pytest.mark.parametrize("clip", ["similarity", "gram"])
def test_new_recordings_far_away_are_outliers(method, clip):
    x = np.random.default_rng(0).normal(size=40)
    model = MismatchOutlierDetector(method, contamination=0.1, clip=clip)
    model.fit((x - x[:, None]) ** 2)  # smooth: under a kernel with a cusp every new point is far
    rows = (np.array([[0.0], [30.0]]) - x) ** 2
    scores = model.score_samples(rows)
    assert scores[0] > scores[1]
    if method != "linkage":
        np.testing.assert_array_equal(model.predict(rows), [1, -1])
        np.testing.assert_array_equal(model.decision_function(rows) < 0, [False, True])


@pytest.mark.parametrize("method", ["knn", "ocsvm", "linkage"])
@pytest.mark.parametrize("clip", ["similarity", "gram", "paper", None])
def test_rows_of_fit_get_the_answer_of_fit(method, clip):
    Psi = cohort(6)
    model = MismatchOutlierDetector(method, k=3, clip=clip).fit(Psi)
    np.testing.assert_array_equal(model.predict(Psi), model.labels_)
    np.testing.assert_array_equal(model.score_samples(Psi[3:5]), -model.anomaly_scores_[3:5])


def test_bad_matrices():
    Psi = cohort(6)
    crooked = Psi.copy()
    crooked[2, 5] += 1e-3
    for make in (SpectrumTransform, MismatchOutlierDetector):
        with pytest.raises(ValueError, match=r"entries \(2, 5\) and \(5, 2\)"):
            make().fit(crooked)
        with pytest.raises(ValueError, match="square"):
            make().fit(Psi[:, :4])
    for share in (0.0, 0.6, -1):
        with pytest.raises(ValueError, match="contamination"):
            MismatchOutlierDetector(contamination=share).fit(Psi)
    assert MismatchOutlierDetector(k=500).fit(Psi).anomaly_scores_.shape == (20,)


def trial(seed, n=200, ties=True):
    rng = np.random.default_rng(seed)
    high = rng.random(n) < 0.25
    X = rng.normal(size=(n, 2))
    time = rng.exponential(60 / np.exp(0.7 * high + 0.5 * X[:, 0]))
    seen = time < 90
    time = np.minimum(time, 90)
    return high, np.ceil(time) if ties else time, seen, X


@pytest.mark.parametrize("with_covariates", [False, True])
def test_report_equals_lifelines(with_covariates):
    lifelines = pytest.importorskip("lifelines")
    pd = pytest.importorskip("pandas")
    high, time, seen, X = trial(0)
    table = pd.DataFrame({"high": high.astype(float), "T": time, "E": seen})
    if with_covariates:
        table[["a", "b"]] = X
    peer = lifelines.CoxPHFitter().fit(
        table, "T", "E", fit_options={"precision": 1e-12, "step_size": 1.0}
    )
    row = peer.summary.loc["high"]
    report = risk_report(high, time, seen, X if with_covariates else None)
    assert report.hazard_ratio == pytest.approx(row["exp(coef)"], rel=1e-6)
    assert report.ci_low == pytest.approx(row["exp(coef) lower 95%"], rel=1e-6)
    assert report.ci_high == pytest.approx(row["exp(coef) upper 95%"], rel=1e-6)
    assert report.p_value == pytest.approx(row["p"], rel=1e-5)
    for curve, group in ((report.high_curve, high), (report.low_curve, ~high)):
        km = lifelines.KaplanMeierFitter().fit(time[group], seen[group])
        at = np.linspace(0, 95, 40)
        np.testing.assert_allclose(curve(at), km.predict(at).to_numpy(), atol=1e-6)


def test_report_equals_a_numeric_maximum():
    high, time, seen, _ = trial(1, ties=False)

    def loss(beta):
        w = np.exp(beta[0] * high)
        return -sum(beta[0] * high[i] - np.log(w[time >= time[i]].sum()) for i in np.where(seen)[0])

    best = minimize(loss, [0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    report = risk_report(high, time, seen)
    assert np.log(report.hazard_ratio) == pytest.approx(best.x[0], abs=1e-6)
    assert report.events_high + report.events_low == seen.sum()


def test_covariates_are_adjusted_for_and_judged():
    high, time, seen, X = trial(2, 2000)
    plain, adjusted = risk_report(high, time, seen), risk_report(high, time, seen, X)
    assert adjusted.ci_low < np.exp(0.7) < adjusted.ci_high
    assert adjusted.auroc > adjusted.auroc_without > 0.5
    assert plain.auroc_without == 0.5
    shifted = risk_report(high, time, seen, 1e6 + 1e3 * X)
    assert shifted.hazard_ratio == pytest.approx(adjusted.hazard_ratio, rel=1e-6)


def test_reports_say_what_is_wrong():
    high, time, seen, X = trial(3)
    with pytest.raises(ValueError, match="two groups"):
        risk_report(np.ones(200), time, seen)
    with pytest.raises(ValueError, match="row 3 has 2"):
        risk_report(np.where(np.arange(200) == 3, 2, high), time, seen)
    with pytest.raises(ValueError, match="at least one event"):
        risk_report(high, time, np.zeros(200))
    with pytest.raises(ValueError, match="Covariate 1 is constant"):
        risk_report(high, time, seen, np.column_stack([X[:, 0], np.ones(200)]))
    with pytest.raises(ValueError, match="table of 200 rows"):
        risk_report(high, time, seen, X[:5])
    few = seen & (~high | (np.cumsum(seen & high) <= 3))
    with pytest.warns(UserWarning, match="Only 3 event"):
        risk_report(high, time, few)
    with pytest.warns(UserWarning, match=r"Only 0 event\(s\) in the high-risk group"):
        report = risk_report(high, time, seen & ~high)
    # nobody of the group died: the likelihood rises as the ratio falls to zero
    assert report.events_high == 0
    assert 0.0 <= report.ci_low <= report.hazard_ratio < 1e-3
    assert np.isfinite(report.ci_high)
