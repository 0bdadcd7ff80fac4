"""Private selection: exact probabilities, every neighbour, disjoint records, public tuning."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, SGDClassifier

from octavo.linear import (
    PrivateHuberSVM,
    PrivateLogisticRegression,
    PrivateModelSelector,
    ReproducibleNoiseWarning,
    exponential_mechanism,
    selection_excess_bound,
    selection_probabilities,
)
from octavo.linear.private.noise import NoiseSource

pytestmark = pytest.mark.filterwarnings("ignore::octavo.linear.ReproducibleNoiseWarning")


class Spy(ClassifierMixin, BaseEstimator):
    """A private classifier in name, which remembers what it was given."""

    seen: list = []
    differentially_private = True

    def __init__(self, answer=0, epsilon=1.0):
        self.answer = answer
        self.epsilon = epsilon

    def fit(self, X, y):
        Spy.seen.append((self.answer, self.epsilon, X[:, 0].copy(), y.copy()))
        self.classes_ = np.array([0, 1])
        self.rows_ = X[:, 0].copy()
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.answer)


@pytest.fixture
def spied():
    Spy.seen = []
    return Spy.seen


def numbered(n, positive=0.5):
    """Records that carry their own number, so that it can be seen where they went."""
    return np.arange(n, dtype=float)[:, None], (np.arange(n) < positive * n).astype(int)


# --- the choice ---------------------------------------------------------------------------------


def test_probabilities_by_hand():
    z, epsilon = np.array([3, 5, 4, 30]), 0.7
    weight = np.exp(-epsilon * z / 2)
    np.testing.assert_allclose(selection_probabilities(z, epsilon), weight / weight.sum())
    np.testing.assert_allclose(
        selection_probabilities(10 * z, epsilon, sensitivity=10), weight / weight.sum()
    )
    assert selection_probabilities([2, 1, 1], np.inf).tolist() == [0, 0.5, 0.5]
    assert selection_probabilities([1e6, 0], 1.0).tolist() == [0, 1]


def test_every_neighbour_of_every_validation_set_within_epsilon():
    """All answers of two models on 5 records, and all records that could replace the last."""
    epsilon, largest = 0.9, 0.0
    wrong = list(itertools.product([0, 1], repeat=2))  # is model 1 wrong, is model 2
    for records in itertools.product(wrong, repeat=5):
        z = np.sum(records, axis=0)
        p = selection_probabilities(z, epsilon)
        for replacement in wrong:
            q = selection_probabilities(z - records[-1] + replacement, epsilon)
            largest = max(largest, np.abs(np.log(p / q)).max())
    assert 0.5 * epsilon < largest <= epsilon


@settings(max_examples=200, deadline=None)
@given(
    z=st.lists(st.integers(0, 40), min_size=2, max_size=8),
    epsilon=st.floats(0.05, 5),
    data=st.data(),
)
def test_neighbouring_scores_stay_within_epsilon(z, epsilon, data):
    change = data.draw(st.lists(st.integers(-1, 1), min_size=len(z), max_size=len(z)))
    one = selection_probabilities(z, epsilon)
    other = selection_probabilities(np.add(z, change), epsilon)
    assert np.abs(np.log(one) - np.log(other)).max() <= epsilon * (1 + 1e-9)


def test_the_bound_is_approached():
    """One model improves and all others worsen: with many of them the ratio nears e^ε."""
    z = np.full(2000, 10)
    change = np.where(np.arange(2000) == 0, -1, 1)
    one, other = selection_probabilities(z, 1.0), selection_probabilities(z + change, 1.0)
    assert 0.99 < np.log(other[0] / one[0]) <= 1


@pytest.mark.parametrize("seed", [None, 7])
def test_choices_follow_their_probabilities(seed):
    source = NoiseSource(None if seed is None else np.random.RandomState(seed))
    z, epsilon = [3, 4, 6, 3], 0.8
    drawn = [exponential_mechanism(z, epsilon, random_state=source) for _ in range(4000)]
    counts = np.bincount(drawn, minlength=4)
    expected = 4000 * selection_probabilities(z, epsilon)
    assert stats.chisquare(counts, expected).pvalue > 1e-6


def test_theorem_27():
    """z exceeds the best by 2 log(m/δ)/ε with probability at most δ, exactly computed."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        m, epsilon, delta = int(rng.integers(2, 12)), rng.uniform(0.05, 2), rng.uniform(0.01, 0.5)
        z = rng.integers(0, 200, m)
        far = z >= z.min() + selection_excess_bound(m, epsilon, delta)
        assert selection_probabilities(z, epsilon)[far].sum() <= delta


@pytest.mark.parametrize(
    ("scores", "epsilon"), [([], 1.0), ([np.nan], 1.0), ([[1]], 1.0), ([1], 0.0), ([1], -2)]
)
def test_bad_scores(scores, epsilon):
    with pytest.raises(ValueError, match="must be"):
        selection_probabilities(scores, epsilon)


# --- Algorithm 4 --------------------------------------------------------------------------------


def test_candidates_see_disjoint_records_and_the_whole_epsilon(spied):
    X, y = numbered(103)
    selector = PrivateModelSelector(Spy(), epsilon=0.3, param_grid={"answer": [0, 1, 0, 1]})
    selector.fit(X, y)
    rows = [set(x) for _, _, x, _ in spied]
    assert [len(r) for r in rows] == [21, 21, 21, 20]  # 103 in five parts
    assert len(set.union(*rows)) == 83  # disjoint, and 20 left to choose by
    assert {epsilon for _, epsilon, _, _ in spied} == {0.3}
    assert all((y[x.astype(int)] == labels).all() for _, _, x, labels in spied)
    assert selector.best_estimator_ is selector.estimators_[selector.best_index_]
    assert len(selector.candidates_) == 4


def test_selection_has_the_exact_probability(spied):
    """Two constant models and a known split: the mistakes are counts of labels."""
    X, y = numbered(30, positive=0.6)
    epsilon, picks, expected = 0.4, 0, 0.0
    for seed in range(600):
        order = NoiseSource(np.random.RandomState(seed)).permutation(30)
        last = np.array_split(order, 3)[-1]
        z = [(y[last] != answer).sum() for answer in (0, 1)]
        expected += selection_probabilities(z, epsilon)[1]
        selector = PrivateModelSelector([Spy(0), Spy(1)], epsilon, random_state=seed)
        picks += selector.fit(X, y).best_index_
    # A sum of independent choices: its standard deviation is at most √600/2.
    assert abs(picks - expected) < 5 * np.sqrt(600) / 2


def test_nothing_is_kept_of_the_validation_records():
    X, y = numbered(40)
    selector = PrivateModelSelector(Spy(), param_grid={"answer": [0, 1]}).fit(X, y)
    assert set(vars(selector)) - set(selector.get_params()) == {
        "best_estimator_",
        "best_index_",
        "candidates_",
        "estimators_",
        "classes_",
        "epsilon_spent_",
        "n_samples_public_",
        "n_features_in_",
    }


def test_labels_missing_from_a_part_are_known_to_all_candidates():
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.zeros(40, dtype=int)
    y[0] = 1  # in one part only
    selector = PrivateModelSelector(epsilon=5.0).fit(X, y)
    assert all(model.classes_.tolist() == [0, 1] for model in selector.estimators_)


def test_a_seed_fixes_everything_and_warns_once():
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.7, 0.7, (200, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ReproducibleNoiseWarning) as caught:
        one = PrivateModelSelector(random_state=3).fit(X, y)
    assert len(caught) == 1
    other = PrivateModelSelector(random_state=3).fit(X, y)
    np.testing.assert_array_equal(one.best_estimator_.coef_, other.best_estimator_.coef_)
    free = [PrivateModelSelector().fit(X, y).best_estimator_.coef_[0, 0] for _ in range(2)]
    assert free[0] != free[1]


def test_sparse_records_and_several_estimators():
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.7, 0.7, (3000, 2))
    y = np.where(X @ [1, -1] > 0, "up", "down")
    candidates = [PrivateLogisticRegression(alpha=0.01), PrivateHuberSVM(alpha=0.01)]
    selector = PrivateModelSelector(candidates, epsilon=5.0).fit(sp.csr_array(X), y)
    assert selector.score(X, y) > 0.85
    assert not hasattr(PrivateModelSelector(candidates), "predict_proba")
    assert hasattr(PrivateModelSelector(candidates[0]), "predict_proba")


def test_better_candidates_are_chosen_more_often():
    """A candidate drowned in noise points anywhere: in the plane it errs in θ/π, θ uniform."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.7, 0.7, (1200, 2))
    y = (X[:, 0] > 0).astype(int)
    model, grid = PrivateLogisticRegression(method="output"), {"alpha": [1e-7, 1e-1]}
    picks = [
        PrivateModelSelector(model, 2.0, random_state=seed, param_grid=grid).fit(X, y).best_index_
        for seed in range(20)
    ]
    # The good one errs in a few per cent and loses to luck about once in twenty.
    assert sum(picks) >= 15


# --- public records -----------------------------------------------------------------------------


def test_public_tuning_looks_at_private_records_once(spied):
    X, y = numbered(600)
    X_public, y_public = numbered(60, positive=0.2)
    X_public += 1000
    selector = PrivateModelSelector(Spy(), epsilon=0.2, param_grid={"answer": [1, 0]}, cv=3)
    selector.fit(X, y, X_public=X_public, y_public=y_public)
    assert selector.best_index_ == 1  # answers 0, as 80 % of the public records do
    np.testing.assert_allclose(selector.public_errors_, [0.8, 0.2])
    *trials, final = spied
    assert len(trials) == 6
    for _, epsilon, rows, _ in trials:
        assert (rows >= 1000).all()
        assert epsilon == pytest.approx(0.2 * 600 / 40)  # n times epsilon as in the final fit
    assert final[1] == 0.2
    np.testing.assert_array_equal(np.sort(final[2]), X[:, 0])
    assert selector.epsilon_spent_ == 0.2


def test_public_noise_is_the_private_noise():
    """Output perturbation: nΛε is kept, hence the noise; a penalty is judged under it."""
    public = PrivateLogisticRegression(0.1 * 5000 / 100, method="output", alpha=0.02)
    private = PrivateLogisticRegression(0.1, method="output", alpha=0.02)
    rng = np.random.default_rng(4)
    X = rng.uniform(-0.5, 0.5, (5000, 2))
    y = (X[:, 0] > 0).astype(int)
    scales = [m.fit(X[:n], y[:n]).noise_scale_ for m, n in ((public, 100), (private, 5000))]
    assert scales[0] == pytest.approx(scales[1])


# --- refusals -----------------------------------------------------------------------------------


def test_bad_input():
    X, y = numbered(30)
    for other in (LogisticRegression(), SGDClassifier(epsilon=0.5)):  # another epsilon
        with pytest.raises(ValueError, match=f"{type(other).__name__} is not one"):
            PrivateModelSelector(other).fit(X, y)
    with pytest.raises(ValueError, match="no candidates"):
        PrivateModelSelector([]).fit(X, y)
    with pytest.raises(ValueError, match="at least 31 records"):
        PrivateModelSelector([clone(Spy()) for _ in range(30)]).fit(X, y)
    with pytest.raises(ValueError, match="only one of them"):
        PrivateModelSelector(Spy()).fit(X, y, X_public=X)
    with pytest.raises(ValueError, match="two classes"):
        PrivateModelSelector(Spy()).fit(X, np.ones(30))
    with pytest.raises(ValueError, match="epsilon"):
        PrivateModelSelector(Spy(), epsilon=0).fit(X, y)
    with pytest.raises(ValueError, match="no_such"):
        PrivateModelSelector(Spy(), param_grid={"no_such": [1]}).fit(X, y)
    with pytest.raises(TypeError):
        PrivateModelSelector(Spy()).fit(X, y, sample_weight=np.ones(30))
