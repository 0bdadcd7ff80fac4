"""MICRegressor and MICClassifier: predictions, labels, classes, refits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from octavo.data import make_shared_features
from octavo.linear import MICClassifier, MICGroup, MICRegressor, MICSelector


def test_the_regressor_predicts_with_its_coefficients():
    sample = make_shared_features(n_samples=200, n_features=300, n_tasks=5, random_state=0)
    model = MICRegressor().fit(sample.X[:100], sample.Y[:100])
    assert model.coef_.shape == (5, 300)
    np.testing.assert_allclose(
        model.predict(sample.X[100:]), sample.X[100:] @ model.coef_.T + model.intercept_
    )
    assert model.score(sample.X[100:], sample.Y[100:]) > 0.9
    one = MICRegressor().fit(sample.X, sample.Y[:, 0])
    assert one.coef_.shape == (300,)
    assert one.predict(sample.X).shape == (200,)
    assert one.support_.shape == (300, 1)
    assert one.transform(sample.X).shape == (200, one.get_support().sum())


def test_labels_are_refitted_on_their_own_features():
    sample = make_shared_features(n_samples=150, n_features=200, n_tasks=6, random_state=1)
    model = MICClassifier().fit(sample.X, sample.labels)
    selector = MICSelector().fit(sample.X, sample.labels.astype(float))
    np.testing.assert_array_equal(model.support_, selector.support_)
    proba = model.predict_proba(sample.X)
    for t in range(6):
        mine = selector.get_support(task=t)
        Z = StandardScaler().fit_transform(sample.X[:, mine])
        exact = LogisticRegression().fit(Z, sample.labels[:, t]).predict_proba(Z)[:, 1]
        np.testing.assert_allclose(proba[:, t], exact)
    assert model.predict(sample.X).shape == sample.labels.shape
    np.testing.assert_array_equal(model.predict(sample.X), proba > 0.5)
    np.testing.assert_allclose(
        model.decision_function(sample.X), sample.X @ model.coef_.T + model.intercept_
    )


def test_classes_are_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MICClassifier().fit(X, names)
    assert model.score(X, names) > 0.9
    assert model.support_.shape == (4, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)]
    )
    two = MICClassifier().fit(X[:100], names[:100])
    assert two.support_.shape == (4, 1)
    assert two.decision_function(X[:5]).shape == (5,)
    assert two.score(X[:100], names[:100]) == 1.0


def test_sparse_rows_give_the_same_classes():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    one, other = (MICClassifier(max_features=15).fit(T, y) for T in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.predict(X), other.predict(sp.csr_array(X)))


@pytest.mark.parametrize("sparse", [False, True])
def test_units_of_features_change_no_probability(sparse):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] - 0.5 * X[:, 2] + 0.5 * rng.normal(size=150) > 0).astype(int)
    form = sp.csr_array if sparse else np.asarray
    expected = MICClassifier().fit(form(X), y).predict_proba(form(X))
    assert np.ptp(expected[:, 1]) > 0.9
    units = (1e-5, 1e5, 10.0 ** np.arange(-6, 6, 2))
    shifts = () if sparse else (1e6,)
    for Z in [X * unit for unit in units] + [X + shift for shift in shifts]:
        model = MICClassifier().fit(form(Z), y)
        np.testing.assert_allclose(model.predict_proba(form(Z)), expected, atol=1e-3)
        np.testing.assert_allclose(
            model.decision_function(form(Z)), Z @ model.coef_[0] + model.intercept_[0], atol=1e-6
        )


@pytest.mark.parametrize("final", [RidgeClassifier(), DecisionTreeClassifier(random_state=0)])
def test_any_classifier_may_be_final(final):
    X, y = load_iris(return_X_y=True)
    model = MICClassifier(final=final).fit(X, y)
    assert model.score(X, y) > 0.75
    assert hasattr(model, "coef_") == isinstance(final, RidgeClassifier)
    if isinstance(final, RidgeClassifier):
        with pytest.raises(ValueError, match="predict_proba"):
            model.predict_proba(X)


def test_where_nothing_is_worth_its_bits_shares_decide():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), (rng.uniform(size=60) < 0.3).astype(int)
    model = MICClassifier().fit(X, y)
    assert not model.get_support().any()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean())
    assert (model.predict(X) == 0).all()
    assert model.estimators_ == [None]


def test_a_label_that_is_never_set_stays_unset():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = np.column_stack([X[:, 0] > 0, np.zeros(60)]).astype(int)
    with pytest.warns(UserWarning, match="Response 1 is constant"):
        model = MICClassifier().fit(X, Y)
    assert (model.predict(X)[:, 1] == 0).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_groups_select_before_a_classifier():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40))
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(120) > 0).astype(int)
    model = make_pipeline(MICGroup(np.repeat(range(4), 10)), LogisticRegression()).fit(X, y)
    assert set(model[0].order_) == {0, 1, 2}
    assert model.score(X, y) > 0.9


@pytest.mark.slow
def test_table_2_errors_are_those_of_an_independent_run():
    """Test errors of the sheet's own re-run of Table 2, 0.02 apart at most."""
    expected = {
        ("partial", "partial"): 0.11,
        ("partial", "full"): 0.19,
        ("partial", "independent"): 0.13,
        ("full", "partial"): 0.08,
        ("full", "independent"): 0.11,
        ("independent", "partial"): 0.17,
        ("independent", "independent"): 0.13,
    }
    for (scenario, mode), error in expected.items():
        errors = []
        for seed in range(5):
            drawn = make_shared_features(scenario, 1100, random_state=seed)
            model = MICClassifier(mode).fit(drawn.X[:100], drawn.labels[:100])
            errors.append(np.mean(model.predict(drawn.X[100:]) != drawn.labels[100:]))
        assert np.mean(errors) == pytest.approx(error, abs=0.02), (scenario, mode)
