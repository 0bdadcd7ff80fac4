"""HighOrderCRF against enumeration, the paper's example, crfsuite, cvxpy and dense chains."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from octavo.data import load_dataset, make_high_order_markov
from octavo.data.loaders.datasets import DatasetNotFoundError
from octavo.engine.chains.inference import log_partition
from octavo.sequence import BoundaryLabel, HighOrderCRF, observed_patterns, window_features
from octavo.sequence.crf.chain_field import ChainData, ChainField, FieldLikelihood
from octavo.sequence.crf.label_grammar import LabelGrammar

# --- the worked example of Appendix B ---------------------------------------------------------

WORDS = ["Peter", "goes", "to", "Britain", "and", "France", "annually", "."]
LABELS = ["P", "O", "L"]
TRUE_LABEL = ["P", "O", "O", "L", "O", "L", "O", "O"]
LOL = ("L", "O", "L")
SENTENCE = [{"word": word} for word in WORDS]
# Table 12, ln α for the states P, O, L, LO. Three entries of the printed table are slips of
# rounding: α(3, L) is printed 3.12, α(3, O) 3.87 and α(7, P) 9.60.
TABLE_12 = np.array(
    [
        [1.00, 0.00, 0.00, -np.inf],
        [1.55, 2.31, 1.55, 1.00],
        [3.10, 3.86, 3.10, 2.55],
        [4.65, 4.42, 5.65, 3.10],
        [6.21, 6.35, 6.21, 6.65],
        [7.76, 7.52, 9.21, 6.21],
        [9.59, 9.45, 9.59, 10.21],
        [11.14, 11.91, 11.14, 10.59],
    ]
)
TABLE_14 = np.array(
    [
        [0.58, 0.21, 0.21, 0.00],
        [0.21, 0.58, 0.21, 0.00],
        [0.21, 0.58, 0.21, 0.03],
        [0.16, 0.16, 0.68, 0.08],
        [0.16, 0.68, 0.16, 0.01],
        [0.16, 0.16, 0.68, 0.39],
        [0.21, 0.58, 0.21, 0.01],
        [0.21, 0.58, 0.21, 0.08],
    ]
)


def worked_example(position_free=False):
    """Return the model of Tables 10 and 11: all weights 1, and LOL at France only."""
    coef = np.zeros((8, 3))
    coef[np.arange(8), [LABELS.index(y) for y in TRUE_LABEL]] = 1.0
    at_france = np.eye(8)[WORDS.index("France")]
    return HighOrderCRF.from_weights(
        LABELS,
        coef,
        {LOL: float(position_free)},
        transition_coef={} if position_free else {LOL: at_france},
        feature_names=[f"word={word}" for word in WORDS],
    )


def log_z(model, X):
    """Return log Z of one sequence from the probability of any labelling."""
    labels = [model.classes_[0]] * len(X)
    data = ChainData(*model._read([X], None)[:2], np.zeros(len(X), dtype=int))
    score = model._field.path_scores(model._weights, data)
    return float(score[0] - model.score_sequences([X], [labels])[0])


def test_appendix_b_partition_function():
    assert log_z(worked_example(), SENTENCE) == pytest.approx(12.6957, abs=5e-5)
    assert log_z(worked_example(position_free=True), SENTENCE) == pytest.approx(13.0254, abs=5e-5)


def test_appendix_b_forward_variables():
    model = worked_example()
    states = [model.states_[s] for s in model._field.grammar.states]
    groups = [[("P",)], [("O",)], [("L",), LOL], [("L", "O")]]  # LOL is a state of ours only
    for j in range(1, 9):
        data = ChainData(*model._read([SENTENCE[:j]], None)[:2])
        found = model._field.marginals(model._weights, data)
        for column, group in enumerate(groups):
            chance = sum(found.ends[states.index(p)] for p in group)
            printed = TABLE_12[j - 1, column]
            if printed == -np.inf:
                assert chance == 0
            else:
                ours = found.log_partition[0] + np.log(chance)
                assert ours == pytest.approx(printed, abs=0.0051), (j, group)


def test_appendix_b_marginals():
    model = worked_example()
    asked = [("P",), ("O",), ("L",), LOL]
    found = model.pattern_marginals([SENTENCE], asked)[0]
    np.testing.assert_allclose(found, TABLE_14, atol=0.0051)
    labels = model.predict_marginals([SENTENCE])[0]
    order = [model.classes_.tolist().index(y) for y in LABELS]
    np.testing.assert_allclose(labels[:, order], found[:, :3], atol=1e-12)
    assert model.predict([SENTENCE])[0].tolist() == TRUE_LABEL


# --- enumeration of all labellings ------------------------------------------------------------


@st.composite
def small_models(draw):
    """Return a model with random patterns and weights, and the observations of one sequence."""
    n, T = draw(st.integers(1, 3)), draw(st.integers(1, 6 if n_small(draw) else 5))
    labels = list("abc")[:n]
    label = st.sampled_from(labels)
    patterns = draw(st.sets(st.lists(label, min_size=1, max_size=4).map(tuple), max_size=8))
    observed = draw(st.sets(st.lists(label, min_size=2, max_size=3).map(tuple), max_size=3))
    if draw(st.booleans()):
        inside = st.lists(label, min_size=1, max_size=2).map(tuple)
        patterns |= {(BoundaryLabel.BEGIN, *z) for z in draw(st.sets(inside, max_size=2))}
        patterns |= {(*z, BoundaryLabel.END) for z in draw(st.sets(inside, max_size=2))}
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scale = draw(st.sampled_from([0.5, 3.0]))
    in_order = sorted(patterns, key=lambda z: (len(z), str(z)))
    weights = dict(zip(in_order, rng.normal(scale=scale, size=len(patterns))))
    coef = rng.normal(scale=scale, size=(2, n))
    seen = {z: rng.normal(scale=scale, size=2) for z in sorted(observed)}
    X = rng.normal(size=(T, 2))
    return labels, coef, weights, seen, X


def n_small(draw):
    return draw(st.booleans())


def score_by_definition(labels, coef, weights, seen, X, y):
    """Return the score of labels y from Eq. (1), pattern by pattern and place by place."""
    total = sum(X[t] @ coef[:, labels.index(label)] for t, label in enumerate(y))
    marked = (BoundaryLabel.BEGIN, *y, BoundaryLabel.END)
    for z, w in weights.items():
        total += w * sum(marked[i : i + len(z)] == z for i in range(len(marked) - len(z) + 1))
    for z, w in seen.items():
        for t in range(len(z) - 1, len(y)):
            if y[t - len(z) + 1 : t + 1] == z:
                total += X[t] @ w
    return total


def enumerated(model):
    labels, coef, weights, seen, X = model
    paths = list(itertools.product(labels, repeat=len(X)))
    return paths, np.array([score_by_definition(*model, y) for y in paths])


@settings(deadline=None, max_examples=80)
@given(small_models())
def test_everything_against_enumeration(problem):
    labels, coef, weights, seen, X = problem
    model = HighOrderCRF.from_weights(labels, coef, weights, transition_coef=seen)
    paths, scores = enumerated(problem)
    log_p = scores - logsumexp(scores)
    p = np.exp(log_p)
    ours = model.score_sequences([X] * len(paths), [list(y) for y in paths])
    np.testing.assert_allclose(ours, log_p, atol=1e-9)
    marginals = np.array(
        [[p[[y[t] == label for y in paths]].sum() for label in labels] for t in range(len(X))]
    )
    np.testing.assert_allclose(model.predict_marginals([X])[0], marginals, atol=1e-10)
    asked = [tuple(labels[:1]), tuple(labels[::-1]), tuple(labels[:1] * 3)]
    found = model.pattern_marginals([X], asked)[0]
    for t, (i, z) in itertools.product(range(len(X)), enumerate(asked)):
        fits = [t + 1 >= len(z) and y[t - len(z) + 1 : t + 1] == z for y in paths]
        assert found[t, i] == pytest.approx(p[fits].sum(), abs=1e-10)
    k = min(len(paths), 6)
    best = model.kbest([X], k + 2)[0]
    np.testing.assert_allclose([lp for _, lp in best[:k]], np.sort(log_p)[::-1][:k], atol=1e-9)
    assert len({tuple(y) for y, _ in best}) == min(len(paths), k + 2)
    for y, lp in best:
        assert lp == pytest.approx(log_p[paths.index(tuple(y))], abs=1e-9)
    top = model.predict([X])[0]
    assert log_p[paths.index(tuple(top))] == pytest.approx(log_p.max(), abs=1e-9)
    truth = [labels[0]] * len(X)
    wrong = np.array([sum(a != b for a, b in zip(y, truth)) for y in paths])
    worst = tuple(model.predict_loss_augmented([X], [truth], loss=1.5)[0])
    assert (scores + 1.5 * wrong)[paths.index(worst)] == pytest.approx(
        (scores + 1.5 * wrong).max(), abs=1e-9
    )


@settings(deadline=None, max_examples=30)
@given(small_models(), st.integers(0, 10**6))
def test_gradient_against_finite_differences(problem, seed):
    labels, coef, weights, seen, X = problem
    model = HighOrderCRF.from_weights(labels, coef, weights, transition_coef=seen)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(labels), len(X))
    data = ChainData(np.vstack([X, X]), np.array([len(X)] * 2), np.tile(codes, 2))
    from joblib import Parallel

    likelihood = FieldLikelihood(model._field, data, np.array([1.0, 0.5]), Parallel(1))
    theta = model._weights
    _, gradient = likelihood(theta)
    direction = rng.normal(size=theta.size)
    h = 1e-5
    slope = (likelihood(theta + h * direction)[0] - likelihood(theta - h * direction)[0]) / (2 * h)
    # Central differences: rounding of the value (1e-13) over h, plus h² times a third derivative.
    assert gradient @ direction == pytest.approx(slope, abs=1e-6 * (1 + np.abs(theta).sum()))


@pytest.mark.slow
def test_samples_have_the_models_frequencies():
    rng = np.random.default_rng(0)
    weights = {("a", "b", "a"): 1.0, ("b", "b"): -0.7}
    X = rng.normal(size=(4, 2))
    coef = rng.normal(size=(2, 2))
    model = HighOrderCRF.from_weights(["a", "b"], coef, weights)
    drawn = model.sample([X, X[:1]], 20_000, random_state=0)
    assert [part.shape for part in drawn] == [(20_000, 4), (20_000, 1)]
    paths, scores = enumerated((["a", "b"], coef, weights, {}, X))
    p = np.exp(scores - logsumexp(scores))
    seen = ["".join(row) for row in drawn[0]]
    for path, chance in zip(paths, p):
        freq = np.mean([row == "".join(path) for row in seen])
        assert abs(freq - chance) < 5 * np.sqrt(chance * (1 - chance) / 20_000)  # 5 sd, 16 paths


# --- other implementations and limiting cases -------------------------------------------------


@pytest.fixture(scope="module")
def markov():
    return make_high_order_markov(60, length=8, n_states=3, order=2, sigma=0.4, random_state=0)


def crfsuite_fit(X, y, path, *, c1=0.0, c2=0.5):
    """Return crfsuite's loss and a tagger for the features of an order-1 HighOrderCRF."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    options = {
        "c1": c1,
        "c2": c2,
        "feature.possible_states": True,
        "feature.possible_transitions": False,
        "max_iterations": 5000,
        "epsilon": 1e-7,
        "delta": 1e-12,
        "period": 50,
    }
    trainer.set_params(options)
    for rows, labels in zip(X, y):
        items = [{**{f"x{j}": float(v) for j, v in enumerate(row)}, "bias": 1.0} for row in rows]
        trainer.append(pycrfsuite.ItemSequence(items), [f"y{label}" for label in labels])
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return trainer.logparser.last_iteration["loss"], tagger


def test_first_order_is_crfsuite(markov, tmp_path):
    X, y = markov
    loss, tagger = crfsuite_fit(X, y, tmp_path / "model")
    model = HighOrderCRF(max_order=1, tol=1e-7, max_iter=1000).fit(X, y)
    # crfsuite prints its loss with six decimals and stops at a relative gradient of 1e-7.
    assert model.objective_ == pytest.approx(loss, abs=2e-5)
    weights = tagger.info()
    for (state, label), w in weights.state_features.items():
        code = int(label[1:])
        ours = (
            model.pattern_coef_[(code,)] if state == "bias" else model.coef_[int(state[1:]), code]
        )
        assert ours == pytest.approx(w, abs=2e-3)
    for (before, after), w in weights.transitions.items():
        assert model.pattern_coef_[(int(before[1:]), int(after[1:]))] == pytest.approx(w, abs=2e-3)
    marginals = model.predict_marginals(X[:5])
    for rows, found in zip(X[:5], marginals):
        items = [{**{f"x{j}": float(v) for j, v in enumerate(row)}, "bias": 1.0} for row in rows]
        tagger.set(items)
        theirs = [[tagger.marginal(f"y{c}", t) for c in range(3)] for t in range(len(rows))]
        np.testing.assert_allclose(found, theirs, atol=1e-3)
        assert [f"y{c}" for c in model.predict([rows])[0]] == tagger.tag()


def test_l1_is_crfsuite_too(markov, tmp_path):
    X, y = markov
    loss, _ = crfsuite_fit(X, y, tmp_path / "model", c1=2.0, c2=0.5)
    model = HighOrderCRF(max_order=1, alpha_l1=2.0, tol=1e-6, max_iter=2000).fit(X, y)
    assert model.objective_ == pytest.approx(loss, rel=1e-4)
    assert model.objective_ <= loss + 1e-6
    assert any(w == 0 for w in model.pattern_coef_.values())


def test_order_zero_is_multinomial_logistic_regression(markov):
    from sklearn.linear_model import LogisticRegression

    X, y = markov
    rows, labels = np.vstack(X), np.concatenate(y)
    model = HighOrderCRF(max_order=0, tol=1e-8, max_iter=1000).fit(X, y)
    wide = np.column_stack([rows, np.ones(len(rows))])
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    peer.fit(wide, labels)
    np.testing.assert_allclose(model.coef_, peer.coef_[:, :3].T, atol=1e-4)
    np.testing.assert_allclose(
        np.vstack(model.predict_marginals(X)), peer.predict_proba(wide), atol=1e-4
    )


def test_partition_function_of_a_dense_chain_of_the_same_order():
    """All patterns of length 3 over 3 labels against a chain on the 9 pairs of labels."""
    rng = np.random.default_rng(0)
    n, T = 3, 7
    weight = rng.normal(size=(n, n, n))
    patterns = {z: weight[z] for z in itertools.product(range(n), repeat=3)}
    unary = rng.normal(size=(T, n))
    model = HighOrderCRF.from_weights(range(n), np.eye(n), patterns)
    pairs = list(itertools.product(range(n), repeat=2))
    trans = np.full((n * n, n * n), -np.inf)
    for (i, (a, b)), (j, (c, d)) in itertools.product(enumerate(pairs), enumerate(pairs)):
        if b == c:
            trans[i, j] = weight[a, b, d]
    nodes = np.array([[unary[t, b] for _, b in pairs] for t in range(1, T)])
    start = np.array([unary[0, a] for a, _ in pairs])
    assert log_z(model, unary) == pytest.approx(log_partition(start, trans, nodes)[0], rel=1e-12)


def test_no_weights_means_all_labellings_alike():
    model = HighOrderCRF.from_weights("abc", np.zeros((1, 3)), {("a", "b", "c", "a"): 0.0})
    assert log_z(model, np.zeros((9, 1))) == pytest.approx(9 * np.log(3), rel=1e-13)


def test_margin_against_cvxpy():
    """The quadratic program over all labellings of five short sequences."""
    import cvxpy as cp

    X, y = make_high_order_markov(5, length=4, n_states=2, order=2, sigma=0.5, random_state=3)
    model = HighOrderCRF(2, solver="max_margin", tol=1e-4, max_iter=3000).fit(X, y)
    field = model._field
    paths = [np.array(p) for p in itertools.product(range(2), repeat=4)]
    w = cp.Variable(field.blocks.size)
    hinges = []
    for rows, labels in zip(X, y):
        one, length = np.ones(1), np.array([4])
        truth = field.counted(ChainData(rows, length, labels), one)
        terms = [
            np.sum(path != labels) + (field.counted(ChainData(rows, length, path), one) - truth) @ w
            for path in paths
        ]
        hinges.append(cp.max(cp.hstack(terms)))
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + sum(hinges))).solve()
    assert model.duality_gap_ <= 1e-4 * 20 + 1e-12
    assert -1e-6 <= model.objective_ - best <= model.duality_gap_ + 1e-6
    assert np.isnan(model.gradient_norm_)


# --- properties -------------------------------------------------------------------------------


def test_training_is_certified_and_monotone(markov):
    X, y = markov
    model = HighOrderCRF(2).fit(X, y)
    assert model.gradient_norm_ <= model.tol
    assert np.all(np.diff(model.objectives_) <= 1e-9)
    assert len(model.objectives_) == model.n_iter_
    penalty = 0.5 * (np.sum(model.coef_**2) + sum(w * w for w in model.pattern_coef_.values()))
    assert model.objective_ == pytest.approx(penalty - model.score_sequences(X, y).sum())
    better = HighOrderCRF(2, tol=1e-8, max_iter=1000).fit(X, y)
    assert 0 <= model.objective_ - better.objective_ <= model.duality_gap_


def test_stopping_early_warns_with_the_certificate(markov):
    X, y = markov
    with pytest.warns(ConvergenceWarning, match=r"gradient of \d\.\d\de-\d+ per position"):
        model = HighOrderCRF(2, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        HighOrderCRF(1, solver="max_margin", max_iter=2).fit(X, y)


def test_relabelling_and_reordering_change_nothing(markov):
    X, y = markov
    names = np.array(["zeta", "alpha", "mu"])
    model = HighOrderCRF(2, tol=1e-6, max_iter=1000).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    other = HighOrderCRF(2, tol=1e-6, max_iter=1000).fit(
        [X[i] for i in order], [names[y[i]] for i in order]
    )
    assert other.objective_ == pytest.approx(model.objective_, abs=1e-3)
    assert all(np.array_equal(names[a], b) for a, b in zip(model.predict(X), other.predict(X)))


def test_weights_count_sequences(markov):
    X, y = markov
    twice = HighOrderCRF(2, tol=1e-7).fit([*X, *X[:9]], [*y, *y[:9]])
    weight = np.ones(len(X))
    weight[:9] = 2.0
    once = HighOrderCRF(2, tol=1e-7).fit(X, y, sample_weight=weight)
    assert once.objective_ == pytest.approx(twice.objective_, abs=1e-5)
    np.testing.assert_allclose(once.coef_, twice.coef_, atol=1e-3)


def test_threads_give_the_same_model(markov):
    X, y = markov
    one, two = (HighOrderCRF(2, n_jobs=n).fit(X, y) for n in (1, 2))
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-7)


def test_a_pattern_of_weight_zero_changes_nothing():
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(6, 2)), rng.normal(size=(2, 3))
    weights = {("a", "b"): 0.7, ("c", "a", "c"): -0.4}
    plain = HighOrderCRF.from_weights("abc", coef, weights)
    more = HighOrderCRF.from_weights("abc", coef, {**weights, ("b", "a", "b", "c"): 0.0})
    assert more._field.grammar.n_states > plain._field.grammar.n_states
    np.testing.assert_allclose(
        plain.predict_marginals([X])[0], more.predict_marginals([X])[0], atol=1e-12
    )


def test_a_pattern_is_no_more_probable_than_its_suffix(markov):
    X, y = markov
    model = HighOrderCRF(3).fit(X, y)
    asked = [z for z in model.patterns_ if len(z) > 1]
    longer = np.vstack(model.pattern_marginals(X, asked))
    shorter = np.vstack(model.pattern_marginals(X, [z[1:] for z in asked]))
    assert np.all(longer <= shorter + 1e-12)


def test_regularisers_by_order(markov):
    X, y = markov
    plain = HighOrderCRF(2).fit(X, y)
    tight = HighOrderCRF(2, alpha_by_order={2: 1e6}).fit(X, y)
    of_order = [w for z, w in tight.pattern_coef_.items() if len(z) == 3]
    assert max(map(abs, of_order)) < 1e-3
    flat = HighOrderCRF(1).fit(X, y)
    assert tight.objective_ == pytest.approx(flat.objective_, abs=0.5)
    assert plain.objective_ < flat.objective_ - 10


def test_boundaries_are_patterns_only_when_asked(markov):
    X, y = markov
    y = [np.concatenate([[9], labels[1:]]) for labels in y]  # 9 stands first and nowhere else
    plain, marked = (HighOrderCRF(1, boundary_labels=flag).fit(X, y) for flag in (False, True))
    assert not any(isinstance(label, BoundaryLabel) for z in plain.patterns_ for label in z)
    assert (BoundaryLabel.BEGIN, 9) in marked.patterns_
    assert marked.objective_ < plain.objective_
    assert all(labels[0] == 9 for labels in marked.predict(X))


def test_patterns_of_ones_own(markov):
    X, y = markov
    chosen = [(0,), (1,), (2,), (0, 1, 2)]
    model = HighOrderCRF(transition_features=chosen).fit(X, y)
    assert model.patterns_ == chosen
    assert list(model.pattern_coef_) == chosen
    every = HighOrderCRF(1, transition_features=list(observed_patterns(y, 1))).fit(X, y)
    assert every.objective_ == pytest.approx(HighOrderCRF(1).fit(X, y).objective_, rel=1e-9)


def test_rare_patterns_are_left_out(markov):
    X, y = markov
    counts = observed_patterns(y, 2)
    model = HighOrderCRF(2, min_pattern_count=30).fit(X, y)
    assert set(model.patterns_) == {z for z, n in counts.items() if n >= 30}
    assert len(model.patterns_) < len(counts)


# --- forms of input ---------------------------------------------------------------------------


def test_lists_stacks_sparse_and_dictionaries_agree(markov):
    X, y = markov
    lengths = [len(rows) for rows in X]
    stacked, flat = np.vstack(X), np.concatenate(y)
    as_dicts = [[{f"x{j}": v for j, v in enumerate(row)} for row in rows] for rows in X]
    reference = HighOrderCRF(2).fit(X, y)
    others = [
        HighOrderCRF(2).fit(stacked, flat, lengths=lengths),
        HighOrderCRF(2).fit(stacked, y, lengths=lengths),
        HighOrderCRF(2).fit([sp.csr_matrix(rows) for rows in X], y),
        HighOrderCRF(2).fit(sp.csr_array(stacked), flat, lengths=lengths),
        HighOrderCRF(2).fit(as_dicts, y),
        HighOrderCRF(2).fit([item for part in as_dicts for item in part], flat, lengths=lengths),
    ]
    for model in others:
        assert model.objective_ == pytest.approx(reference.objective_, rel=1e-8)
    assert np.array_equal(others[0].predict(stacked, lengths), np.concatenate(reference.predict(X)))
    np.testing.assert_allclose(
        others[1].predict_marginals(stacked, lengths),
        np.vstack(reference.predict_marginals(X)),
        atol=1e-5,
    )
    assert others[3].sample(stacked, 3, 0, lengths).shape == (3, len(flat))
    assert others[4].feature_names_.tolist() == ["x0", "x1", "x2"]
    assert reference.score(X, y) == others[0].score(stacked, flat, lengths=lengths)
    assert np.array_equal(reference.predict_single(X[3]), reference.predict(X)[3])


def test_features_in_the_style_of_crfsuite():
    X = [[{"word": "a", "upper": True, "n": 2}, {"word": ["b", "c"], "in": {"deep": "x"}}], [["w"]]]
    model = HighOrderCRF(0).fit(X, [["p", "q"], ["p"]])
    names = model.feature_names_.tolist()
    assert names == ["in:deep=x", "n", "upper", "w", "word=a", "word=b", "word=c"]
    unseen = model.predict_marginals([[{"word": "never", "n": 2}]])[0]
    np.testing.assert_allclose(unseen, model.predict_marginals([[{"n": 2}]])[0])


def test_memory_is_bounded_by_runs_of_sequences(markov, monkeypatch):
    X, y = markov
    whole = HighOrderCRF(2, observation_order=1).fit(X, y)
    monkeypatch.setattr("octavo.sequence.crf.chain_field._CELLS", 300)
    parts = HighOrderCRF(2, observation_order=1).fit(X, [tuple(labels) for labels in y])
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert np.array_equal(np.concatenate(parts.predict(X)), np.concatenate(whole.predict(X)))
    for one, other in zip(
        parts.pattern_marginals(X, [(0, 1)]), whole.pattern_marginals(X, [(0, 1)])
    ):
        np.testing.assert_allclose(one, other, atol=1e-4)
    np.testing.assert_allclose(parts.score_sequences(X, y), whole.score_sequences(X, y), atol=1e-2)


def test_no_prior_at_all(markov):
    X, y = markov
    model = HighOrderCRF(0, alpha=0.0).fit(X, y)
    assert model.gradient_norm_ <= model.tol
    assert model.objective_ == pytest.approx(-model.score_sequences(X, y).sum())
    assert model.duality_gap_ == np.inf  # nothing bounds it without a prior


def test_windows_look_at_neighbours(markov):
    X, y = markov
    wide = window_features(X, before=1, after=1)
    assert wide[0].shape == (8, 9)
    np.testing.assert_array_equal(wide[0][1:, :3], X[0][:-1])
    np.testing.assert_array_equal(wide[0][:, 3:6], X[0])
    assert np.all(wide[0][0, :3] == 0)
    assert np.all(wide[0][-1, 6:] == 0)
    sparse = window_features([sp.csr_array(rows) for rows in X])
    np.testing.assert_array_equal(sparse[2].toarray(), wide[2])
    stacked = window_features(np.vstack(X), [8] * len(X))
    np.testing.assert_array_equal(stacked, np.vstack(wide))
    items = window_features([[{"w": "a"}, {"w": "b"}]])
    assert items == [[{"w=a": 1.0, "+1:w=b": 1.0}, {"-1:w=a": 1.0, "w=b": 1.0}]]


def test_single_positions_and_patterns_that_do_not_fit():
    X, y = [np.eye(2)[:1], np.eye(2)[1:], np.eye(2)], [["a"], ["b"], ["a", "b"]]
    model = HighOrderCRF(5).fit(X, y)
    assert [labels.tolist() for labels in model.predict(X)] == y
    assert len(model.kbest(X[:1], 9)[0]) == 2


def test_any_hashable_label(markov):
    X, _ = markov
    y = [[("t", 1) if row[0] > 0.5 else "s" for row in rows] for rows in X]
    model = HighOrderCRF(1).fit(X, y)
    assert set(model.classes_.tolist()) == {("t", 1), "s"}
    assert model.predict(X)[0][0] in {("t", 1), "s"}
    assert model.score(X, y) > 0.9


def test_model_selection_works_on_lists(markov):
    X, y = markov
    search = GridSearchCV(HighOrderCRF(max_iter=30, tol=1e-2), {"max_order": [0, 2]}, cv=3)
    search.fit(X, y)
    assert search.best_params_ == {"max_order": 2}


# --- bad input --------------------------------------------------------------------------------

GOOD_X, GOOD_Y = [np.zeros((3, 2)), np.ones((2, 2))], [["a", "b", "a"], ["b", "a"]]


@pytest.mark.parametrize(
    ("X", "y", "lengths", "words"),
    [
        (GOOD_X, [["a", "b", "a"], ["b"]], None, "Sequence 1 has 2 positions in X, but 1 labels"),
        (GOOD_X, [["a", "b", "a"]], None, "2 sequences, but y has 1"),
        (np.zeros((5, 2)), list("ababa"), [3, 3], "lengths add up to 6, but X has 5 rows"),
        (np.zeros((5, 2)), list("abab"), [3, 2], "lengths add up to 5, but y has 4 rows"),
        (np.zeros((5, 2)), list("ababa"), [5, 0], "Sequence 1 has length 0"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], [["a"] * 3, []], None, "sequence 1 is empty"),
        ([np.zeros((3, 2)), np.zeros((2, 4))], GOOD_Y, None, "sequence 1 has positions of shape"),
        (
            [np.zeros((3, 2)), np.array([[0, 0], [0, np.nan]])],
            GOOD_Y,
            None,
            "nan .* sequence 1, position 1, feature 1",
        ),
        (
            [sp.csr_array([[0, 1.0], [np.inf, 0]])],
            [["a", "b"]],
            None,
            "inf .* sequence 0, position 1, feature 0",
        ),
        (GOOD_X, [["a", "b", "a"], ["b", ["c"]]], None, "sequence 1, position 1: .*hashable"),
        (GOOD_X, [["a", "b", "a"], ["b", None]], None, "sequence 1, position 1: None is not a"),
        (GOOD_X, None, None, "y is missing"),
        ([[{"a": object()}]], [["p"]], None, "sequence 0, position 0: feature 'a' must be"),
        ([[{"a": 1.0}, {"a": np.nan}]], [["p", "q"]], None, "sequence 0, position 1, feature 'a'"),
        ([[{"a": 1.0}, 3]], [["p", "q"]], None, "sequence 0, position 1: expected a dictionary"),
        ([], [], None, "X is empty"),
        ("word", ["a"], None, "X must be sequences"),
        ([np.array([["u"], ["v"]])], [["p", "q"]], None, "numbers or dictionaries"),
    ],
)
def test_bad_training_data_say_where(X, y, lengths, words):
    with pytest.raises(ValueError, match=words):
        HighOrderCRF().fit(X, y, lengths=lengths)


def test_bad_options_say_which():
    for parameters, words in [
        ({"alpha_by_order": {-1: 1.0}}, "alpha_by_order has the key -1"),
        ({"alpha_by_order": {1: 0.0}}, r"alpha_by_order\[1\] must be positive"),
        ({"transition_features": [("a", "z")]}, "'z' is no label"),
        ({"transition_features": [("a",), ("a",)]}, "twice"),
        ({"transition_features": [()]}, "Pattern 0 is empty"),
        ({"max_patterns": 2}, "max_patterns=2"),
        ({"solver": "max_margin", "alpha_l1": 1.0}, "alpha_l1=1.0 needs solver='lbfgs'"),
        ({"solver": "newton"}, "'solver'"),
    ]:
        with pytest.raises(ValueError, match=words):
            HighOrderCRF(**parameters).fit(GOOD_X, GOOD_Y)
    with pytest.raises(ValueError, match="sample_weight must be 2 numbers"):
        HighOrderCRF().fit(GOOD_X, GOOD_Y, sample_weight=[1.0])


def test_labels_never_seen_in_training():
    model = HighOrderCRF(1).fit(GOOD_X, GOOD_Y)
    strange = [["a", "b", "a"], ["b", "z"]]
    with pytest.raises(ValueError, match="sequence 1, position 1: label 'z' was never seen"):
        model.score_sequences(GOOD_X, strange)
    right = sum(
        one == other
        for path, labels in zip(model.predict(GOOD_X), strange)
        for one, other in zip(path, labels)
    )
    assert model.score(GOOD_X, strange) == pytest.approx(right / 5)
    with pytest.raises(ValueError, match="X has 3 features, but HighOrderCRF was trained on 2"):
        model.predict([np.zeros((2, 3))])
    with pytest.raises(ValueError, match="array in training and is now dictionaries"):
        model.predict([[{"a": 1}]])


def test_extreme_scores_fall_back_to_logarithms():
    model = HighOrderCRF.from_weights(
        "ab", [[-5000.0, 5000.0]], {("a", "b"): 900.0, ("a", "a"): -700.0}
    )
    X = np.array([[1.0], [-1.0], [0.0], [1.0]])
    marginals = model.predict_marginals([X])[0]
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)
    assert "".join(model.predict([X])[0]) == "babb"
    assert model.score_sequences([X], [list("babb")])[0] == pytest.approx(0.0, abs=1e-9)


# --- the paper's data -------------------------------------------------------------------------


@pytest.mark.slow
def test_accuracy_on_letters_by_order():
    """Fold 0 trained, the other nine tested; floors from an independent prototype."""
    try:
        letters = load_dataset("letters")
    except DatasetNotFoundError:
        pytest.skip("the letters are not here")
    train = np.repeat(letters.folds == 0, letters.lengths)
    lengths = letters.lengths[letters.folds == 0]
    tested = letters.lengths[letters.folds != 0]
    expected = {1: (0.785, 217, 27), 2: (0.895, 488, 209), 4: (0.955, 971, 672)}
    for order, (floor, n_patterns, n_states) in expected.items():
        model = HighOrderCRF(order).fit(letters.data[train], letters.target[train], lengths)
        assert len(model.patterns_) == n_patterns
        assert len(model.states_) == n_states
        found = model.score(letters.data[~train], letters.target[~train], tested)
        assert found >= floor


def test_no_warning_without_reason(markov):
    X, y = markov
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HighOrderCRF(2, observation_order=1).fit(X, y).predict(X)


def test_observed_transitions_help_where_observations_announce_them():
    """The second of two labels is told by the observation and the label before, together."""
    rng = np.random.default_rng(0)
    X = [rng.choice([-1.0, 1.0], size=(6, 1)) for _ in range(80)]
    y = []
    for rows in X:
        labels = [0]
        for x in rows[1:, 0]:
            labels.append(labels[-1] if x > 0 else 1 - labels[-1])
        y.append(np.array(labels))
    plain = HighOrderCRF(1).fit(X, y)
    seen = HighOrderCRF(1, observation_order=1, boundary_labels=True).fit(X, y)
    assert plain.score(X, y) < 0.8
    assert seen.score(X, y) > 0.99
    assert seen.observed_patterns_ == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert seen.transition_coef_.shape == (1, 4)


def test_grammar_of_a_field_is_shared_by_its_likelihood():
    """Chains with and without observed patterns are the same model when those weigh nothing."""
    rng = np.random.default_rng(0)
    patterns = [("a",), ("a", "b"), ("b", "a", "b")]
    X, lengths = rng.normal(size=(9, 2)), np.array([4, 5])
    codes = rng.integers(0, 2, 9)
    values = []
    for observed in ([], [1, 2]):
        grammar = LabelGrammar("ab", patterns, complete=bool(observed))
        field = ChainField(grammar, 2, np.array(observed, dtype=int))
        weights = field.blocks.join(coef=np.ones((2, 2)), pattern=np.arange(3.0))
        data = ChainData(X, lengths, codes)
        log_z = field.marginals(weights, data).log_partition
        values.append(field.path_scores(weights, data) - log_z)
    np.testing.assert_allclose(*values, rtol=1e-12)
