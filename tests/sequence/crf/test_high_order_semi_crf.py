"""HighOrderSemiCRF against enumeration of all segmentations, HighOrderCRF and cvxpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from octavo.data import make_citations, make_high_order_markov
from octavo.sequence import (
    BoundaryLabel,
    HighOrderCRF,
    HighOrderSemiCRF,
    labels_to_segments,
    segments_to_labels,
)
from octavo.sequence.crf.chain_field import FieldLikelihood
from octavo.sequence.crf.segment_field import SegmentData

# --- enumeration ------------------------------------------------------------------------------


def all_segmentations(T, labels, L, allow_repeat):
    """Yield every segmentation of T positions as a tuple of (start, stop, label)."""
    if T == 0:
        yield ()
        return
    for d in range(1, min(L, T) + 1):
        for rest in all_segmentations(T - d, labels, L, allow_repeat):
            for label in labels:
                if allow_repeat or not rest or rest[-1][2] != label:
                    yield (*rest, (T - d, T, label))


def score_by_definition(model, X, segments):
    """Return the score from Eq. (1), with the weights of a model that is described in words."""
    labels, coef, weights, seen, lengths, first, last = model
    total = 0.0
    for u, v, y in segments:
        c = labels.index(y)
        total += X[u:v].sum(axis=0) @ coef[:, c] + lengths[v - u - 1, c]
        total += X[u] @ first[:, c] + X[v - 1] @ last[:, c]
    marked = (BoundaryLabel.BEGIN, *(y for *_, y in segments), BoundaryLabel.END)
    for z, w in weights.items():
        total += w * sum(marked[i : i + len(z)] == z for i in range(len(marked) - len(z) + 1))
    names = tuple(y for *_, y in segments)
    for z, w in seen.items():
        for i in range(len(z) - 1, len(names)):
            if names[i - len(z) + 1 : i + 1] == z:
                u, v, _ = segments[i]
                total += X[u:v].sum(axis=0) @ w
    return total


@st.composite
def small_models(draw):
    n = draw(st.integers(2, 3))
    T = draw(st.integers(1, 5 if n == 2 else 4))
    L, allow_repeat = draw(st.integers(1, 3)), draw(st.booleans())
    labels = list("abc")[:n]
    label = st.sampled_from(labels)
    patterns = draw(st.sets(st.lists(label, min_size=1, max_size=4).map(tuple), max_size=7))
    observed = draw(st.sets(st.lists(label, min_size=2, max_size=3).map(tuple), max_size=2))
    if draw(st.booleans()):
        inside = st.lists(label, min_size=1, max_size=2).map(tuple)
        patterns |= {(BoundaryLabel.BEGIN, *z) for z in draw(st.sets(inside, max_size=2))}
        patterns |= {(*z, BoundaryLabel.END) for z in draw(st.sets(inside, max_size=2))}
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scale = draw(st.sampled_from([0.5, 3.0]))
    in_order = sorted(patterns, key=lambda z: (len(z), str(z)))
    weights = dict(zip(in_order, rng.normal(scale=scale, size=len(patterns))))
    seen = {z: rng.normal(scale=scale, size=2) for z in sorted(observed)}
    coef, first, last = rng.normal(scale=scale, size=(3, 2, n))
    lengths = rng.normal(scale=scale, size=(L, n))
    described = (labels, coef, weights, seen, lengths, first, last)
    model = HighOrderSemiCRF.from_weights(
        labels,
        coef,
        weights,
        L,
        allow_repeat=allow_repeat,
        transition_coef=seen,
        length_coef=lengths,
        first_coef=first,
        last_coef=last,
    )
    return model, described, rng.normal(size=(T, 2)), L, allow_repeat


@pytest.mark.filterwarnings("ignore:neighbouring segments")
@settings(deadline=None, max_examples=80)
@given(small_models())
def test_everything_against_enumeration(problem):
    model, described, X, L, allow_repeat = problem
    labels = described[0]
    paths = list(all_segmentations(len(X), labels, L, allow_repeat))
    scores = np.array([score_by_definition(described, X, path) for path in paths])
    log_p = scores - logsumexp(scores)
    p = np.exp(log_p)
    ours = model.score_sequences([X] * len(paths), [list(path) for path in paths])
    np.testing.assert_allclose(ours, log_p, atol=1e-9)
    marginals = np.zeros((len(X), len(labels)))
    asked = [tuple(labels[:1]), tuple(labels[:2]), tuple(labels[:2] + labels[:1])]
    patterns = np.zeros((len(X), L, len(asked)))
    for path, chance in zip(paths, p):
        names = tuple(y for *_, y in path)
        for i, (u, v, y) in enumerate(path):
            marginals[u:v, labels.index(y)] += chance
            for column, z in enumerate(asked):
                if names[max(0, i + 1 - len(z)) : i + 1] == z:
                    patterns[u, v - u - 1, column] += chance
    np.testing.assert_allclose(model.predict_marginals([X])[0], marginals, atol=1e-10)
    np.testing.assert_allclose(model.pattern_marginals([X], asked)[0], patterns, atol=1e-10)
    best = model.kbest([X], 5)[0]
    np.testing.assert_allclose([lp for _, lp in best], np.sort(log_p)[::-1][: len(best)], atol=1e-9)
    assert len({tuple(path) for path, _ in best}) == min(5, len(paths))
    top = tuple(model.predict([X])[0])
    assert log_p[paths.index(top)] == pytest.approx(log_p.max(), abs=1e-9)
    truth = paths[0]
    right = segments_to_labels(truth)
    wrong = np.array([sum(a != b for a, b in zip(segments_to_labels(s), right)) for s in paths])
    worst = tuple(model.predict_loss_augmented([X], [list(truth)], loss=2.0)[0])
    goal = scores + 2.0 * wrong
    assert goal[paths.index(worst)] == pytest.approx(goal.max(), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(small_models(), st.integers(0, 10**6))
def test_gradient_against_finite_differences(problem, seed):
    model, described, X, L, allow_repeat = problem
    rng = np.random.default_rng(seed)
    paths = list(all_segmentations(len(X), described[0], L, allow_repeat))
    chosen = [paths[i] for i in rng.integers(0, len(paths), 2)]
    data = model._with_segments([X, X[::-1]], [list(path) for path in chosen], None)
    likelihood = FieldLikelihood(model._field, data, np.array([1.0, 0.5]), Parallel(1))
    theta = model._weights
    _, gradient = likelihood(theta)
    direction = rng.normal(size=theta.size)
    h = 1e-5
    slope = (likelihood(theta + h * direction)[0] - likelihood(theta - h * direction)[0]) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, abs=1e-6 * (1 + np.abs(theta).sum()))


@pytest.mark.slow
def test_samples_have_the_models_frequencies():
    rng = np.random.default_rng(0)
    coef, weights = rng.normal(size=(1, 2)), {("a", "b", "a"): 0.8}
    X = rng.normal(size=(3, 1))
    model = HighOrderSemiCRF.from_weights("ab", coef, weights, 2)
    zero = np.zeros((2, 2)), np.zeros((1, 2)), np.zeros((1, 2))
    paths = list(all_segmentations(3, ["a", "b"], 2, False))
    scores = [score_by_definition((["a", "b"], coef, weights, {}, *zero), X, s) for s in paths]
    p = np.exp(np.array(scores) - logsumexp(scores))
    drawn = [tuple(s) for s in model.sample([X], 5_000, random_state=0)[0]]
    assert set(drawn) <= set(paths)
    for path, chance in zip(paths, p):
        seen = np.mean([s == path for s in drawn])
        assert abs(seen - chance) < 5 * np.sqrt(chance * (1 - chance) / 5_000)


# --- limiting cases ---------------------------------------------------------------------------


def test_segments_of_one_position_are_the_tagger():
    X, y = make_high_order_markov(40, length=7, n_states=3, order=2, sigma=0.4, random_state=0)
    tagger = HighOrderCRF(2, observation_order=1).fit(X, y)
    singles = [[(t, t + 1, int(label)) for t, label in enumerate(labels)] for labels in y]
    cutter = HighOrderSemiCRF(2, max_segment_length=1, allow_repeat=True, observation_order=1)
    cutter.fit(X, singles)
    assert cutter.objective_ == pytest.approx(tagger.objective_, rel=1e-7)
    assert cutter.pattern_coef_.keys() == tagger.pattern_coef_.keys()
    found = [[label for *_, label in segments] for segments in cutter.predict(X)]
    agree = np.mean(np.concatenate(found) == np.concatenate(tagger.predict(X)))
    assert agree > 0.99


def test_all_weights_zero_counts_segmentations():
    # Labels that alternate freely and segments of any length: n (n)^(m - 1) over compositions.
    model = HighOrderSemiCRF.from_weights("abc", np.zeros((1, 3)), {}, 6)
    T, n = 6, 3
    # Each inner boundary is either absent or brings one of n - 1 other labels: n * n^(T - 1).
    lp = model.score_sequences([np.zeros((T, 1))], [[(0, T, "a")]])[0]
    assert lp == pytest.approx(-T * np.log(n), rel=1e-12)


def test_margin_against_cvxpy():
    import cvxpy as cp

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 1)) for _ in range(4)]
    paths = list(all_segmentations(4, ["a", "b"], 3, False))
    truth = [list(paths[i]) for i in rng.integers(0, len(paths), 4)]
    model = HighOrderSemiCRF(
        1, 3, segment_features=["length"], solver="max_margin", tol=1e-4, max_iter=3000
    ).fit(X, truth)
    field, one = model._field, np.ones(1)
    w = cp.Variable(field.blocks.size)
    hinges = []
    for rows, right in zip(X, truth):
        own = field.counted(model._with_segments([rows], [right], None), one)
        labels = segments_to_labels(right)
        terms = []
        for path in paths:
            other = field.counted(model._with_segments([rows], [list(path)], None), one)
            loss = sum(a != b for a, b in zip(labels, segments_to_labels(path)))
            terms.append(loss + (other - own) @ w)
        hinges.append(cp.max(cp.hstack(terms)))
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + sum(hinges))).solve()
    assert model.duality_gap_ <= 1e-4 * 16 + 1e-12
    assert -1e-6 <= model.objective_ - best <= model.duality_gap_ + 1e-6


# --- properties -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def citations():
    return make_citations(60, noise=0.5, random_state=0)


def test_training_is_certified_and_monotone(citations):
    X, segments = citations
    model = HighOrderSemiCRF(2, segment_features=["length", "boundary"]).fit(X, segments)
    assert model.gradient_norm_ <= model.tol
    assert np.all(np.diff(model.objectives_) <= 1e-9)
    penalty = 0.5 * float(model._weights @ model._weights)
    assert model.objective_ == pytest.approx(penalty - model.score_sequences(X, segments).sum())
    assert model.score(X, segments) > 0.95
    marginals = model.predict_marginals(X)
    assert all(np.allclose(part.sum(axis=1), 1.0) for part in marginals)
    with pytest.warns(ConvergenceWarning, match="per position"):
        HighOrderSemiCRF(2, max_iter=2).fit(X, segments)


def test_longer_patterns_help_where_the_order_of_fields_tells(citations):
    X, segments = citations
    test_X, test_segments = make_citations(60, noise=0.5, random_state=1)
    first, second = (
        HighOrderSemiCRF(order).fit(X, segments).score_sequences(test_X, test_segments)
        for order in (1, 2)
    )
    assert np.isfinite(first).any()
    both = np.isfinite(first) & np.isfinite(second)
    assert second[both].mean() > first[both].mean()


def test_features_of_ones_own(citations):
    X, segments = citations

    def as_words(x, start, stop):
        return {"size": str(stop - start), "first": x[start]["kind"]}

    def as_vector(x, start, stop):
        return np.eye(30)[stop - start]

    named = HighOrderSemiCRF(1, segment_features=["length"]).fit(X, segments)
    vector = HighOrderSemiCRF(1, segment_features=as_vector).fit(X, segments)
    # The same features with other names, those of lengths never seen aside.
    assert vector.objective_ == pytest.approx(named.objective_, rel=1e-5)
    words = HighOrderSemiCRF(1, segment_features=as_words).fit(X, segments)
    assert "first=capital" in words.segment_feature_names_
    assert words.segment_coef_.shape == (len(words.segment_feature_names_), 8)
    assert words.objective_ < named.objective_
    assert words.score(X[:5], segments[:5]) > 0.8
    flat = [item for part in X[:9] for item in part]
    sizes = [len(part) for part in X[:9]]
    assert words.predict(flat, sizes) == words.predict(X[:9])


def test_weights_count_sequences_and_threads_share_them(citations):
    X, segments = citations
    twice = HighOrderSemiCRF(1).fit([*X[:20], *X[:4]], [*segments[:20], *segments[:4]])
    weight = np.ones(20)
    weight[:4] = 2.0
    once = HighOrderSemiCRF(1, n_jobs=2).fit(X[:20], segments[:20], sample_weight=weight)
    assert once.objective_ == pytest.approx(twice.objective_, abs=1e-3)


def test_lists_and_stacks_agree():
    X, y = make_high_order_markov(20, length=9, n_states=3, order=1, sigma=0.3, random_state=0)
    segments = [labels_to_segments(labels) for labels in y]
    lengths = [9] * 20
    one = HighOrderSemiCRF(1).fit(X, segments)
    other = HighOrderSemiCRF(1).fit(np.vstack(X), segments, lengths=lengths)
    assert one.objective_ == pytest.approx(other.objective_)
    assert one.predict(X) == other.predict(np.vstack(X), lengths)
    np.testing.assert_allclose(
        np.vstack(one.predict_marginals(X)),
        other.predict_marginals(np.vstack(X), lengths),
        atol=1e-9,
    )
    assert one.predict_single(X[2]) == one.predict(X)[2]


def test_memory_is_bounded_by_runs_of_sequences(citations, monkeypatch):
    X, segments = (part[:12] for part in citations)
    whole = HighOrderSemiCRF(2).fit(X, segments)
    monkeypatch.setattr("octavo.sequence.crf.segment_field._CELLS", 8000)
    parts = HighOrderSemiCRF(2).fit(X, segments)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert parts.predict(X) == whole.predict(X)


def test_model_selection_works_on_lists(citations):
    X, segments = citations
    search = GridSearchCV(HighOrderSemiCRF(max_iter=15, tol=1e-1), {"max_order": [0, 2]}, cv=2)
    search.fit(X, segments)
    assert search.best_params_["max_order"] == 2


# --- bad input --------------------------------------------------------------------------------

GOOD_X = [np.zeros((3, 2)), np.ones((2, 2))]
GOOD = [[(0, 2, "a"), (2, 3, "b")], [(0, 1, "b"), (1, 2, "a")]]


@pytest.mark.parametrize(
    ("segments", "words"),
    [
        ([GOOD[0]], "2 sequences, but segments has 1"),
        ([GOOD[0], [(0, 1, "b")]], "sequence 1 is covered up to position 1, but has 2"),
        ([GOOD[0], [(0, 1, "b"), (1, 3, "a")]], "sequence 1 is covered up to position 3"),
        ([GOOD[0], [(0, 1, "b"), (0, 2, "a")]], "sequence 1, segment 1 is .* must begin at 1"),
        ([GOOD[0], [(0, 0, "b"), (0, 2, "a")]], "sequence 1, segment 0 .* at least one position"),
        ([GOOD[0], [(0, 2)]], r"sequence 1, segment 0 must be \(start, stop, label\)"),
        ([GOOD[0], [(0.0, 2, "a")]], "sequence 1, segment 0: ends must be integers"),
        ([GOOD[0], [(0, 2, ["a"])]], "hashable"),
        ([GOOD[0], []], "sequence 1 is covered up to position 0"),
        ([GOOD[0], [(0, 1, "b"), (1, 2, "b")]], "sequence 1, segment 1 has the label 'b' of the"),
        (None, "segments is missing"),
    ],
)
def test_bad_segments_say_where(segments, words):
    with pytest.raises(ValueError, match=words):
        HighOrderSemiCRF().fit(GOOD_X, segments)


def test_bad_options_say_which():
    for parameters, words in [
        ({"max_segment_length": 1}, "sequence 0, position 0: a segment of 2 positions is longer"),
        ({"segment_features": ["size"]}, "'size'"),
        (
            {"segment_features": lambda x, a, b: [1.0] * b},
            r"sequence 0, segment \(0, 2\): expected 1",
        ),
        ({"segment_features": lambda x, a, b: {"f": object()}}, r"sequence 0, segment \(0, 1\)"),
        ({"allow_repeat": "yes"}, "'allow_repeat'"),
    ]:
        with pytest.raises(ValueError, match=words):
            HighOrderSemiCRF(**parameters).fit(GOOD_X, GOOD)


def test_what_cannot_be_said_of_new_sequences():
    model = HighOrderSemiCRF(1).fit(GOOD_X, GOOD)
    assert model.max_segment_length_ == 2
    with pytest.raises(ValueError, match="sequence 0, position 1: label 'z' was never seen"):
        model.score_sequences(GOOD_X[1:], [[(0, 1, "a"), (1, 2, "z")]])
    with pytest.warns(UserWarning, match="max_segment_length=2"):
        assert model.score_sequences(GOOD_X, [[(0, 3, "a")], GOOD[1]])[0] == -np.inf
    twice = model.score_sequences(GOOD_X, [[(0, 2, "a"), (2, 3, "a")], GOOD[1]])
    assert twice[0] == -np.inf
    assert np.isfinite(twice[1])
    lonely = HighOrderSemiCRF(1).fit(GOOD_X, [[(0, 3, "a")], [(0, 2, "a")]])
    with pytest.raises(ValueError, match="Sequence 1 has 4 positions and no segmentation"):
        lonely.predict([np.zeros((3, 2)), np.zeros((4, 2))])


def test_a_run_that_had_to_be_split_warns():
    X = [np.array([[1.0], [1.0], [-1.0]]), np.array([[-1.0], [1.0], [1.0]])]
    segments = [[(0, 2, "a"), (2, 3, "b")], [(0, 1, "b"), (1, 3, "a")]]
    model = HighOrderSemiCRF(0, allow_repeat=True, alpha=0.01).fit(X, segments)
    with pytest.warns(UserWarning, match="max_segment_length=2 together"):
        found = model.predict([np.ones((5, 1))])
    assert {label for *_, label in found[0]} == {"a"}


def test_extreme_scores_fall_back_to_logarithms():
    model = HighOrderSemiCRF.from_weights("ab", [[-3000.0, 3000.0]], {("a", "b"): 900.0}, 3)
    X = np.array([[1.0], [1.0], [-1.0], [1.0]])
    assert model.predict([X])[0] == [(0, 2, "b"), (2, 3, "a"), (3, 4, "b")]
    np.testing.assert_allclose(model.predict_marginals([X])[0].sum(axis=1), 1.0, rtol=1e-9)
    assert model.score_sequences([X], model.predict([X]))[0] == pytest.approx(0.0, abs=1e-9)


def test_data_parts_keep_their_segments():
    X, segments = make_citations(7, random_state=0)
    model = HighOrderSemiCRF(0).fit(X, segments)
    data = model._with_segments(X, segments, None)
    assert isinstance(data, SegmentData)
    pieces = list(data.parts(20))
    assert len(pieces) > 1
    joined = np.concatenate([piece.labels for piece in pieces])
    np.testing.assert_array_equal(joined, data.labels)
    sizes = [itertools.chain.from_iterable([piece.counts]) for piece in pieces]
    assert [n for part in sizes for n in part] == data.counts.tolist()
