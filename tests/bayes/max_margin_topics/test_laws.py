"""The laws that the sampler draws from, against quadrature, brute force and enumeration."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import gammaln
from sklearn.svm import LinearSVC, LinearSVR

from octavo.bayes.max_margin_topics.chain import TopicChain
from octavo.bayes.max_margin_topics.corpora import Corpus
from octavo.bayes.max_margin_topics.hinge_terms import (
    HingeTerms,
    class_terms,
    interval_terms,
    weight_law,
)
from octavo.bayes.max_margin_topics.modes import hinge_mode
from octavo.bayes.max_margin_topics.token_sweeps import sweep_tokens, work_space
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.engine.mcmc.diagnostics import monte_carlo_error
from octavo.engine.mcmc.enumeration import exact_law, frequencies, total_variation
from octavo.engine.mcmc.inverse_gaussian import fill_inverse_gaussian
from octavo.engine.mcmc.joint_test import geweke_joint_test


@pytest.mark.parametrize(("mean", "shape"), [(0.3, 1.0), (2.0, 1.0), (50.0, 3.0)])
def test_inverse_gaussian_draws_have_their_law(mean, shape):
    out = np.empty(20_000)
    fill_inverse_gaussian(draw_state(np.random.default_rng(0)), np.full(out.size, mean), shape, out)
    assert stats.kstest(out, stats.invgauss(mean / shape, scale=shape).cdf).pvalue > 1e-4


@pytest.mark.parametrize(("c", "zeta"), [(1.0, 0.7), (2.5, -1.3), (0.4, 3.0)])
def test_hinges_are_scale_mixtures(c, zeta):
    def integrand(lam):
        return np.exp(-((lam + c * zeta) ** 2) / (2 * lam)) / np.sqrt(2 * np.pi * lam)

    value = sum(integrate.quad(integrand, a, b)[0] for a, b in ((0, 0.5), (0.5, 5), (5, np.inf)))
    assert_allclose(value, np.exp(-2 * c * max(0.0, zeta)), rtol=1e-8)


def test_scales_have_their_mean():
    terms = class_terms(np.ones((30_000, 1)), 2.0, 1.5)
    scales = terms.draw_scales(np.full((30_000, 1), 0.4), draw_state(np.random.default_rng(1)))
    # E λ = 1 + c |ζ|; its variance is 2 + c |ζ|
    assert abs(scales.mean() - (1 + 2.0 * 1.1)) < 5 * np.sqrt((2 + 2.2) / 30_000)


def log_joint(z, words, docs, lin_terms, eta, scales, alpha, beta, n_topics, n_words):
    """Return log p(W, Z) + log φ(y, λ | Z, η), from the paper's joint, term by term."""
    terms, value = lin_terms, 0.0
    for d in np.unique(docs):
        counts = np.bincount(z[docs == d], minlength=n_topics)
        value += gammaln(counts + alpha).sum()
        f = eta @ (counts / counts.sum())
        zeta = terms.margins[:, d] - terms.signs[:, d] * f
        lam = scales[:, d]
        value -= ((lam + terms.costs[d] * zeta) ** 2 / (2 * lam)).sum()
    for k in range(n_topics):
        counts = np.bincount(words[z == k], minlength=n_words)
        value += gammaln(counts + beta).sum() - gammaln(counts.sum() + n_words * beta)
    return value


def problem(kind, c, rng):
    docs = np.array([0, 0, 0, 1, 1, 2])
    words = np.array([0, 1, 3, 1, 2, 0], dtype=np.int32)
    if kind == "regression":
        terms = interval_terms(rng.normal(size=3), c, 0.2)
    else:
        n_tasks = 1 if kind == "binary" else 3
        terms = class_terms(rng.choice([-1.0, 1.0], (3, n_tasks)), c, 1.7)
    eta = rng.normal(size=(terms.n_tasks, 3))
    scales = rng.uniform(0.3, 2.0, terms.margins.shape)
    return docs, words, terms, eta, scales


@pytest.mark.parametrize("kind", ["binary", "regression", "multitask"])
@pytest.mark.parametrize("steep", [1.0, 60.0])  # the second needs exponents one by one
def test_token_conditionals_are_those_of_the_joint(kind, steep):
    """The law of one token, Eq. (11), (18), (23) put right, with c far from one."""
    rng = np.random.default_rng(3)
    docs, words, terms, eta, scales = problem(kind, 2.5, rng)
    eta *= steep
    lin, quad = terms.quadratic(scales)
    # one document of one free token: the others are so short a chain that its law is exact
    z0 = rng.integers(0, 3, 6).astype(np.int32)
    logs = []
    for k in range(3):
        z = z0.copy()
        z[0] = k
        logs.append(log_joint(z, words, docs, terms, eta, scales, 0.4, 0.3, 3, 4))
    law = np.exp(logs - np.logaddexp.reduce(logs))
    state, found = draw_state(rng), np.zeros(3)
    n_draws = 4000  # an error of 0.8 % for each of three chances
    for _ in range(n_draws):
        z = z0.copy()
        doc_topic = np.array([np.bincount(z[docs == d], minlength=3) for d in range(3)], float)
        word_topic = np.array([np.bincount(z[words == w], minlength=3) for w in range(4)], float)
        # a corpus in which the first token's document is cut after that token: nothing else moves
        starts = np.array([0, 1])
        lengths = 3.0
        sweep_tokens(words[:1], starts, z[:1], doc_topic[:1], word_topic, doc_topic.sum(axis=0),
                     0.4, 0.3, eta, lin[:1] / lengths, quad[:1] / lengths**2, state,
                     *work_space(3))  # fmt: skip
        found[z[0]] += 1
    assert total_variation(law, found / n_draws) < 0.025


def grid_law(words, docs, labels, c, margin, alpha, beta, n_words):
    """Return the posterior of Z for two topics: η integrated on a grid."""
    axis = np.linspace(-7.0, 7.0, 281)
    one, two = np.meshgrid(axis, axis)
    prior = np.exp(-0.5 * (one**2 + two**2))
    states = [np.array(z) for z in itertools.product((0, 1), repeat=words.size)]

    def log_density(z):
        value, like = 0.0, prior.copy()
        for d, y in enumerate(labels):
            counts = np.bincount(z[docs == d], minlength=2)
            value += gammaln(counts + alpha).sum()
            f = (one * counts[0] + two * counts[1]) / counts.sum()
            like = like * np.exp(-2 * c * np.maximum(0.0, margin - y * f))
        for k in range(2):
            counts = np.bincount(words[z == k], minlength=n_words)
            value += gammaln(counts + beta).sum() - gammaln(counts.sum() + n_words * beta)
        return value + np.log(like.sum())

    return states, exact_law(log_density, states)


PAIRS = list(itertools.combinations(range(6), 2))


def together(z):
    """Tell of each pair of tokens whether they share a topic: topics have no names."""
    return np.array([z[..., i] == z[..., j] for i, j in PAIRS], dtype=float).T


def enumerated_chain(c, n_sweeps):
    """Run the chain of two documents of three words; return (exact, drawn) of `together`."""
    docs = np.repeat([0, 1], 3)
    words = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    states, law = grid_law(words, docs, (1, -1), c, 1.5, 0.5, 0.4, 3)
    corpus = Corpus(words, np.array([0, 3, 6]), 3)
    terms = class_terms(np.array([[1.0], [-1.0]]), c, 1.5)
    chain = TopicChain(corpus, 2, 0.5, 0.4, terms, 1.0, np.random.default_rng(5))
    draws = []
    for _ in range(n_sweeps):
        chain.sweep()
        draws.append(chain.topics.astype(np.int64))
    return states, law, np.array(draws)


@pytest.mark.parametrize("c", [0.0, 1.0, 2.0])
def test_chain_equals_enumeration(c):
    """64 states; c = 0 is plain LDA. Fifteen pairs: 4.5 errors are seen once in 10,000 runs."""
    states, law, draws = enumerated_chain(c, 2000)
    exact, drawn = law @ together(np.array(states)), together(draws)
    errors = monte_carlo_error(drawn[None])
    assert np.all(np.abs(drawn.mean(axis=0) - exact) < 4.5 * errors)
    assert errors.max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("c", [1.0, 2.0])
def test_long_chain_equals_enumeration(c):
    states, law, draws = enumerated_chain(c, 100_000)
    draws = np.concatenate([draws, 1 - draws])  # the law does not change with names of topics
    assert total_variation(frequencies(draws, states), law) < 0.02


@pytest.mark.parametrize("kind", ["regression", "unknown"])
def test_joint_law_of_weights_and_scales(kind):
    """Weights and scales alternate towards the posterior of the weights, by quadrature."""
    X = np.array([[1.0], [0.5], [-0.7], [0.3]])
    c, nu2 = 1.3, 2.0
    if kind == "regression":
        y = np.array([0.8, -0.2, 0.1, 0.5])
        terms = interval_terms(y, c, 0.1)
        eta = np.linspace(-8, 8, 4001)
        loss = np.maximum(np.abs(y[:, None] - X * eta) - 0.1, 0.0).sum(axis=0)
    else:
        Y = np.array([[1.0], [np.nan], [-1.0], [1.0]])
        terms = class_terms(Y, c, 1.0)
        eta = np.linspace(-8, 8, 4001)
        loss = sum(np.maximum(0, 1 - y * x * eta) for x, y in ((1.0, 1), (-0.7, -1), (0.3, 1)))
    density = np.exp(-(eta**2) / (2 * nu2) - 2 * c * loss)
    density /= density.sum()
    mean = density @ eta
    spread = np.sqrt(density @ (eta - mean) ** 2)
    rng, scales = np.random.default_rng(0), np.ones(terms.margins.shape)
    state, draws = draw_state(rng), []
    for _ in range(6000):
        lin, quad = terms.quadratic(scales)
        mu, (factor, _) = weight_law(X, lin[:, 0], quad[:, 0], nu2)
        draw = mu + rng.normal() / factor[0, 0]
        scales = terms.draw_scales((X @ draw)[:, None], state)
        draws.append(draw[0])
    assert abs(np.mean(draws) - mean) < 0.08 * spread  # 4 errors at an ESS of 2,500
    assert abs(np.std(draws) / spread - 1) < 0.08


def test_geweke():
    """Words given topics, scales and weights drawn afresh: both simulators agree."""
    n_docs, n_words, n_topics, length = 2, 3, 2, 3
    starts = np.arange(n_docs + 1) * length
    terms = class_terms(np.array([[1.0], [-1.0]]), 0.0, 1.0)

    def prior(rng):
        theta = rng.dirichlet(np.full(n_topics, 0.6), n_docs)
        z = np.array([rng.choice(n_topics, p=theta[d]) for d in np.repeat([0, 1], length)])
        return z.astype(np.int32), None

    def simulate(pair, rng):
        z, _ = pair
        phi = rng.dirichlet(np.full(n_words, 0.5), n_topics)
        return z, np.array([rng.choice(n_words, p=phi[k]) for k in z], dtype=np.int32)

    def transition(pair, rng):
        z, words = pair
        corpus = Corpus(words, starts, n_words)
        chain = TopicChain(corpus, n_topics, 0.6, 0.5, terms, 1.0, rng, topics=z)
        chain.sweep()
        return chain.topics, words

    def statistics(pair):
        z, words = pair
        return [z.mean(), np.mean(z[:3] == z[3:]), np.mean(words == 0), z @ words, z[0] == z[1]]

    test = geweke_joint_test(prior, simulate, transition, statistics, 700, np.random.default_rng(0))
    assert np.abs(test.z).max() < 4


def test_counts_stay_whole_and_topics_permute():
    rng = np.random.default_rng(2)
    words = rng.integers(0, 8, 60).astype(np.int32)
    corpus = Corpus(words, np.arange(0, 61, 10), 8)
    terms = class_terms(rng.choice([-1.0, 1.0], (6, 2)), 1.0, 4.0)
    chain = TopicChain(corpus, 3, 0.3, 0.1, terms, 1.0, rng)
    for _ in range(5):
        chain.sweep()
        assert chain.word_topic.sum() == 60
        assert_allclose(chain.word_topic.sum(axis=0), chain.totals)
        assert_allclose(chain.doc_topic.sum(axis=1), 10)
        again = TopicChain(corpus, 3, 0.3, 0.1, terms, 1.0, rng, topics=chain.topics)
        assert_allclose(again.doc_topic, chain.doc_topic)
        assert_allclose(again.word_topic, chain.word_topic)
    swapped = TopicChain(corpus, 3, 0.3, 0.1, terms, 1.0, rng, topics=2 - chain.topics)
    assert_allclose(swapped.log_likelihood(), chain.log_likelihood())
    assert_allclose(chain.log_likelihood(), log_joint_plain(chain), rtol=1e-12)


def log_joint_plain(chain):
    a, b = chain.alpha, chain.beta
    value = 0.0
    for counts, prior in ((chain.doc_topic, a), (chain.word_topic.T, b)):
        size = counts.shape[1]
        value += (gammaln(counts + prior) - gammaln(prior)).sum()
        value += (gammaln(size * prior) - gammaln(size * prior + counts.sum(axis=1))).sum()
    return value


def test_a_task_twice_counts_twice():
    rng = np.random.default_rng(4)
    Y = rng.choice([-1.0, 1.0], (5, 1))
    eta, scales = rng.normal(size=(1, 3)), rng.uniform(0.5, 2.0, (1, 5, 1))
    once, twice = class_terms(Y, 1.5, 2.0), class_terms(np.hstack([Y, Y]), 1.5, 2.0)
    single = once.quadratic(scales)
    double = twice.quadratic(np.concatenate([scales, scales], axis=2))
    for a, b in zip(single, double, strict=True):
        assert_allclose(b.sum(axis=1), 2 * a[:, 0])
    assert_allclose(
        twice.loss(np.ones((5, 2)) * eta[0, 0]), 2 * once.loss(np.ones((5, 1)) * eta[0, 0])
    )


@pytest.mark.parametrize(
    ("c", "nu2", "margin"), [(1.0, 1.0, 1.0), (0.3, 2.0, 5.0), (2.0, 1.0, 64.0)]
)
def test_mode_is_the_support_vector_machine(c, nu2, margin):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.sign(X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=120))
    mode = hinge_mode(X, class_terms(y[:, None], c, margin), nu2)
    # (1 / ℓ²) of the objective at η = ℓ w: ‖w‖²/(2ν²) + (2c/ℓ) Σ max(0, 1 - y w x)
    svc = LinearSVC(C=2 * c * nu2 / margin, loss="hinge", fit_intercept=False, tol=1e-9,
                    max_iter=200_000, random_state=0).fit(X, y)  # fmt: skip
    assert_allclose(mode.weights, margin * svc.coef_[0], atol=1e-5 * margin)
    assert mode.duality_gap <= 1e-9 * mode.objective
    assert np.all((mode.duals >= 0) & (mode.duals <= 2 * c))


def test_mode_of_numbers_is_support_vector_regression():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, 0.0, -1.0] + 0.3 * rng.normal(size=80)
    mode = hinge_mode(X, interval_terms(y, 0.7, 0.1), 1.5)
    svr = LinearSVR(C=2 * 0.7 * 1.5, epsilon=0.1, fit_intercept=False, tol=1e-9,
                    max_iter=500_000, random_state=0).fit(X, y)  # fmt: skip
    assert_allclose(mode.weights, svr.coef_, atol=1e-5)


def test_unknown_labels_say_nothing():
    Y = np.array([[1.0, np.nan], [np.nan, -1.0]])
    terms = class_terms(Y, 1.0, 3.0)
    lin, quad = terms.quadratic(np.ones(terms.margins.shape))
    assert_allclose(quad, [[1, 0], [0, 1]])
    assert lin[0, 1] == 0 == lin[1, 0]
    assert isinstance(terms.task(1), HingeTerms)
