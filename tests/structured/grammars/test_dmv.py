"""DMV against all trees written out, and what theory says of its learning."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.data import make_sparse_grammar
from octavo.structured import DMV, attachment_score, dependency_ambiguity
from tests.structured.grammars.enumeration import posteriors, projective_trees, tree_log_prob

VALENCES = [(2, 1), (2, 2), (3, 3), (4, 2), (1, 1), (1, 3)]
CORPUS = [["D", "N", "V"], ["N", "V"], ["D", "N", "V", "D", "N"], ["N", "V", "N"], ["V"]]


def random_model(valence, backoff=None, n_tags=3, seed=0):
    """Return a model with random parameters."""
    model = DMV(*valence, backoff=backoff, init="random", n_iter=0, random_state=seed)
    return model.fit([list(range(n_tags))])


@pytest.mark.parametrize("backoff", [None, 1 / 3])
@pytest.mark.parametrize("valence", VALENCES)
def test_sums_and_parses_equal_enumeration(valence, backoff):
    model = random_model(valence, backoff)
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5):
        x = rng.integers(0, 3, size=n).tolist()
        log_z, edges, chance = posteriors(model, x)
        assert abs(model.score_samples([x])[0] - log_z) < 1e-9
        np.testing.assert_allclose(model.predict_proba([x])[0], edges, atol=1e-9)
        trees = projective_trees(n)
        best = trees[int(np.argmax(chance))]
        assert tuple(model.predict([x])[0]) == best
        assert abs(model.log_prob(x, best) - tree_log_prob(model, x, best)) < 1e-9
        expected = [edges[list(heads), np.arange(n)].sum() for heads in trees]
        found = model.predict([x], "mbr")[0]
        assert abs(edges[found, np.arange(n)].sum() - max(expected)) < 1e-9


@pytest.mark.parametrize("valence", VALENCES)
def test_one_step_of_em_equals_enumeration(valence):
    start = random_model(valence, seed=2)
    corpus = [[0, 1, 2, 1], [2, 0], [1, 1, 0, 2, 0]]
    model = DMV(*valence, init=start, n_iter=1, smoothing=0.0).fit(corpus)
    stop, go = np.zeros(model.stop_.shape), np.zeros(model.stop_.shape)
    child, root = np.zeros(model.child_.shape), np.zeros(3)
    for x in corpus:
        for share, heads in zip(posteriors(start, x)[2], projective_trees(len(x))):
            root[x[heads.index(0)]] += share
            for h in range(len(x)):
                for d in (0, 1):
                    mine = [c for c in range(len(x)) if heads[c] == h + 1 and (c > h) == bool(d)]
                    stop[x[h], d, min(len(mine), valence[0] - 1)] += share
                    for c in mine:
                        a = sum(abs(o - h) > abs(c - h) for o in mine)
                        go[x[h], d, min(a, valence[0] - 1)] += share
                        child[x[h], d, min(a, valence[1] - 1), x[c]] += share
    np.testing.assert_allclose(model.root_, root / root.sum(), atol=1e-9)
    seen = stop + go > 1e-12
    np.testing.assert_allclose(model.stop_[seen], stop[seen] / (stop + go)[seen], atol=1e-9)
    total = child.sum(axis=-1)
    seen = total > 1e-12
    np.testing.assert_allclose(model.child_[seen], child[seen] / total[seen][:, None], atol=1e-9)


@pytest.mark.parametrize("learning", ["em", "sdp", "pr-s", "pr-as"])
@pytest.mark.parametrize("options", [{}, {"backoff": 1 / 3, "stop_valence": 3, "child_valence": 3}])
@pytest.mark.parametrize("init", ["harmonic", "random"])
def test_bounds_never_fall(learning, options, init):
    sequences, _, _ = make_sparse_grammar(60, random_state=1)
    model = DMV(learning=learning, sigma=3.0, init=init, n_iter=15, random_state=0, **options)
    model.fit(sequences)
    assert model.lower_bounds_.shape == (model.n_iter_ + 1,)
    # rounding of sums of some 1,000 nats
    assert np.diff(model.lower_bounds_).min() >= -1e-9
    assert model.duality_gap_ >= 0.0
    assert np.isfinite(model.duality_gap_)


@pytest.mark.parametrize("learning", ["pr-s", "pr-as"])
def test_no_penalty_is_em(learning):
    plain = DMV(n_iter=20).fit(CORPUS)
    model = DMV(learning=learning, sigma=0.0, n_iter=20).fit(CORPUS)
    np.testing.assert_allclose(model.child_, plain.child_, atol=1e-12)
    np.testing.assert_allclose(model.lower_bounds_, plain.lower_bounds_, atol=1e-10)


def test_strong_penalty_reduces_kinds():
    sequences, _, _ = make_sparse_grammar(150, random_state=3)
    found = [
        DMV(learning="pr-s", sigma=sigma, n_iter=25).fit(sequences).ambiguity_
        for sigma in (0.0, 5.0, 40.0)
    ]
    assert found[0] > found[1] > found[2]


def test_dirichlet_prior_of_one_smooths_like_counts():
    """For large counts exp(ψ(n + α)) is n + α - 1/2 to first order."""
    plain = DMV(n_iter=1, smoothing=0.0).fit(CORPUS * 2000)
    prior = DMV(learning="sdp", alpha=0.5, n_iter=1, smoothing=0.0).fit(CORPUS * 2000)
    # 1 / 24 n relative, over two steps, with counts above 100 where they are not zero
    np.testing.assert_allclose(prior.root_, plain.root_, atol=2e-3)


def test_variational_bound_is_below_the_likelihood():
    """The evidence is largest over grammars: log p(X) averaged over a prior is no more."""
    model = DMV(learning="sdp", alpha=1.0, n_iter=30).fit(CORPUS)
    assert model.lower_bound_ < DMV(n_iter=30).fit(CORPUS).lower_bound_


def test_evidence_bound_by_sampling_the_prior():
    """With one sentence of one tag the evidence is E[root · stop · stop] = 1/2 · 1/2 at alpha 1."""
    model = DMV(learning="sdp", alpha=1.0, n_iter=50).fit([["V"]])
    assert model.lower_bound_ <= np.log(0.25) + 1e-12
    # one tag: the tree is certain, so that the bound is the evidence itself
    assert model.lower_bound_ == pytest.approx(np.log(0.25), abs=1e-9)


def test_harmonic_start_of_short_sentences():
    """Two tokens: each is the root in half of the trees, and governs the other then."""
    model = DMV(n_iter=0, smoothing=0.0).fit([["A", "B"]])
    np.testing.assert_allclose(model.root_, [0.5, 0.5])
    np.testing.assert_allclose(model.stop_[:, :, 0], [[1.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(model.child_[0, 1, 0], [0.0, 1.0])
    three = DMV(n_iter=0, smoothing=0.0).fit([["A", "B", "C"]])
    # q(B -> A) = 2/3 · 1 / (1 + 1/2), q(C -> A) = 2/3 · 1/2 / (3/2)
    q = 2 / 3 * np.array([1.0, 0.5]) / 1.5
    np.testing.assert_allclose(three.stop_[1, 0, 0], 1 - q[0])
    p0 = (1 - q[1]) * (1 - 2 / 3 * 0.5)
    np.testing.assert_allclose(three.stop_[2, 0, 0], p0)
    total = q[1] + 2 / 3 * 0.5
    np.testing.assert_allclose(three.stop_[2, 0, 1], (1 - p0) / ((1 - p0) + total - (1 - p0)))


@pytest.mark.parametrize("valence", [(2, 1), (3, 3)])
def test_supervised_counts_and_draws(valence):
    """Draws of a model, counted, give the model back."""
    truth = DMV(*valence, n_iter=3).fit(CORPUS)
    sequences, heads = truth.sample(4000, random_state=0)
    again = DMV(*valence).fit_supervised(sequences, heads)
    assert abs(again.root_ - truth.root_).max() < 0.03  # four standard errors of a share
    np.testing.assert_allclose(again.stop_[:, :, 0], truth.stop_[:, :, 0], atol=0.05)
    drawn = [truth.log_prob(s, h) for s, h in zip(sequences[:50], heads[:50])]
    assert (drawn <= truth.score_samples(sequences[:50]) + 1e-12).all()  # one tree of all
    assert np.min(drawn) > -np.inf
    assert again.lower_bound_ > sum(truth.log_prob(s, h) for s, h in zip(sequences, heads))


def test_chances_of_draws_add_up():
    """Sentences of up to two tokens have the chances that draws have."""
    model = DMV(n_iter=5).fit(CORPUS)
    sequences, _ = model.sample(4000, random_state=1)
    short = [["N", "V"], ["V"], ["V", "N"]]
    for each, chance in zip(short, np.exp(model.score_samples(short))):
        share = np.mean([s == each for s in sequences])
        assert abs(share - chance) < 4 * np.sqrt(chance / 4000) + 1e-3


def test_em_stays_at_the_truth_and_supervision_is_best():
    sequences, heads, _ = make_sparse_grammar(300, random_state=0)
    truth = DMV().fit_supervised(sequences, heads)
    best = attachment_score(heads, truth.predict(sequences))
    model = DMV(init=truth, n_iter=30).fit(sequences)
    assert model.lower_bound_ >= truth.score_samples(sequences).sum()
    assert attachment_score(heads, model.predict(sequences)) > best - 0.05


def test_warm_start_of_other_valences():
    sequences, _, _ = make_sparse_grammar(100, random_state=2)
    plain = DMV(n_iter=30).fit(sequences)
    wide = DMV(3, 3, init=plain, n_iter=10).fit(sequences)
    assert wide.lower_bound_ > plain.lower_bound_ - 1e-6
    same = DMV(init=plain, n_iter=0, smoothing=0.0).fit(sequences)
    np.testing.assert_allclose(same.child_, plain.child_, atol=1e-12)


def test_threads_and_order_change_nothing():
    sequences, _, _ = make_sparse_grammar(80, random_state=5)
    one = DMV(learning="pr-s", sigma=2.0, n_iter=5).fit(sequences)
    two = DMV(learning="pr-s", sigma=2.0, n_iter=5, n_jobs=2).fit(sequences)
    back = DMV(learning="pr-s", sigma=2.0, n_iter=5).fit(sequences[::-1])
    np.testing.assert_allclose(two.child_, one.child_, atol=1e-8)
    np.testing.assert_allclose(back.child_, one.child_, atol=1e-6)
    names = [[f"t{t}" for t in s] for s in sequences]
    named = DMV(learning="pr-s", sigma=2.0, n_iter=5).fit(names)
    np.testing.assert_allclose(named.child_, one.child_, atol=1e-8)


def test_projected_posteriors_have_fewer_kinds():
    sequences, _, _ = make_sparse_grammar(100, random_state=4)
    for learning in ("pr-s", "pr-as"):
        model = DMV(learning=learning, sigma=5.0, n_iter=5).fit(sequences)
        sparse = model.predict_proba(sequences, project=True)
        symmetric = learning == "pr-s"
        assert dependency_ambiguity(sparse, sequences, symmetric) < model.ambiguity_
        assert len(model.predict(sequences, "mbr", project=True)) == 100
    with pytest.raises(ValueError, match="Only regularised learning"):
        DMV().fit(CORPUS).predict(CORPUS, project=True)


BAD = [
    (lambda: DMV().fit([]), ValueError, "at least one sequence"),
    (lambda: DMV().fit([["a"], []]), ValueError, "Sequence 1 is empty"),
    (lambda: DMV().fit(["ab"]), TypeError, "Sequence 0 must be a list of tags"),
    (lambda: DMV().fit("ab"), TypeError, "list of sequences"),
    (lambda: DMV().fit([["a", 1]]), TypeError, "all strings or all integers"),
    (lambda: DMV().fit([["a", np.nan]]), TypeError, "sequence 0, position 1"),
    (lambda: DMV(sigma=-1.0).fit(CORPUS), ValueError, "'sigma'"),
    (lambda: DMV(sigma=np.inf).fit(CORPUS), ValueError, "'sigma'"),
    (lambda: DMV(init=3).fit(CORPUS), TypeError, "'init'"),
    (lambda: DMV(init="zero").fit(CORPUS), ValueError, "'init'"),
    (lambda: DMV().fit(CORPUS).predict([["X", "N", "Y"]]), ValueError, "Tags X, Y"),
    (lambda: DMV().fit(CORPUS).predict(CORPUS, "best"), ValueError, "'viterbi' or 'mbr'"),
    (lambda: DMV(init=DMV().fit([["N"]])).fit(CORPUS), ValueError, "unknown to the model"),
    (lambda: DMV().fit_supervised([["a"] * 4], [[3, 4, 0, 3]]), ValueError, "not projective"),
    (lambda: DMV().fit_supervised([["a"] * 2], [[0, 0]]), ValueError, "2 roots"),
    (lambda: DMV().fit_supervised([["a"] * 3], [[2, 1, 0]]), ValueError, "circle"),
    (lambda: DMV().fit_supervised([["a"] * 3], [[2, 0]]), ValueError, "3 tags"),
    (lambda: DMV().fit_supervised([["a"] * 2], [[2.0, 0.0]]), TypeError, "integers"),
    (lambda: DMV().fit_supervised([["a"] * 2], [[3, 0]]), ValueError, "another token"),
    (lambda: DMV().fit(CORPUS).sample(0), ValueError, "positive number"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    text = str(caught.value)  # those of parameters are scikit-learn's sentences
    assert text[0].isupper() or "parameter of" in text
    assert text.endswith(".")


def test_sentence_of_probability_zero():
    model = DMV(smoothing=0.0).fit_supervised([["A", "B"], ["C", "B"]], [[2, 0], [2, 0]])
    with pytest.raises(ValueError, match="Sequence 1 has probability zero"):
        model.predict([["A", "B"], ["B", "C"]])
    with pytest.raises(ValueError, match="Sequence 0 has probability zero"):
        model.predict_proba([["B", "C"]])
    with pytest.raises(ValueError, match="Sequence 0 has probability zero"):
        DMV(init=model).fit([["B", "C"], ["A", "B"]])


def test_long_sentences():
    """Sentences far beyond what products of chances can hold."""
    rng = np.random.default_rng(0)
    long = rng.integers(0, 3, size=300).tolist()
    model = random_model((2, 1))
    proba = model.predict_proba([long])[0]
    np.testing.assert_allclose(proba.sum(axis=0), 1.0, atol=1e-8)
    best = model.predict([long])[0]
    assert model.log_prob(long, best) <= model.score_samples([long])[0]
