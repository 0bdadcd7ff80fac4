"""MIC-Multi against brute force, refits, closed forms and predicted false inclusions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from octavo.data import make_shared_features
from octavo.linear import MICSelector, codelength
from octavo.linear.code_length.codes import zscore_bits


def refit_rss(X, y, support):
    design = np.column_stack([np.ones(len(X)), X[:, sorted(support)]])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)


def tasks(n=60, p=12, h=5, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1] += X[:, 0]
    W = rng.standard_normal((p, h)) * (rng.uniform(size=(p, h)) < 0.3)
    return X, X @ W + noise * rng.standard_normal((n, h))


def saved(before, after, n, variance):
    if variance == "plugin":
        return n / (2 * np.log(2)) * (1 - after / before)
    return n / 2 * np.log2(before / after)


def brute_force(X, Y, *, variance="profile", coef_bits=2.0):
    """Algorithm 1 with every subset of tasks of every feature, refitted each time."""
    (n, p), h = X.shape, Y.shape[1]
    supports = [set() for _ in range(h)]
    order, gone = [], set()
    while True:
        best = (0.0, None, None)
        now = [refit_rss(X, Y[:, t], supports[t]) for t in range(h)]
        for j in set(range(p)) - gone:
            then = [refit_rss(X, Y[:, t], supports[t] | {j}) for t in range(h)]
            gains = [saved(a, b, n, variance) for a, b in zip(now, then)]
            if coef_bits == "zscore":
                z = np.sqrt(n * (1 - np.array(then) / np.array(now)))
                gains = gains - zscore_bits(z)
            for k in range(1, h + 1):
                cost = codelength(k, h, p, "partial", 0.0 if coef_bits == "zscore" else coef_bits)
                for subset in itertools.combinations(range(h), k):
                    shorter = sum(gains[t] for t in subset) - cost
                    if shorter > best[0] + 1e-9:
                        best = (shorter, j, subset)
        if best[1] is None:
            return order
        _, j, subset = best
        order.append((j, subset))
        gone.add(j)
        for t in subset:
            supports[t].add(j)


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize(
    ("variance", "coef_bits"), [("profile", 2.0), ("plugin", 1.0), ("profile", "zscore")]
)
@pytest.mark.parametrize("seed", range(3))
def test_every_step_is_that_of_brute_force(seed, variance, coef_bits, cut):
    X, Y = tasks(seed=seed)
    found = MICSelector(variance=variance, coef_bits=coef_bits, branch_and_bound=cut).fit(X, Y)
    steps = list(zip(found.order_.tolist(), (tuple(t.tolist()) for t in found.order_tasks_)))
    assert steps == brute_force(X, Y, variance=variance, coef_bits=coef_bits)
    assert len(steps) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_brute_force_with_eight_tasks(seed):
    X, Y = tasks(p=8, h=8, seed=seed)
    for cut in (True, False):
        found = MICSelector(branch_and_bound=cut).fit(X, Y)
        steps = list(zip(found.order_.tolist(), (tuple(t.tolist()) for t in found.order_tasks_)))
        assert steps == brute_force(X, Y)


@pytest.mark.parametrize("mode", ["partial", "full", "independent"])
@pytest.mark.parametrize("variance", ["profile", "plugin"])
def test_bounds_change_nothing_on_a_wide_table(mode, variance):
    sample = make_shared_features(n_features=700, n_tasks=12, random_state=1)
    one, other = (
        MICSelector(mode, variance=variance, branch_and_bound=cut).fit(sample.X, sample.labels)
        for cut in (True, False)
    )
    assert one.order_.tolist() == other.order_.tolist()
    np.testing.assert_array_equal(one.support_, other.support_)


@pytest.mark.parametrize("mode", ["partial", "full", "independent"])
def test_the_path_is_the_description_length_of_refits(mode):
    X, Y = tasks(p=30)
    n, h = Y.shape
    found = MICSelector(mode).fit(X, Y)
    supports = [set() for _ in range(h)]

    def data_bits():
        sums = [refit_rss(X, Y[:, t], supports[t]) for t in range(h)]
        return sum(n / 2 * np.log2(2 * np.pi * np.e * rss / n) for rss in sums)

    model = 0.0
    for step in range(len(found.order_) + 1):
        data, coded, total = found.description_length_path_[step]
        assert data == pytest.approx(data_bits(), rel=1e-9)
        assert coded == pytest.approx(model, abs=1e-9)
        assert total == data + coded
        if step < len(found.order_):
            for t in found.order_tasks_[step]:
                supports[t].add(found.order_[step])
            model += codelength(len(found.order_tasks_[step]), h, 30, mode)
    assert found.description_length_ == total
    assert np.all(np.diff(found.description_length_path_[:, 2]) < 0)
    for t in range(h):
        left = Y[:, t] - X @ found.coef_[t] - found.intercept_[t]
        assert left @ left == pytest.approx(refit_rss(X, Y[:, t], supports[t]), rel=1e-9)
        assert set(found.get_support(indices=True, task=t)) == supports[t]


def test_independent_is_one_response_at_a_time():
    X, Y = tasks(p=40, h=6)
    together = MICSelector("independent").fit(X, Y)
    for t in range(6):
        for mode in ("partial", "full", "independent"):  # with one response the codes are one
            alone = MICSelector(mode).fit(X, Y[:, t])
            np.testing.assert_array_equal(alone.support_[:, 0], together.support_[:, t])
            np.testing.assert_allclose(alone.coef_, together.coef_[t])


@pytest.mark.parametrize("seed", range(8))
def test_less_its_index_code_it_is_stepwise_bic(seed):
    X, Y = tasks(p=5, h=1, seed=seed)
    Y[:, 0] += 0.5 * X[:, 2] + 0.3 * X[:, 3]
    n, y, order = len(X), Y[:, 0], []
    while len(order) < 5:
        bics = {
            j: n * np.log(refit_rss(X, y, [*order, j])) + np.log(n) * (len(order) + 1)
            for j in set(range(5)) - set(order)
        }
        best = min(bics, key=bics.get)
        if bics[best] >= n * np.log(refit_rss(X, y, order)) + np.log(n) * len(order):
            break
        order.append(best)
    # lg 5 bits say which feature; half of lg 60 is what BIC charges for all of it.
    found = MICSelector("independent", coef_bits=0.5 * np.log2(n) - np.log2(5)).fit(X, y)
    assert found.order_.tolist() == order
    assert order


def test_an_orthonormal_design_has_a_closed_form():
    rng = np.random.default_rng(3)
    n, p = 64, 20
    Q = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, p))]))[0][:, 1:]
    y = Q @ np.where(np.arange(p) < 8, rng.uniform(0.5, 3, p), 0) * 4 + rng.standard_normal(n)
    found = MICSelector().fit(Q, y)
    left, exact = float(((y - y.mean()) ** 2).sum()), []
    for j in np.argsort(-np.abs(Q.T @ y)):  # by the size of z'y, until one is not worth it
        fall = float(Q[:, j] @ y) ** 2
        if n / 2 * np.log2(left / (left - fall)) <= np.log2(p) + 2:
            break
        exact.append(int(j))
        left -= fall
    assert found.order_.tolist() == exact
    assert len(exact) > 3


def test_full_is_simultaneous_orthogonal_matching_pursuit():
    """Of all unused features the one that takes most bits from all tasks together."""
    X, Y = tasks(p=15, h=4, seed=2)
    found, chosen = MICSelector("full").fit(X, Y), []
    for j in found.order_:
        bits = {
            c: sum(np.log2(refit_rss(X, y, chosen) / refit_rss(X, y, [*chosen, c])) for y in Y.T)
            for c in set(range(15)) - set(chosen)
        }
        assert j == max(bits, key=bits.get)
        chosen.append(int(j))
    assert found.support_[chosen].all()


@pytest.mark.slow
def test_false_inclusions_on_pure_noise_are_as_predicted():
    """The first feature of p enters iff F > its quantile; p of them are nearly independent."""
    n, p, runs = 100, 500, 600
    share = 1 - 2.0 ** (-2 / n * (np.log2(p) + 2))  # of R² at which the bits are paid
    single = stats.beta.sf(share, 0.5, (n - 2) / 2)
    expected = 1 - (1 - single) ** p
    rng = np.random.default_rng(0)
    entered = 0
    for _ in range(runs // 20):
        X, Y = rng.standard_normal((n, p)), rng.standard_normal((n, 20))
        entered += int(MICSelector("independent").fit(X, Y).support_.any(axis=0).sum())
    error = np.sqrt(expected * (1 - expected) / runs)
    assert abs(entered / runs - expected) < 4 * error
    asymptotic = stats.norm.sf(np.sqrt(2 * np.log(4 * p))) * 2 * p
    assert asymptotic < expected < 3 * asymptotic  # a profiled variance lets in more at small n


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("mode", ["partial", "full", "independent"])
def test_sparse_tables_give_the_same_model(form, mode):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 60)) * (rng.uniform(size=(80, 60)) < 0.1)
    Y = X[:, :3] @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((80, 4))
    dense, sparse = MICSelector(mode).fit(X, Y), MICSelector(mode).fit(form(X), Y)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-8, atol=1e-10)
    assert dense.description_length_ == pytest.approx(sparse.description_length_, rel=1e-10)


def test_sparse_tables_are_never_densified(monkeypatch):
    X = sp.random_array((50, 4000), density=0.01, rng=np.random.default_rng(0), format="csr")
    dense = int(np.argmax(np.diff(X.tocsc().indptr)))
    Y = X[:, [dense]].toarray() + 0.01 * np.random.default_rng(1).standard_normal((50, 3))

    def refuse(self, *args, **kwargs):
        if min(self.shape) > 1:
            raise AssertionError("densified")

    for cls in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix):
        monkeypatch.setattr(cls, "toarray", refuse)
        monkeypatch.setattr(cls, "todense", refuse)
    assert MICSelector().fit(X, Y).order_[0] == dense


def test_scale_and_shift_do_not_matter():
    X, Y = tasks(p=30)
    rng = np.random.default_rng(9)
    other = X * 10.0 ** rng.integers(-8, 8, 30) + rng.standard_normal(30)
    one, two = MICSelector().fit(X, Y), MICSelector().fit(other, 1e6 * Y - 3)
    np.testing.assert_array_equal(one.support_, two.support_)


def test_max_features_stops_before_more():
    X, Y = tasks(p=30)
    for mode in ("partial", "full", "independent"):
        whole = MICSelector(mode).fit(X, Y)
        part = MICSelector(mode, max_features=2).fit(X, Y)
        assert part.get_support().sum() == 2
        assert part.order_.tolist() == whole.order_[: len(part.order_)].tolist()
        assert MICSelector(mode, max_features=0).fit(X, Y).order_.size == 0


def test_saturation_stops_with_a_warning_and_finite_bits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 50))
    with pytest.warns(UserWarning, match="closed"):
        found = MICSelector().fit(X, 3 * X[:, 4] + 1)
    assert found.order_.tolist() == [4]
    assert np.isfinite(found.description_length_path_).all()
    with pytest.warns(UserWarning, match="closed"):
        runaway = MICSelector(coef_bits=0.0, variance="profile").fit(X[:6], rng.normal(size=6))
    assert len(runaway.order_) <= 4


def test_a_constant_response_takes_no_feature_and_pays_nothing():
    X, Y = tasks(h=4)
    with_one = np.column_stack([Y, np.full(len(Y), 0.1)])
    with pytest.warns(UserWarning, match="Response 4 is constant"):
        found = MICSelector().fit(X, with_one)
    assert not found.support_[:, 4].any()
    assert found.intercept_[4] == pytest.approx(0.1)
    with pytest.warns(UserWarning, match="constant"):
        assert MICSelector().fit(X, np.ones(len(X))).order_.size == 0


def test_copies_of_a_column_enter_once():
    X, Y = tasks(h=3)
    found = MICSelector().fit(np.column_stack([X, X, 2 * X + 1]), Y)
    assert len({j % 12 for j in found.order_}) == len(found.order_)


def test_wrong_settings_are_named():
    X, Y = tasks()
    for params, words in (
        ({"mode": "some"}, "'mode'"),
        ({"cov": 1.5}, "'cov'"),
        ({"mode": "independent", "cov": "full"}, "cov='diag'"),
        ({"coef_bits": "zscore", "cov": 0.5}, "zscore"),
        ({"coef_bits": -1.0}, "'coef_bits'"),
    ):
        with pytest.raises(ValueError, match=words):
            MICSelector(**params).fit(X, Y)
    with pytest.raises(ValueError, match="task must be"):
        MICSelector().fit(X, Y).get_support(task=5)
    with pytest.raises(ValueError, match="NaN"):
        MICSelector().fit(X, np.where(Y > 2, np.nan, Y))
