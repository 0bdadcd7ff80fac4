"""The estimators: what they learn, how a chain goes on, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC, LinearSVR

from octavo.bayes import (
    BayesianLinearSVM,
    BayesianLinearSVR,
    GibbsLDA,
    GibbsMedLDAClassifier,
    GibbsMedLDAMultilabel,
    GibbsMedLDARegressor,
    topic_report,
)
from octavo.data import make_labelled_topics

SMALL = {"n_topics": 3, "n_iter": 12, "n_avg": 4, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    X, y, theta = make_labelled_topics(
        120, n_classes=3, n_words=150, doc_length=40, return_shares=True, random_state=3
    )
    return X, y, theta


@pytest.fixture(scope="module")
def small_topics():
    return make_labelled_topics(900, random_state=11)


def test_five_topics_find_the_small_one(small_topics):
    """The synthetic benchmark: plain topics spend themselves on what is large."""
    X, y = small_topics
    model = GibbsMedLDAClassifier(n_topics=5, margin=16, n_iter=30, random_state=0)
    assert model.fit(X[:500], y[:500]).score(X[500:], y[500:]) >= 0.93
    plain = GibbsLDA(n_topics=5, n_iter=60, random_state=0).fit(X[:500])
    svm = LinearSVC(C=10.0).fit(plain.doc_topic_, y[:500])
    assert svm.score(plain.transform(X[500:]), y[500:]) < 0.85


def test_the_last_state_and_going_on(corpus):
    X, y, _ = corpus
    options = SMALL | {"n_avg": 1}
    whole = GibbsMedLDAClassifier(**options).fit(X, y)
    parts = GibbsMedLDAClassifier(**options | {"n_iter": 7}).fit(X, y)
    for _ in range(5):
        parts.continue_fit(1)
    for name in ("components_", "coef_", "doc_topic_", "losses_", "log_likelihoods_"):
        assert_array_equal(getattr(whole, name), getattr(parts, name))
    chain = whole._chains[0]
    assert_allclose(whole.doc_topic_, chain.doc_topic / chain.lengths[:, None])
    assert_allclose(whole.doc_topic_ * 40, np.round(whole.doc_topic_ * 40), atol=1e-9)
    assert len(whole.losses_) == 12


def test_averages_are_of_the_last_sweeps(corpus):
    X, y, _ = corpus
    model = GibbsMedLDAClassifier(**SMALL).fit(X, y)
    steps = GibbsMedLDAClassifier(**SMALL | {"n_iter": 8, "n_avg": 1}).fit(X, y)
    coefs, shares = [], []
    for _ in range(4):
        steps.continue_fit()
        coefs.append(steps.coef_)
        shares.append(steps.doc_topic_)
    assert_allclose(model.coef_, np.mean(coefs, axis=0))
    assert_allclose(model.doc_topic_, np.mean(shares, axis=0))
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert_allclose(model.doc_topic_.sum(axis=1), 1.0)
    own = np.array([model.doc_topic_[y == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.class_topic_profile_, own)


def test_no_cost_is_plain_topics(corpus):
    """With c = 0 labels move nothing: other labels give the same topics."""
    X, y, _ = corpus
    one = GibbsMedLDAClassifier(c=0.0, **SMALL).fit(X, y)
    other = GibbsMedLDAClassifier(c=0.0, **SMALL).fit(X, (y + 1) % 3)
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.components_, GibbsLDA(**SMALL).fit(X).components_)


def test_one_versus_rest_has_blocks(corpus):
    X, y, _ = corpus
    model = GibbsMedLDAClassifier(multi_class="ovr", margin=16, **SMALL).fit(X, y)
    assert model.components_.shape == (9, 150)
    assert model.coef_.shape == (3, 9)
    assert np.count_nonzero(model.coef_) == 9
    assert model.transform(X).shape == (120, 9)
    assert model.score(X, y) > 0.6
    single = GibbsMedLDAClassifier(multi_class="ovr", **SMALL).fit(X, y == 0)
    assert single.coef_.shape == (1, 3)


def test_multilabel_takes_sparse_and_unknown_labels(corpus):
    X, y, _ = corpus
    Y = (y[:, None] == np.arange(3)).astype(float)
    dense = GibbsMedLDAMultilabel(**SMALL).fit(X, Y)
    thin = GibbsMedLDAMultilabel(**SMALL).fit(X, sp.csr_matrix(Y))
    assert_array_equal(dense.coef_, thin.coef_)
    # the same tasks as those of three classes
    assert_array_equal(dense.coef_, GibbsMedLDAClassifier(**SMALL).fit(X, y).coef_)
    Y[:40, 1] = np.nan
    part = GibbsMedLDAMultilabel(**SMALL).fit(X, Y)
    lin, quad = part._chains[0].lin, part._chains[0].quad
    assert not lin[:40, 1].any()
    assert not quad[:40, 1].any()
    assert quad[40:].all()
    assert dense.predict(X).shape == (120, 3)
    low = GibbsMedLDAMultilabel(threshold=-1e9, **SMALL).fit(X, Y)
    assert low.predict(X).all()


def test_numbers_are_learned(small_topics):
    X, y, theta = make_labelled_topics(500, return_shares=True, random_state=5)
    target = 10 + 10 * (theta[:, 1] - theta[:, 0])
    model = GibbsMedLDARegressor(n_topics=6, c=5.0, nu2=10.0, n_iter=30, random_state=0)
    model.fit(X[:350], target[:350])
    assert model.score(X[350:], target[350:]) > 0.5
    assert_allclose(model.intercept_, target[:350].mean())
    assert model.losses_[-5:].mean() < model.losses_[0]


def test_em_type_baseline(small_topics):
    X, y = small_topics
    model = GibbsMedLDAClassifier(n_topics=20, margin=16, n_iter=15, method="em", random_state=0)
    model.fit(X[:300], y[:300])
    assert model.score(X[:300], y[:300]) > 0.8
    chain = model._chains[0]
    assert not chain.quad.any()
    assert np.all(np.abs(chain.lin) <= 2.0 + 1e-9)


def test_class_weight_scales_the_cost(corpus):
    X, y, _ = corpus
    label = (y == 0).astype(int)
    model = GibbsMedLDAClassifier(class_weight={0: 2.0, 1: 3.0}, **SMALL).fit(X, label)
    assert_allclose(model._chains[0].terms.costs[:, 0], np.where(label == 1, 3.0, 2.0))
    with pytest.raises(ValueError, match="class_weight must name classes"):
        GibbsMedLDAClassifier(class_weight={7: 2.0}, **SMALL).fit(X, label)


def test_answers_do_not_depend_on_what_else_is_asked(corpus):
    X, y, _ = corpus
    model = GibbsMedLDAClassifier(**SMALL).fit(X, y)
    whole = model.transform(X[:20])
    assert_array_equal(model.transform(X[7:9]), whole[7:9])
    assert_array_equal(model.transform(X[:20].toarray()), whole)
    assert_array_equal(model.transform(X[:20].astype(np.float32)), whole)


def test_inference_is_that_of_the_fixed_topics():
    """One word a document: topics have the odds φ_kw, whatever the draws before."""
    X = np.array([[6, 1], [1, 5], [3, 3]])
    model = GibbsLDA(n_topics=2, n_iter=20, n_infer_iter=4000, n_infer_burn=0, random_state=0)
    found = model.fit(X).transform([[1, 0]])[0]
    odds = model.components_[:, 0] / model.components_[:, 0].sum()
    assert_allclose(found, odds, atol=4 * 0.5 / np.sqrt(4000))


def test_warm_start(corpus):
    X, y, _ = corpus
    model = GibbsMedLDAClassifier(warm_start=True, **SMALL).fit(X, y)
    chain = model._chains[0]
    kept = chain.doc_topic.copy()
    model.set_params(n_iter=1, c=0.0, beta=1e-9).fit(X, y)
    assert model._chains[0] is chain
    fresh = GibbsLDA(**SMALL | {"n_iter": 1}).fit(X)._chains[0].doc_topic
    assert np.abs(chain.doc_topic - kept).sum() < np.abs(fresh - kept).sum()
    model.fit(X[:60], y[:60])
    assert model.doc_topic_.shape == (60, 3)


def test_reports(corpus):
    X, y, _ = corpus
    model = GibbsMedLDAClassifier(**SMALL).fit(X, y)
    names = np.array([f"w{i}" for i in range(150)])
    words = model.top_words(names, 4)
    assert words[1] == [f"w{i}" for i in np.argsort(-model.components_[1], kind="stable")[:4]]
    report = topic_report(model, names, 4)
    sizes = [np.abs(topic.weights).max() for topic in report]
    assert sizes == sorted(sizes, reverse=True)
    assert report[0].words == words[report[0].topic]
    assert_allclose(sum(topic.share for topic in report), 1.0)
    assert_allclose(report[0].word_probs[0], model.components_[report[0].topic].max())
    with pytest.raises(ValueError, match="one name for each of the 150"):
        model.top_words(names[:3])
    with pytest.raises(ValueError, match="must be a topic model"):
        topic_report(LinearSVC())


def test_perplexity_lies_between_one_and_the_vocabulary(corpus):
    X = corpus[0]
    model = GibbsLDA(**SMALL).fit(X)
    one = GibbsLDA(**SMALL | {"n_topics": 1}).fit(X)
    shares = (X.sum(axis=0) + 0.01) / (X.sum() + 0.01 * 150)
    assert_allclose(one.perplexity(X), np.exp(-(X.sum(axis=0) @ np.log(shares)) / X.sum()))
    assert 1 < model.perplexity(X) < one.perplexity(X)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X * 0.5, "not a whole number"),
        (lambda X: -X, "negative"),
        (lambda X: np.vstack([X[:2], 0 * X[:1], X[3:]]), "Row 2 of X has no words"),
        (lambda X: X * 1e155, "at most"),
        (lambda X: np.where(X > 0, np.nan, X), "NaN"),
    ],
)
@pytest.mark.parametrize("cls", [GibbsLDA, GibbsMedLDAClassifier, GibbsMedLDARegressor])
def test_bad_counts(cls, spoil, words):
    X = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match=words):
        cls(**SMALL).fit(spoil(X), [0, 1, 0, 1])


def test_bad_targets():
    X = [[1, 2], [2, 1], [3, 1]]
    with pytest.raises(ValueError, match="at least two classes"):
        GibbsMedLDAClassifier(**SMALL).fit(X, [1, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        GibbsMedLDARegressor(**SMALL).fit(X, [1, np.nan, 2])
    with pytest.raises(ValueError, match="got 2"):
        GibbsMedLDAMultilabel(**SMALL).fit(X, [[0], [1], [2]])
    with pytest.raises(ValueError, match="Column 1 of Y has no known label"):
        GibbsMedLDAMultilabel(**SMALL).fit(X, [[0, np.nan], [1, np.nan], [1, np.nan]])
    with pytest.raises(ValueError, match="n_infer_burn"):
        GibbsLDA(n_infer_iter=5, n_infer_burn=5).fit(X)
    with pytest.raises(ValueError, match="overflow"):
        GibbsMedLDAClassifier(c=1e200, **SMALL).fit(X, [0, 1, 0])
    with pytest.raises(NotFittedError):
        GibbsLDA().transform(X)


def test_unknown_words_are_left_out():
    X = np.array([[3, 2, 0], [1, 4, 0], [2, 2, 0]])
    model = GibbsMedLDAClassifier(**SMALL).fit(X, [0, 1, 0])
    with pytest.warns(UserWarning, match="row 1, have no word that was seen in fit"):
        found = model.transform([[1, 1, 5], [0, 0, 4]])
    assert_array_equal(found[0], model.transform([[1, 1, 0]])[0])
    assert not found[1].any()


def test_one_word_and_one_document():
    model = GibbsMedLDARegressor(**SMALL).fit([[1, 0]], [2.0])
    assert_allclose(model.predict([[1, 0]]), 2.0, atol=1.0)


# --- machines on observed features ---------------------------------------------------------------


def table(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X @ [1.0, -1.0, 0.3]
    return X, np.where(score + rng.normal(size=n) > 0, "yes", "no"), score


def test_modes_are_those_of_scikit_learn():
    X, y, score = table(0)
    model = BayesianLinearSVM(c=0.8, margin=2.0, nu2=1.5, method="map").fit(X, y)
    svc = LinearSVC(C=2 * 0.8 * 1.5 / 2.0, loss="hinge", fit_intercept=False, tol=1e-9,
                    max_iter=200_000, random_state=0).fit(X, y)  # fmt: skip
    assert_allclose(model.coef_, 2.0 * svc.coef_, atol=1e-5)
    assert_array_equal(model.predict(X), svc.predict(X))
    number = BayesianLinearSVR(c=0.8, nu2=1.5, method="map").fit(X, score)
    svr = LinearSVR(C=2 * 0.8 * 1.5, epsilon=0.1, fit_intercept=False, tol=1e-9,
                    max_iter=500_000, random_state=0).fit(X, score)  # fmt: skip
    assert_allclose(number.coef_, svr.coef_, atol=1e-5)
    assert number.duality_gap_ <= 1e-7 * number.objective_


def test_draws_have_the_posterior_of_two_weights():
    X, y, _ = table(1, 15)
    X = X[:, :2]
    sign = np.where(y == "yes", 1.0, -1.0)
    axis = np.linspace(-5, 5, 201)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    loss = np.maximum(0, 1 - sign * (grid @ X.T)).sum(axis=-1)
    density = np.exp(-0.5 * (grid**2).sum(axis=-1) - 2 * 0.5 * loss)
    density /= density.sum()
    mean = (grid * density[..., None]).sum(axis=(0, 1))
    away = grid - mean
    cov = np.einsum("ab,abi,abj->ij", density, away, away)
    model = BayesianLinearSVM(c=0.5, n_iter=1600, burn_in=100, n_chains=2, random_state=0)
    model.fit(X, y)
    error = np.sqrt(np.diag(cov) / model.ess_[0])
    assert np.all(np.abs(model.coef_[0] - mean) < 4.5 * error)
    assert_allclose(model.coef_cov_, cov, atol=0.12 * cov.max())
    assert model.rhat_.max() < 1.05
    assert model.coef_draws_.shape == (3000, 1, 2)


def test_intercepts_and_several_classes():
    X, y, score = table(2)
    classes = np.digitize(score, [-0.7, 0.7])
    model = BayesianLinearSVM(fit_intercept=True, method="map").fit(X, classes)
    assert model.coef_.shape == (3, 3)
    assert model.coef_cov_.shape == (3, 3, 3)
    assert model.intercept_.shape == (3,)
    assert model.score(X, classes) > 0.7
    plain = BayesianLinearSVM(method="map").fit(X, y)
    assert_array_equal(plain.intercept_, [0.0])
    shifted = BayesianLinearSVR(fit_intercept=True, nu2=100.0, method="map").fit(X, score + 3)
    assert abs(shifted.intercept_ - 3) < 0.1
    with pytest.raises(ValueError, match="n_iter must be larger than burn_in"):
        BayesianLinearSVM(n_iter=10, burn_in=10).fit(X, y)


@pytest.mark.parametrize("scale", [1e5, 1e-5])
def test_modes_scale_with_the_data(scale):
    """Features times a with a prior variance over a² are the same problem."""
    X, y, _ = table(3)
    one = BayesianLinearSVM(method="map").fit(X, y)
    other = BayesianLinearSVM(nu2=scale**-2.0, method="map").fit(X * scale, y)
    assert_allclose(other.coef_ * scale, one.coef_, rtol=1e-4)


def test_draws_are_seeded():
    X, y, _ = table(4)
    first, second = (
        BayesianLinearSVM(n_iter=30, burn_in=5, random_state=1).fit(X, y) for _ in "ab"
    )
    assert_array_equal(first.coef_draws_, second.coef_draws_)


def test_documents_join_the_chain():
    X, y = make_labelled_topics(400, random_state=0)
    model = GibbsMedLDAClassifier(5, margin=16, random_state=0)
    model.partial_fit(X[:150], y[:150]).partial_fit(X[150:300], y[150:300], n_iter=30)
    assert model.doc_topic_.shape == (300, 5)
    chain = model._chains[0]
    assert chain.word_topic.sum() == chain.doc_topic.sum() == X[:300].sum()
    assert_allclose(chain.word_topic.sum(axis=1), X[:300].sum(axis=0))
    whole = GibbsMedLDAClassifier(5, margin=16, random_state=0).fit(X[:300], y[:300])
    assert abs(model.score(X[300:], y[300:]) - whole.score(X[300:], y[300:])) < 0.1
    assert model.losses_.size == 50 + 30


def test_classes_that_come_later():
    X, y = make_labelled_topics(90, n_classes=3, random_state=0)
    first = np.flatnonzero(y < 2)[:30]
    model = GibbsMedLDAClassifier(4, n_iter=5, n_avg=2, random_state=0)
    model.partial_fit(X[first], y[first], classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    assert np.isfinite(model.class_topic_profile_).all()
    model.partial_fit(X, y, n_iter=3)
    assert model.class_topic_profile_.shape == (3, 4)
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match="those of the first call"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1])


def test_numbers_labels_and_plain_topics_join_too():
    X, y = make_labelled_topics(60, random_state=0)
    numbers = GibbsMedLDARegressor(3, n_iter=4, n_avg=1, random_state=0)
    numbers.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:] + 5.0, n_iter=2)
    assert_allclose(numbers.intercept_, np.append(y[:30], y[30:] + 5.0).mean())
    Y = np.column_stack([y, 1 - y]).astype(float)
    Y[40, 1] = np.nan
    labels = GibbsMedLDAMultilabel(3, n_iter=4, n_avg=1, random_state=0)
    assert labels.partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:]).doc_topic_.shape[0] == 60
    with pytest.raises(ValueError, match="must have 2 labels"):
        labels.partial_fit(X[:3], Y[:3, :1])
    plain = GibbsLDA(3, n_iter=4, random_state=0).partial_fit(X[:30]).partial_fit(X[30:])
    assert plain.log_likelihoods_.size == 14
    with pytest.raises(ValueError, match="n_iter"):
        plain.partial_fit(X[:3], n_iter=0)
