"""Every decoder and risk against enumeration of all paths, the paper's examples, hmmlearn."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from octavo.data import protein_structure_hmm
from octavo.sequence import (
    CountHMM,
    HybridDecoder,
    HybridDecoderCV,
    asymptotic_risks,
    decode,
    decode_path_family,
    hmm_posteriors,
    path_risks,
    simulate_hmm,
    transformed_variables,
)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, dtype=float))


class Enumerated:
    """A chain whose paths are all listed, with probabilities by plain products."""

    def __init__(self, pi, P, f):
        self.pi, self.f = np.asarray(pi, float), np.asarray(f, float)
        self.T, self.K = self.f.shape
        P = np.asarray(P, float)
        self.given = P
        self.P = P if P.ndim == 3 else np.broadcast_to(P, (self.T - 1, self.K, self.K))
        self.paths = np.array(list(itertools.product(range(self.K), repeat=self.T)))
        self.prior = self.pi[self.paths[:, 0]].copy()
        emit = self.f[0, self.paths[:, 0]].copy()
        for t in range(1, self.T):
            self.prior *= self.P[t - 1, self.paths[:, t - 1], self.paths[:, t]]
            emit *= self.f[t, self.paths[:, t]]
        self.joint = self.prior * emit
        total = self.joint.sum()
        self.posterior = self.joint / total if total else self.joint

    @property
    def logs(self):
        return log(self.pi), log(self.given), log(self.f)

    def marginals(self, weights):
        out = np.zeros((self.T, self.K))
        for t in range(self.T):
            np.add.at(out[t], self.paths[:, t], weights)
        return out

    def along(self, values):
        """Return the sum over positions of values[t, s_t], for every path."""
        return values[np.arange(self.T), self.paths].sum(axis=1)

    def index(self, path):
        return int(np.ravel_multi_index(tuple(path), (self.K,) * self.T))

    def block(self, first, last):
        """Return, for every path, the posterior probability of its positions first .. last - 1."""
        code = self.paths[:, first:last] @ self.K ** np.arange(last - first)
        return np.bincount(code, self.posterior, minlength=self.K ** (last - first))[code]

    def assert_best(self, path, objective):
        """Check that a path attains the maximum of an objective given for all paths."""
        assert objective.max() > -np.inf
        np.testing.assert_allclose(objective[self.index(path)], objective.max(), rtol=1e-9)


def random_chain(seed, K, T, *, zeros=0.0, varying=False):
    """Return an Enumerated chain with some zero probabilities, possible all the same."""
    rng = np.random.default_rng(seed)
    while True:
        shape = (T - 1, K) if varying else (K,)
        pi, P = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), shape)
        f = rng.uniform(size=(T, K))
        for part in (pi, P, f):
            part[rng.uniform(size=part.shape) < zeros] = 0.0
        if pi.sum() == 0 or (P.sum(axis=-1) == 0).any():
            continue
        chain = Enumerated(pi / pi.sum(), P / P.sum(axis=-1, keepdims=True), f)
        if chain.joint.max() > 0:
            return chain


def times(weight, values):
    """Return weight * values where a weight of zero means that the term is absent."""
    return weight * values if weight else np.zeros_like(values)


CHAINS = [
    (0, 2, 7, 0.0, False),
    (1, 3, 6, 0.0, False),
    (2, 4, 5, 0.0, False),
    (3, 3, 6, 0.3, False),
    (4, 4, 5, 0.4, False),
    (5, 3, 5, 0.0, True),
    (6, 4, 5, 0.3, True),
    (7, 3, 1, 0.3, False),
    (8, 2, 7, 0.3, True),
    (9, 4, 7, 0.2, False),
    (10, 1, 3, 0.0, False),
]
each_chain = pytest.mark.parametrize(("seed", "K", "T", "zeros", "varying"), CHAINS)


@pytest.fixture
def chain(seed, K, T, zeros, varying):
    return random_chain(seed, K, T, zeros=zeros, varying=varying)


# --- posteriors and risks -----------------------------------------------------------------------


@each_chain
def test_posteriors_equal_enumeration(chain):
    found = hmm_posteriors(*chain.logs)
    np.testing.assert_allclose(found.gamma, chain.marginals(chain.posterior), atol=1e-13)
    np.testing.assert_allclose(found.prior_marginals, chain.marginals(chain.prior), atol=1e-13)
    np.testing.assert_allclose(found.loglik, np.log(chain.joint.sum()), rtol=1e-12)
    assert isinstance(found.loglik, float)
    for t in range(chain.T - 1):
        xi = np.zeros((chain.K, chain.K))
        np.add.at(xi, (chain.paths[:, t], chain.paths[:, t + 1]), chain.posterior)
        np.testing.assert_allclose(found.xi[t], xi, atol=1e-13)
    assert hmm_posteriors(*chain.logs, pairs=False).xi is None


@each_chain
def test_risks_equal_enumeration(chain):
    posteriors = hmm_posteriors(*chain.logs)
    gamma, prior = chain.marginals(chain.posterior), chain.marginals(chain.prior)
    rng = np.random.default_rng(chain.T)
    truth = chain.paths[rng.choice(len(chain.paths), p=chain.posterior)]
    for at in [*rng.integers(len(chain.paths), size=4), int(chain.joint.argmax())]:
        path = chain.paths[at]
        for k in range(1, chain.T + 1):
            found = path_risks(posteriors, chain.logs, path, k, truth=truth)
            T = chain.T
            wrong = chain.paths != path
            blocks = [chain.block(t, t + k)[at] for t in range(T - k + 1)]
            parts = [chain.block(max(j, 0), min(j + k, T))[at] for j in range(1 - k, T)]
            with np.errstate(divide="ignore"):
                wanted = {
                    "R1": chain.posterior @ wrong.mean(axis=1),
                    "R1_bar": -np.log(gamma[np.arange(T), path]).mean(),
                    "Rinf": 1 - chain.posterior[at],
                    "Rinf_bar": -np.log(chain.posterior[at]) / T,
                    "Rinf_bar_joint": -np.log(chain.joint[at]) / T,
                    "Rinf_bar_prior": -np.log(chain.prior[at]) / T,
                    "R1_prior": chain.prior @ wrong.mean(axis=1),
                    "R1_bar_prior": -np.log(prior[np.arange(T), path]).mean(),
                    "Rk": 1 - np.mean(blocks),  # Eq. (29)
                    "Rk_bar": -np.log(parts).sum() / T,  # the definition before Theorem 6
                    "admissible": float(chain.joint[at] > 0),
                    "possible": float(chain.prior[at] > 0),
                    "error": np.mean(path != truth),
                }
            assert found.keys() == wanted.keys()
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_block_risk_is_undefined_beyond_the_sequence():
    chain = random_chain(0, 2, 3)
    posteriors = hmm_posteriors(*chain.logs)
    assert np.isnan(path_risks(posteriors, chain.logs, [0, 0, 0], 4)["Rk"])
    assert np.isnan(path_risks(posteriors, chain.logs, [0, 0, 0], 1.5)["Rk"])
    found = path_risks(posteriors, chain.logs, [0, 0, 0], 1.5)
    np.testing.assert_allclose(found["Rk_bar"], found["R1_bar"] + 0.5 * found["Rinf_bar"])


# --- decoders against all paths -----------------------------------------------------------------


@each_chain
def test_viterbi_and_the_prior_corners(chain):
    chain.assert_best(decode(*chain.logs, method="viterbi"), log(chain.joint))
    for method in ("hybrid-pvd", "hybrid-pmap"):
        chain.assert_best(decode(*chain.logs, method=method, C=(0, 0, 0, 1)), log(chain.prior))
        chain.assert_best(decode(*chain.logs, method=method, alpha=1.0), log(chain.joint))
        pointwise = chain.along(chain.marginals(chain.prior))
        chain.assert_best(decode(*chain.logs, method=method, C=(0, 0, 1, 0)), pointwise)


@each_chain
def test_posterior_decoders(chain):
    total = chain.along(chain.marginals(chain.posterior))
    product = chain.along(log(chain.marginals(chain.posterior)))
    chain.assert_best(decode(*chain.logs, method="pmap"), total)
    chain.assert_best(decode(*chain.logs, method="hybrid-pvd", alpha=0.0), total)
    chain.assert_best(decode(*chain.logs), total)  # C = (1, 0, 0, 0)
    constrained = np.where(chain.joint > 0, total, -np.inf)  # Eq. (7)
    chain.assert_best(decode(*chain.logs, method="constrained-pmap"), constrained)
    possible = np.where(chain.prior > 0, total, -np.inf)  # Eq. (14)
    chain.assert_best(decode(*chain.logs, method="prior-pmap"), possible)
    admissible = np.where(chain.joint > 0, product, -np.inf)  # Eq. (9)
    chain.assert_best(decode(*chain.logs, method="pvd"), admissible)
    assert admissible.max() == np.where(chain.prior > 0, product, -np.inf).max()


WEIGHTS = [
    (0.7, 0.3, 0, 0),
    (1, 0, 0, 0.5),  # Eq. (13) and (17)
    (0, 1, 0, 2),  # Eq. (22)
    (0, 0, 0.4, 0.6),
    (1, 2, 3, 4),
    (0.2, 0, 0.5, 0),
]


@each_chain
@pytest.mark.parametrize("C", WEIGHTS)
def test_weighted_families(chain, C):
    gamma, prior = chain.marginals(chain.posterior), chain.marginals(chain.prior)
    rest = times(C[1], log(chain.joint)) + times(C[3], log(chain.prior))
    logs = times(C[0], chain.along(log(gamma))) + times(C[2], chain.along(log(prior)))
    sums = times(C[0], chain.along(gamma)) + times(C[2], chain.along(prior))
    if (logs + rest).max() > -np.inf:
        chain.assert_best(decode(*chain.logs, method="hybrid-pvd", C=C), logs + rest)  # Eq. (18)
    chain.assert_best(decode(*chain.logs, method="hybrid-pmap", C=C), sums + rest)  # Eq. (26)
    for beta in [(1, 1), (0.5, 2.0), (0, 1), (-0.5, 0.3)]:

        def risk(p, b):
            with np.errstate(divide="ignore"):
                return log(p) if b == 0 else (p**b - 1) / b  # Eq. (55)

        powered = times(C[0], chain.along(risk(gamma, beta[0])))
        powered = powered + times(C[2], chain.along(risk(prior, beta[1]))) + rest
        if powered.max() > -np.inf:
            chain.assert_best(decode(*chain.logs, method="beta", C=C, beta=beta), powered)


@each_chain
def test_blocks(chain):
    for k in range(1, chain.T + 1):
        counted = sum(chain.block(t, t + k) for t in range(chain.T - k + 1))
        chain.assert_best(decode(*chain.logs, method="rabiner", k=k), counted)  # Eq. (29)
        with np.errstate(divide="ignore"):
            product = sum(
                np.log(chain.block(max(j, 0), min(j + k, chain.T))) for j in range(1 - k, chain.T)
            )
        chain.assert_best(decode(*chain.logs, method="k-block", k=k), product)  # Eq. (33)
    chain.assert_best(decode(*chain.logs, method="k-block", k=np.inf), log(chain.joint))
    real = decode(*chain.logs, method="k-block", k=2.5)
    np.testing.assert_array_equal(real, decode(*chain.logs, alpha=0.6))


@each_chain
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0, 7.5, 2000.0, np.inf])
def test_power_transform_is_a_sum_over_paths(chain, mu):
    """Unrolled, Eq. (45) says (α_t(i) β_t(i))^μ = Σ p(x, s)^μ over the paths through (t, i)."""
    logs = log(chain.joint / chain.joint.max())
    product = np.empty((chain.T, chain.K))
    for t, i in np.ndindex(chain.T, chain.K):
        through = logs[chain.paths[:, t] == i]
        product[t, i] = through.max() if mu == np.inf else logsumexp(mu * through) / mu
    found = transformed_variables(*chain.logs, mu)
    both = found.forward + found.backward
    np.testing.assert_allclose(both - both.max(), product - product.max(), rtol=1e-9, atol=1e-9)
    path = decode(*chain.logs, method="power", mu=mu)
    np.testing.assert_allclose(
        product[np.arange(chain.T), path], product.max(axis=1), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(np.exp(found.forward).sum(axis=1), 1.0)


@each_chain
def test_power_transform_tends_to_geometric_means(chain):
    """Eq. (53) by its own words."""
    pi, P, f, T, K = chain.pi, chain.P, chain.f, chain.T, chain.K

    def geometric(values):
        support = values[values > 0]
        return np.exp(np.log(support).mean()) if support.size else 0.0

    forward, backward = np.zeros((T, K)), np.ones((T, K))
    scale = np.ones(T)
    for t in range(T):
        forward[t] = (
            pi * f[0]
            if t == 0
            else [geometric(forward[t - 1] * P[t - 1, :, i]) * f[t, i] for i in range(K)]
        )
        scale[t] = forward[t].sum()
        forward[t] /= scale[t]
    for t in range(T - 2, -1, -1):
        inner = P[t] * f[t + 1] * backward[t + 1]
        backward[t] = [geometric(row) / scale[t + 1] for row in inner]
    found = transformed_variables(*chain.logs, 0.0)
    np.testing.assert_allclose(np.exp(found.forward), forward, atol=1e-12)
    np.testing.assert_allclose(np.exp(found.backward), backward, rtol=1e-10)
    path = decode(*chain.logs, method="power", mu=0)
    np.testing.assert_array_equal(path, (forward * backward).argmax(axis=1))


@each_chain
@pytest.mark.parametrize("transform", ["brushe", "brushe-normalized"])
def test_log_sum_exp_hybrid(chain, transform):
    """Eq. (51) and (54) by their own words, in exact-enough arithmetic."""
    pi, P, f, T, K = chain.pi, chain.P, chain.f, chain.T, chain.K
    mu = 3.0

    def mixed(z):
        small = np.max(mu * z) < 1
        total = np.log1p(np.mean(np.expm1(mu * z))) if small else logsumexp(mu * z) - np.log(K)
        return total * (1 + (K - 1) * np.exp(-mu)) / mu if transform == "brushe" else total

    forward, backward, scale = np.zeros((T, K)), np.ones((T, K)), np.ones(T)
    for t in range(T):
        forward[t] = (
            pi * f[0]
            if t == 0
            else [mixed(forward[t - 1] * P[t - 1, :, i]) * f[t, i] for i in range(K)]
        )
        if transform == "brushe-normalized":
            scale[t] = forward[t].sum()
            forward[t] /= scale[t]
    for t in range(T - 2, -1, -1):
        backward[t] = [mixed(P[t, i] * f[t + 1] * backward[t + 1]) / scale[t + 1] for i in range(K)]
    found = transformed_variables(*chain.logs, mu, transform=transform)
    np.testing.assert_allclose(found.forward, forward, rtol=1e-11)
    np.testing.assert_allclose(found.backward, backward, rtol=1e-11)
    path = decode(*chain.logs, method=transform, mu=mu)
    np.testing.assert_array_equal(path, (forward * backward).argmax(axis=1))


# --- losses and labels --------------------------------------------------------------------------


def expected_loss(chain, loss, weights):
    """Return E[Σ_t l(s_t, Y_t)] of every path s by summing over all true paths."""
    return np.array([weights @ loss[path, chain.paths].sum(axis=1) for path in chain.paths])


LOSSES = [(2, 3, 4, 0.0, False), (3, 3, 4, 0.4, False), (4, 4, 3, 0.4, True)]
each_small = pytest.mark.parametrize(("seed", "K", "T", "zeros", "varying"), LOSSES)


@each_small
def test_general_loss(chain):
    rng = np.random.default_rng(1)
    loss = rng.uniform(0, 3, (chain.K, chain.K))
    np.fill_diagonal(loss, 0)
    risk = expected_loss(chain, loss, chain.posterior)
    chain.assert_best(decode(*chain.logs, method="pmap", loss=loss), -risk)
    chain.assert_best(
        decode(*chain.logs, method="constrained-pmap", loss=loss),
        np.where(chain.joint > 0, -risk, -np.inf),
    )
    chain.assert_best(
        decode(*chain.logs, method="prior-pmap", loss=loss),
        np.where(chain.prior > 0, -risk, -np.inf),
    )
    both = risk * 0.6 + 0.5 * expected_loss(chain, loss, chain.prior)
    path = decode(*chain.logs, method="hybrid-pmap", C=(0.6, 0.4, 0.5, 0), loss=loss)
    chain.assert_best(path, 0.4 * log(chain.joint) - both)
    found = path_risks(hmm_posteriors(*chain.logs), chain.logs, path, loss=loss)
    np.testing.assert_allclose(found["R1"] * chain.T, risk[chain.index(path)])


@each_small
def test_log_family_takes_one_minus_the_risk(chain):
    loss = np.random.default_rng(2).uniform(0, 1, (chain.K, chain.K))
    np.fill_diagonal(loss, 0)
    gain = 1 - chain.marginals(chain.posterior) @ loss.T
    wanted = 0.5 * chain.along(np.log(gain)) + 0.5 * log(chain.joint)
    chain.assert_best(decode(*chain.logs, alpha=0.5, loss=loss), wanted)
    admissible = np.where(chain.joint > 0, chain.along(np.log(gain)), -np.inf)
    chain.assert_best(decode(*chain.logs, method="pvd", loss=loss), admissible)


@each_small
def test_class_weights_scale_marginals(chain):
    weight = np.linspace(1, 4, chain.K)
    loss = weight[None, :] * (1 - np.eye(chain.K))  # l(y) 1{s ≠ y}
    risk = expected_loss(chain, loss, chain.posterior)
    chain.assert_best(decode(*chain.logs, method="pmap", class_weight=weight), -risk)
    path = decode(*chain.logs, method="hybrid-pmap", alpha=0.2, class_weight=weight)
    chain.assert_best(path, -0.8 * risk + 0.2 * log(chain.joint))
    logs = chain.along(log(weight * chain.marginals(chain.posterior)))
    path = decode(*chain.logs, alpha=0.2, class_weight=dict(enumerate(weight)))
    chain.assert_best(path, 0.8 * logs + 0.2 * log(chain.joint))
    found = path_risks(hmm_posteriors(*chain.logs), chain.logs, path, class_weight=weight)
    np.testing.assert_allclose(found["R1"] * chain.T, risk[chain.index(path)])


@each_small
def test_labels_count_labels(chain):
    labels = np.array(["a", "b", "a", "a"])[: chain.K]
    wrong = (labels[:, None] != labels[None, :]).astype(float)
    risk = expected_loss(chain, wrong, chain.posterior)
    for method, allowed in [
        ("pmap", np.ones(len(risk), bool)),
        ("constrained-pmap", chain.joint > 0),
        ("prior-pmap", chain.prior > 0),
    ]:
        names = decode(*chain.logs, method=method, labels=labels)
        assert names.dtype == labels.dtype
        wanted = np.where(allowed, -risk, -np.inf).max()
        # several state paths have these labels; the best allowed one must attain the optimum
        fits = (labels[chain.paths] == names).all(axis=1) & allowed
        np.testing.assert_allclose(-risk[fits], wanted)
    share = chain.marginals(chain.posterior) @ (1 - wrong)
    objective = 0.7 * chain.along(log(share)) + 0.3 * log(chain.joint)
    names = decode(*chain.logs, alpha=0.3, labels=labels)
    fits = (labels[chain.paths] == names).all(axis=1)
    np.testing.assert_allclose(objective[fits].max(), objective.max())
    pvd = decode(*chain.logs, method="pvd", labels=labels)
    fits = (labels[chain.paths] == pvd).all(axis=1) & (chain.joint > 0)
    admissible = np.where(chain.joint > 0, chain.along(log(share)), -np.inf)
    np.testing.assert_allclose(admissible[fits].max(), admissible.max())
    # the mean within classes, and a loss between labels
    size = (1 - wrong).sum(axis=1)
    averaged = chain.along(share / size)
    names = decode(*chain.logs, method="pmap", labels=labels, label_agg="mean")
    fits = (labels[chain.paths] == names).all(axis=1)
    np.testing.assert_allclose(averaged[fits].max(), averaged.max())
    same = decode(*chain.logs, method="pmap", labels=labels, loss=[[0, 1], [1, 0]])
    np.testing.assert_array_equal(same, decode(*chain.logs, method="pmap", labels=labels))


@each_small
def test_losses_on_pairs(chain):
    K, T = chain.K, chain.T
    loss = np.random.default_rng(3).uniform(size=(K, K, K, K))
    risk = np.zeros(len(chain.paths))
    for at, s in enumerate(chain.paths):
        for t in range(T - 1):
            risk[at] += (
                chain.posterior @ loss[s[t], s[t + 1], chain.paths[:, t], chain.paths[:, t + 1]]
            )
    chain.assert_best(decode(*chain.logs, method="rabiner", loss=loss), -risk)
    i, j = np.ogrid[:K, :K]
    zero_one = np.ones((K, K, K, K))
    zero_one[i, j, i, j] = 0  # Eq. (30) with k = 2
    paths = [
        decode(*chain.logs, method="rabiner", loss=zero_one),
        decode(*chain.logs, method="rabiner"),
    ]
    counted = sum(chain.block(t, t + 2) for t in range(T - 1))
    for path in paths:
        chain.assert_best(path, counted)


def test_first_state_is_constrained():
    """As printed, Eq. (8) and (15) would begin in a state that cannot begin."""
    pi, P = [1.0, 0.0, 0.0], np.full((3, 3), 1 / 3)
    f = np.array([[0.2, 0.5, 0.5], [0.2, 0.5, 0.5]])
    loss = np.array([[0.95, 1, 1], [0.9, 0, 0.1], [0.9, 0.1, 0]])  # saying 0 is worst of all
    for method in ("constrained-pmap", "prior-pmap", "pvd"):
        assert decode(log(pi), log(P), log(f), method=method, loss=loss)[0] == 0
    loss[0, 0] = 1.0
    with pytest.raises(ValueError, match="Every possible path of sequence 0 has an infinite risk"):
        decode(log(pi), log(P), log(f), method="pvd", loss=loss)


# --- forms of input -----------------------------------------------------------------------------

ALL_METHODS = [
    {"method": "viterbi"},
    {"method": "pmap"},
    {"method": "constrained-pmap"},
    {"method": "prior-pmap"},
    {"method": "pvd"},
    {"method": "hybrid-pvd", "C": (0.5, 0.2, 0.2, 0.1)},
    {"method": "hybrid-pmap", "alpha": 0.3},
    {"method": "k-block", "k": 3},
    {"method": "rabiner", "k": 3},
    {"method": "beta", "C": (1, 0.2, 0.1, 0), "beta": (0.5, 0.5)},
    {"method": "power", "mu": 3},
    {"method": "brushe", "mu": 3},
    {"method": "brushe-normalized", "mu": 3},
]
each_method = pytest.mark.parametrize("choice", ALL_METHODS, ids=lambda c: c["method"])


@each_method
@pytest.mark.parametrize("varying", [False, True])
def test_lists_stacks_and_single_sequences_agree(choice, varying):
    rng = np.random.default_rng(4)
    K, lengths = 3, [4, 3, 6]
    pi, P = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K)
    emission = [rng.uniform(size=(n, K)) for n in lengths]
    trans = [rng.dirichlet(np.ones(K), (n - 1, K)) if varying else P for n in lengths]
    single = [decode(log(pi), log(p), log(f), **choice) for p, f in zip(trans, emission)]
    stacked_trans = log(np.concatenate(trans)) if varying else log(P)
    listed_trans = [log(p) for p in trans] if varying else log(P)
    stacked = decode(
        log(pi), stacked_trans, log(np.concatenate(emission)), lengths=lengths, **choice
    )
    listed = decode(log(pi), listed_trans, [log(f) for f in emission], **choice)
    np.testing.assert_array_equal(stacked, np.concatenate(single))
    assert isinstance(listed, list)
    for one, other in zip(listed, single):
        np.testing.assert_array_equal(one, other)


@each_method
def test_sparse_transitions_are_the_same_model(choice):
    chain = random_chain(3, 3, 6, zeros=0.3)
    start, trans, emission = chain.logs
    matrix = sparse.csr_array(np.where(chain.given > 0, 1.0, 0.0))
    matrix.data = trans[matrix.nonzero()]
    if choice["method"] in ("rabiner", "brushe", "brushe-normalized"):
        with pytest.raises(ValueError, match="dense"):
            decode(start, matrix, emission, **choice)
        return
    np.testing.assert_array_equal(
        decode(start, matrix, emission, **choice), decode(*chain.logs, **choice)
    )
    last = decode(start, matrix, emission, tie_break="last", **choice)
    np.testing.assert_array_equal(last, decode(*chain.logs, tie_break="last", **choice))
    path, risks = decode(start, matrix, emission, return_risks=True, **choice)
    wanted = path_risks(hmm_posteriors(*chain.logs), chain.logs, path, choice.get("k", 2))
    assert risks == pytest.approx(wanted, nan_ok=True)


@each_method
def test_ties_follow_the_rule(choice):
    K, T = 3, 4
    flat = log(np.full(K, 1 / K)), log(np.full((K, K), 1 / K)), np.zeros((T, K))
    assert (decode(*flat, **choice) == 0).all()
    assert (decode(*flat, tie_break="last", **choice) == K - 1).all()


@each_chain
def test_breaking_ties_the_other_way_keeps_the_score(chain):
    weight = np.linspace(1, 2, chain.K)
    loss = weight[None, :] * (1 - np.eye(chain.K))
    for extra in ({"class_weight": weight}, {"loss": loss}, {"class_weight": {0: 2.0}}):
        first, last = (
            decode(*chain.logs, method="constrained-pmap", tie_break=rule, **extra)
            for rule in ("first", "last")
        )
        cost = loss
        if isinstance(extra.get("class_weight"), dict):
            cost = np.where(np.arange(chain.K) == 0, 2.0, 1.0) * (1 - np.eye(chain.K))
        risk = [
            path_risks(hmm_posteriors(*chain.logs), chain.logs, p, loss=cost)["R1"]
            for p in (first, last)
        ]
        np.testing.assert_allclose(*risk)


ALPHAS = np.r_[0, np.geomspace(1e-3, 0.9, 8), 1]


@pytest.mark.parametrize("method", ["hybrid-pvd", "hybrid-pmap", "k-block", "beta"])
@each_chain
def test_a_family_is_its_members(chain, method):
    family = decode_path_family(*chain.logs, ALPHAS, method=method, beta=(0.5, 0.5))
    gains = {"hybrid-pmap": 1.0, "beta": 0.5}.get(method, 0.0)
    gamma = chain.marginals(chain.posterior)
    with np.errstate(divide="ignore"):
        nodes = log(gamma) if gains == 0 else (gamma**gains - 1) / gains
    for alpha, path in zip(ALPHAS, family):
        objective = times(1 - alpha, chain.along(nodes)) + times(alpha, log(chain.joint))
        chain.assert_best(path, objective)
    if method != "k-block":
        alone = decode(*chain.logs, method=method, alpha=ALPHAS[3], beta=(0.5, 0.5))
        np.testing.assert_array_equal(alone, family[3])


def test_a_family_of_weights_lists_and_sparse():
    chain = random_chain(3, 3, 6, zeros=0.3)
    C = np.array([(1, 0, 0, 0), (0.3, 0.1, 0.5, 0.2), (0, 0, 0, 1), (0, 1, 0, 0)], float)
    family = decode_path_family(*chain.logs, C)
    for row, path in zip(C, family):
        np.testing.assert_array_equal(path, decode(*chain.logs, C=row))
    only_prior = decode_path_family(*chain.logs, C[2:3])
    np.testing.assert_array_equal(only_prior[0], family[2])
    start, trans, emission = chain.logs
    matrix = sparse.csr_array(np.where(chain.given > 0, 1.0, 0.0))
    matrix.data = trans[matrix.nonzero()]
    np.testing.assert_array_equal(decode_path_family(start, matrix, emission, C), family)
    listed = decode_path_family(start, trans, [emission, emission[:4]], ALPHAS, labels=list("aab"))
    assert [part.shape for part in listed] == [(10, 6), (10, 4)]
    np.testing.assert_array_equal(
        listed[1], decode_path_family(start, trans, emission[:4], ALPHAS, labels=list("aab"))
    )


def test_risks_come_with_the_path():
    chain = random_chain(3, 3, 6, zeros=0.3)
    path, risks = decode(*chain.logs, alpha=0.4, return_risks=True)
    wanted = path_risks(hmm_posteriors(*chain.logs), chain.logs, path)
    assert risks == pytest.approx(wanted)


def test_risks_of_several_sequences_are_means():
    chains = [random_chain(20 + n, 2, n) for n in (3, 5)]
    pi, P = chains[0].pi, chains[0].given
    models = [Enumerated(pi, P, c.f) for c in chains]
    paths = [decode(*m.logs, method="viterbi") for m in models]
    each = [path_risks(hmm_posteriors(*m.logs), m.logs, p, 2) for m, p in zip(models, paths)]
    listed = (log(pi), log(P), [log(c.f) for c in chains])
    found = path_risks(hmm_posteriors(*listed), listed, paths)
    stacked = (log(pi), log(P), np.concatenate(listed[2]))
    again = path_risks(
        hmm_posteriors(*stacked, lengths=[3, 5]), stacked, np.concatenate(paths), lengths=[3, 5]
    )
    for name in found:
        np.testing.assert_allclose(found[name], np.mean([risks[name] for risks in each]))
        np.testing.assert_allclose(again[name], found[name])
    assert hmm_posteriors(*listed).loglik.shape == (2,)
    assert [g.shape for g in hmm_posteriors(*listed).xi] == [(2, 2, 2), (4, 2, 2)]


# --- properties ---------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 30), st.sampled_from([0.0, 0.3]))
def test_trade_off_is_monotone(seed, K, T, zeros):
    """Corollary 15, inequalities (36), (37) and the bound (39), along the whole grid."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), K) * (rng.uniform(size=(K, K)) >= zeros)
    P += np.eye(K) * 0.1
    model = (
        log(rng.dirichlet(np.ones(K))),
        log(P / P.sum(1, keepdims=True)),
        rng.normal(size=(T, K)),
    )
    posteriors = hmm_posteriors(*model)
    for method, point in (("hybrid-pvd", "R1_bar"), ("hybrid-pmap", "R1")):
        paths = decode_path_family(*model, ALPHAS, method=method)
        risks = [path_risks(posteriors, model, path) for path in paths]
        assert all(risk["admissible"] for risk in risks[1:])
        marginal = np.array([risk[point] for risk in risks])
        whole = np.array([risk["Rinf_bar"] for risk in risks])
        assert (np.diff(marginal) >= -1e-9).all()
        assert (whole[1:] <= whole[:-1] + 1e-9).all()
        if method == "hybrid-pvd":
            k = 1 / (1 - ALPHAS[1:-1])
            assert (whole[1:-1] <= whole[-1] + marginal[-1] / (k - 1) + 1e-9).all()
    C = np.column_stack([np.zeros((10, 2)), 1 - ALPHAS, ALPHAS])
    for method, point in (("hybrid-pvd", "R1_bar_prior"), ("hybrid-pmap", "R1_prior")):
        risks = [
            path_risks(posteriors, model, p) for p in decode_path_family(*model, C, method=method)
        ]
        assert (np.diff([risk[point] for risk in risks]) >= -1e-9).all()
        whole = np.array([risk["Rinf_bar_prior"] for risk in risks])
        assert (whole[1:] <= whole[:-1] + 1e-9).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_relabelling_states_relabels_paths(seed, K):
    rng = np.random.default_rng(seed)
    start, trans = log(rng.dirichlet(np.ones(K))), log(rng.dirichlet(np.ones(K), K))
    emission = rng.normal(size=(12, K))
    order = rng.permutation(K)
    moved = start[order], trans[np.ix_(order, order)], emission[:, order]
    for choice in ALL_METHODS:
        path, other = decode(start, trans, emission, **choice), decode(*moved, **choice)
        np.testing.assert_array_equal(order[other], path)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(-500, 500))
def test_scale_of_densities_does_not_matter(seed, shift):
    rng = np.random.default_rng(seed)
    start, trans = log(rng.dirichlet(np.ones(3))), log(rng.dirichlet(np.ones(3), 3))
    emission = rng.normal(size=(9, 3))
    for choice in ALL_METHODS:
        if "brushe" not in choice["method"]:  # theirs does depend on it
            np.testing.assert_array_equal(
                decode(start, trans, emission + shift, **choice),
                decode(start, trans, emission, **choice),
            )


def test_far_apart_densities_stay_exact():
    """Log-densities e^-5000 apart: probabilities would underflow, logarithms do not."""
    rng = np.random.default_rng(8)
    means = np.array([0.0, 100.0, 100.0])
    states = np.repeat([0, 1, 2, 0], 5)
    emission = -0.5 * (means[states][:, None] + rng.normal(size=(20, 1)) - means) ** 2
    trans = log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.0, 0.7]])
    start = log([1.0, 0.0, 0.0])
    paths = decode_path_family(start, trans, emission, ALPHAS)
    assert ((paths == 0) == (states == 0)).all()
    risks = path_risks(hmm_posteriors(start, trans, emission), (start, trans, emission), paths[2])
    assert risks["admissible"] == 1.0


# --- the paper's examples -----------------------------------------------------------------------

APPENDIX_A = Enumerated(
    np.full(9, 1 / 9),
    np.array(
        [
            [5, 0, 0, 0, 4, 0, 0, 0, 0],
            [1] * 9,
            [0, 0, 4, 0, 5, 0, 0, 0, 0],
            [1] * 9,
            [0, 1, 0, 1, 1, 1, 2, 1, 2],
            [1] * 9,
            [3, 3, 0, 0, 0, 3, 0, 0, 0],
            [1] * 9,
            [0, 0, 3, 3, 0, 0, 0, 3, 0],
        ]
    )
    / 9,
    np.array(
        [
            [1 / 25, 0, 1 / 20, 0, 1 / 10, 0, 1 / 15, 0, 1 / 15],
            [1 / 20, 0, 1 / 25, 0, 0, 0, 1 / 15, 0, 1 / 15],
            [0, 1 / 5, 0, 1 / 5, 1 / 5, 1 / 5, 0, 1 / 5, 0],
        ]
    ),
)


def test_appendix_a():
    """Constraining the prior is not enough; eight paths attain the admissible optimum."""
    found = hmm_posteriors(*APPENDIX_A.logs)
    wanted = np.array(
        [[1, 0, 1, 0, 4, 0, 1, 0, 1], [2, 0, 2, 0, 0, 0, 2, 0, 2], [0, 1, 0, 1, 4, 1, 0, 1, 0]]
    )
    np.testing.assert_allclose(found.gamma, wanted / 8, atol=1e-14)
    total = APPENDIX_A.along(wanted / 8)

    def best(allowed):
        value = total[allowed].max()
        paths = APPENDIX_A.paths[allowed & np.isclose(total, value)] + 1
        return value, {tuple(int(s) for s in path) for path in paths}

    free = best(np.ones(total.size, bool))
    assert free == (1.25, {(5, 1, 5), (5, 3, 5), (5, 7, 5), (5, 9, 5)})
    prior = best(APPENDIX_A.prior > 0)
    assert prior == (1.0, {(5, 2, 5), (5, 4, 5), (5, 5, 5), (5, 6, 5), (5, 8, 5)})
    admissible = best(APPENDIX_A.joint > 0)
    listed = {(5, 7, 2), (5, 7, 6), (3, 3, 5), (9, 3, 5)}
    assert admissible[0] == 0.875
    assert len(admissible[1]) == 8
    assert listed < admissible[1]
    for method, (_, paths) in zip(
        ("pmap", "prior-pmap", "constrained-pmap"), (free, prior, admissible)
    ):
        path = decode(*APPENDIX_A.logs, method=method)
        assert tuple(int(s) + 1 for s in path) in paths


DICE = (
    [2 / 3, 1 / 3],
    [[0.95, 0.05], [0.1, 0.9]],
    [[1 / 6] * 6, [0.1] * 5 + [0.5]],
)
ROLLS = np.array([2, 6, 6, 4, 1]) - 1
TABLE_2 = {
    "brushe": [
        ("0.11111", "6.6968e-05", "0.033333", "0.00019826", "7.4409", "6.6088"),
        ("0.010576", "0.00071029", "0.0091583", "0.00085352", "7.5121", "7.8168"),
        ("0.0009266", "0.0083987", "0.0022209", "0.003471", "7.7823", "7.7088"),
        ("9.201e-05", "0.10141", "0.00010268", "0.058041", "9.3311", "5.9598"),
        ("8.1481e-06", "1", "4.8559e-06", "1", "8.1481", "4.8559"),
    ],
    "brushe-normalized": [
        ("0.76923", "0.30879", "0.23077", "0.97296", "0.23753", "0.22453"),
        (None, None, "0.41037", "0.55227", "0.32510", "0.22664"),  # garbled in our copy
        ("0.35383", "1.15172", "0.64617", "0.39942", "0.40751", "0.25809"),
        ("0.46886", "1.03712", "0.53114", "0.59356", "0.48626", "0.31526"),
        ("0.60611", "1", "0.39389", "1", "0.60611", "0.39389"),
    ],
}


@pytest.mark.parametrize("transform", list(TABLE_2))
def test_table_2_to_every_digit(transform):
    emission = log(np.array(DICE[2])[:, ROLLS].T)
    logs = log(DICE[0]), log(DICE[1]), emission
    found = transformed_variables(*logs, 7, transform=transform)
    product = found.forward * found.backward * (1e6 if transform == "brushe" else 1)
    values = np.column_stack(
        [
            found.forward[:, 0],
            found.backward[:, 0],
            found.forward[:, 1],
            found.backward[:, 1],
            product,
        ]
    )
    for row, printed in zip(values, TABLE_2[transform]):
        for value, text in zip(row, printed):
            if text is None:
                continue
            if transform == "brushe":  # five significant digits, trailing zeros dropped
                assert float(f"{value:.5g}") == float(text)
            else:  # five decimals
                assert round(value, 5) == float(text)
    path = decode(*logs, method=transform, mu=7) + 1
    wanted = {"brushe": [1, 2, 1, 1, 1], "brushe-normalized": [1, 1, 1, 1, 1]}
    assert path.tolist() == wanted[transform]


def test_original_hybrid_underflows_and_says_where():
    """Section 6.1: the hybrid (51) fails at T = 40 on this model; normalised it does not."""
    X, _ = simulate_hmm(DICE, 2000, rng=0)
    for mu in (0.001, 1):
        with pytest.raises(ValueError, match="underflow at sequence 0, position"):
            HybridDecoder(DICE, "brushe", mu=mu).predict(X)
    viterbi = HybridDecoder(DICE, "viterbi").predict(X[:100])
    pmap = HybridDecoder(DICE, "pmap").predict(X[:100])
    normalised = HybridDecoder(DICE, "brushe-normalized", mu=1e-3).predict(X[:100])
    np.testing.assert_array_equal(normalised, pmap)
    normalised = HybridDecoder(DICE, "brushe-normalized", mu=1e4).predict(X[:100])
    assert (normalised == viterbi).mean() > 0.95


def test_example_1_max_product_glues_an_impossible_path():
    pi, P = [0.4, 0.54, 0.06], [[0.6, 0.4, 0], [0.1, 0.1, 0.8], [0, 0.02, 0.98]]
    f = np.array([[0.3, 0.2, 1 / 6], [0.15, 0.3, 1 / 6]])
    chain = Enumerated(pi, P, f)
    np.testing.assert_allclose(chain.joint[chain.index([0, 1])], 0.0144)
    np.testing.assert_allclose(chain.joint[chain.index([1, 2])], 0.0144)
    np.testing.assert_allclose(chain.joint.sum(), 0.046153, atol=5e-7)
    chain.assert_best(decode(*chain.logs, method="viterbi"), log(chain.joint))
    both = sum(transformed_variables(*chain.logs, np.inf))
    ties = np.isclose(both, both.max(axis=1, keepdims=True))
    assert ties.tolist() == [[True, True, False], [False, True, True]]
    assert chain.joint[chain.index([0, 2])] == 0  # gluing the tied states 1 and 3


def test_appendix_e_is_transcribed_right():
    model = protein_structure_hmm()
    for part in model:
        np.testing.assert_allclose(part.sum(axis=-1), 1.0)
    values, vectors = np.linalg.eig(model.transmat.T)
    law = np.real(vectors[:, np.argmax(values.real)])
    printed = [0.0511, 0.2029, 0.4527, 0.0847, 0.1240, 0.0847]
    # the stationary law amplifies the rounding of four digits by about ten
    np.testing.assert_allclose(law / law.sum(), printed, atol=5e-4)


def test_simulated_proteins_behave_as_in_the_paper():
    """An independent computation on 400 sequences found these; the tolerances are three standard
    errors of a mean over 400 sequences, and of the difference of two shares of 400."""
    model = protein_structure_hmm()
    n = 3000
    lengths = np.full(n, 167)
    X, states = simulate_hmm(model, lengths, rng=0)
    decoder = HybridDecoder(model)
    family = decoder.decode_family(X, [0.0, 0.001, 0.5, 0.9, 1.0], lengths)
    errors = 100 * (family != states).reshape(5, n, 167).mean(axis=2)
    tolerance = 3 * errors.std(axis=1) * np.sqrt(1 / 400 + 1 / n)
    assert (tolerance < 2.5).all()
    gap = errors.mean(axis=1) - [46.3, 46.5, 47.0, 48.9, 54.1]
    assert (np.abs(gap) < tolerance).all()
    few = slice(0, 400 * 167)
    share = [decoder.score_path(X[few], p[few], lengths[:400])["admissible"] for p in family]
    assert share[1:] == [1.0] * 4
    np.testing.assert_allclose(1 - share[0], 0.86, atol=3 * np.sqrt(2 * 0.86 * 0.14 / 400))
    pairs = HybridDecoder(model, "rabiner", k=2).predict(X[few], lengths[:400])
    found = decoder.score_path(X[few], pairs, lengths[:400])["admissible"]
    np.testing.assert_allclose(1 - found, 0.82, atol=3 * np.sqrt(2 * 0.82 * 0.18 / 400))


# --- hmmlearn -----------------------------------------------------------------------------------


def hmmlearn_models():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(10)
    K = 3
    pi, P = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K)
    symbols = hmm.CategoricalHMM(K)
    symbols.startprob_, symbols.transmat_ = pi, P
    symbols.emissionprob_, symbols.n_features = rng.dirichlet(np.ones(5), K), 5
    normal = hmm.GaussianHMM(K, covariance_type="diag")
    normal.startprob_, normal.transmat_ = pi, P
    normal.n_features = mixed_features = 2
    normal.means_, normal.covars_ = rng.normal(size=(K, 2)), np.ones((K, 2))
    mixed = hmm.GMMHMM(K, n_mix=2, covariance_type="spherical")
    mixed.startprob_, mixed.transmat_ = pi, P
    mixed.n_features = mixed_features
    mixed.weights_ = rng.dirichlet(np.ones(2), K)
    mixed.means_, mixed.covars_ = rng.normal(size=(K, 2, 2)), np.ones((K, 2))
    return [symbols, normal, mixed]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_corners_are_hmmlearns(which):
    model = hmmlearn_models()[which]
    lengths = [50, 1, 30]
    X, _ = simulate_hmm(model, lengths, rng=11)
    X = X.reshape(sum(lengths), -1)
    gamma = HybridDecoder(model).predict_proba(X, lengths)
    np.testing.assert_allclose(gamma, model.predict_proba(X, lengths), atol=1e-10)
    score, viterbi = model.decode(X, lengths, algorithm="viterbi")
    for decoder in (
        HybridDecoder(model, "viterbi"),
        HybridDecoder(model, alpha=1.0),
        HybridDecoder(model, C=(0, 2, 0, 0)),
        HybridDecoder(model, "hybrid-pmap", alpha=1),
        HybridDecoder(model, "power", mu=np.inf),
    ):
        np.testing.assert_array_equal(decoder.predict(X, lengths), viterbi)
    risks = HybridDecoder(model).score_path(X[:50], viterbi[:50])
    np.testing.assert_allclose(
        -50 * risks["Rinf_bar_joint"], model.decode(X[:50], algorithm="viterbi")[0]
    )
    pmap = model.decode(X, lengths, algorithm="map")[1]
    for decoder in (
        HybridDecoder(model, "pmap"),
        HybridDecoder(model, alpha=0),
        HybridDecoder(model, "power", mu=1),
    ):
        np.testing.assert_array_equal(decoder.predict(X, lengths), pmap)
    parts = np.split(X, np.cumsum(lengths)[:-1])
    listed = HybridDecoder(model, alpha=0.2).predict(parts)
    np.testing.assert_array_equal(
        np.concatenate(listed), HybridDecoder(model, alpha=0.2).predict(X, lengths)
    )


# --- the estimator ------------------------------------------------------------------------------


def test_models_in_every_form_agree():
    X, _ = simulate_hmm(DICE, [30, 20], rng=12)
    wanted = HybridDecoder(DICE, alpha=0.1).predict(X, [30, 20])
    table = np.array(DICE[2])
    counted = CountHMM(6)
    counted.startprob_, counted.transmat_ = np.array(DICE[0]), np.array(DICE[1])
    counted.emissionprob_ = table
    discrete = [stats.rv_discrete(values=(np.arange(6), row)) for row in table]
    forms = [
        counted,
        (*DICE[:2], lambda x: log(table[:, x].T)),
        (*DICE[:2], discrete),
        (DICE[0], sparse.csr_array(np.array(DICE[1])), DICE[2]),
        (DICE[0], np.broadcast_to(DICE[1], (48, 2, 2)), DICE[2]),
    ]
    for model in forms:
        np.testing.assert_array_equal(HybridDecoder(model, alpha=0.1).predict(X, [30, 20]), wanted)
    np.testing.assert_array_equal(
        HybridDecoder(DICE, alpha=0.1).predict(X[:, None], [30, 20]), wanted
    )
    normal = ([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [stats.norm(0, 1), stats.norm(4, 1)])
    x, states = simulate_hmm(normal, 200, rng=13)
    assert (HybridDecoder(normal).predict(x) == states).mean() > 0.9


def test_decoder_answers_labels_and_families():
    model = protein_structure_hmm()
    labels = ["helix", "strand", "coil", "helix", "helix", "helix"]
    lengths = [80, 60]
    X, _ = simulate_hmm(model, lengths, rng=14)
    decoder = HybridDecoder(model, "constrained-pmap", labels=labels)
    path = decoder.predict(X, lengths)
    logs = log(model.startprob), log(model.transmat), log(model.emissionprob[:, X].T)
    wanted = decode(*logs, method="constrained-pmap", labels=labels, lengths=lengths)
    np.testing.assert_array_equal(path, wanted)
    states = decoder.predict_states(X, lengths)
    np.testing.assert_array_equal(np.array(labels)[states], path)
    proba = decoder.predict_proba(X, lengths)
    gamma = hmm_posteriors(*logs, lengths=lengths).gamma
    np.testing.assert_allclose(proba[:, 1], gamma[:, [0, 3, 4, 5]].sum(axis=1))
    assert decoder.fit().classes_.tolist() == ["coil", "helix", "strand"]
    assert decoder.score_path(X, states, lengths)["admissible"] == 1.0
    family = HybridDecoder(model, labels=labels).decode_family(np.split(X, [80]), [0.1, 0.9])
    assert family[0].shape == (2, 80)
    one = HybridDecoder(model, labels=labels, alpha=0.9).predict(X[:80])
    np.testing.assert_array_equal(family[0][1], one)
    listed = decoder.predict(np.split(X, [80]))
    np.testing.assert_array_equal(np.concatenate(listed), path)


def test_decoder_passes_its_parameters_on():
    X, _ = simulate_hmm(DICE, 60, rng=15)
    logs = log(DICE[0]), log(DICE[1]), log(np.array(DICE[2])[:, X].T)
    for choice in [c for c in ALL_METHODS if c["method"] != "brushe"]:
        decoder = HybridDecoder(DICE, **choice)
        np.testing.assert_array_equal(decoder.predict(X), decode(*logs, **choice))
    weighted = HybridDecoder(DICE, alpha=0.2, class_weight=[1, 5]).predict(X)
    np.testing.assert_array_equal(weighted, decode(*logs, alpha=0.2, class_weight=[1, 5]))


def test_cloning_keeps_the_model():
    from sklearn.base import clone

    model = CountHMM(2).fit([[0, 1, 1]], [[0, 1, 1]])
    copied = clone(HybridDecoder(model, alpha=0.25))
    assert copied.model is model
    assert copied.alpha == 0.25
    assert copied.predict([0, 1]).tolist() == [0, 1]


# --- choosing alpha -----------------------------------------------------------------------------


def test_search_is_cross_validation_by_hand():
    model = protein_structure_hmm()
    lengths = np.full(24, 60)
    X, y = simulate_hmm(model, lengths, rng=16)
    parts, truths = np.split(X, 24)[:], np.split(y, 24)
    alphas = [0.0, 0.1, 0.5, 1.0]
    search = HybridDecoderCV(
        CountHMM(20, pseudocount=0.5), alphas=alphas, cv=4, method="hybrid-pmap"
    )
    search.fit(X, y, lengths)
    wanted = np.zeros((4, 4))
    for fold in range(4):
        test = list(range(6 * fold, 6 * fold + 6))
        train = [q for q in range(24) if q not in test]
        counted = CountHMM(20, pseudocount=0.5, n_states=6)
        counted.fit([parts[q] for q in train], [truths[q] for q in train])
        for a, alpha in enumerate(alphas):
            paths = HybridDecoder(counted, "hybrid-pmap", alpha=alpha).predict(
                [parts[q] for q in test]
            )
            wanted[fold, a] = accuracy_score(
                np.concatenate([truths[q] for q in test]), np.concatenate(paths)
            )
    np.testing.assert_allclose(search.cv_results_["split_test_score"], wanted)
    best = int(wanted.mean(axis=0).argmax())
    assert search.alpha_ == alphas[best]
    assert search.best_score_ == pytest.approx(wanted.mean(axis=0).max())
    full = CountHMM(20, pseudocount=0.5).fit(X, y, lengths)
    np.testing.assert_allclose(search.model_.transmat_, full.transmat_)
    np.testing.assert_array_equal(
        search.predict(X, lengths),
        HybridDecoder(full, "hybrid-pmap", alpha=search.alpha_).predict(X, lengths),
    )
    listed = HybridDecoderCV(
        CountHMM(20, pseudocount=0.5), alphas=alphas, cv=4, method="hybrid-pmap"
    )
    listed.fit(parts, truths)
    assert listed.alpha_ == search.alpha_
    np.testing.assert_allclose(search.predict_proba(X, lengths).sum(axis=1), 1.0)


def test_search_takes_a_fixed_model_labels_weights_and_any_score():
    model = protein_structure_hmm()
    labels = np.array(["a", "b", "c", "a", "a", "a"])
    lengths = np.full(10, 50)
    X, y = simulate_hmm(model, lengths, rng=17)
    search = HybridDecoderCV(model, labels=labels, scoring="balanced_accuracy", cv=5)
    search.fit(X, labels[y], lengths)
    paths = HybridDecoder(model, labels=labels).decode_family(
        X, search.cv_results_["alphas"], lengths
    )
    scores = [
        [balanced_accuracy_score(labels[y][rows], path[rows]) for path in paths]
        for rows in np.split(np.arange(500), 5)
    ]
    np.testing.assert_allclose(search.cv_results_["split_test_score"], scores)
    assert search.classes_.tolist() == ["a", "b", "c"]
    weights = np.array([(1, 0, 0, 0), (0.5, 0.5, 0, 0), (0.4, 0.1, 0, 0.5)])
    by_weights = HybridDecoderCV(model, alphas=weights, scoring=lambda t, p: -np.mean(t != p))
    by_weights.fit(X, y, lengths)
    assert by_weights.C_ in [tuple(row) for row in weights]
    assert by_weights.best_score_ < 0


# --- counting and simulating --------------------------------------------------------------------


def test_count_hmm_counts():
    X, y = [[0, 1, 1, 2], [2, 2], [0]], [[0, 0, 1, 1], [1, 1], [0]]
    for pseudo in (0.0, 0.5):
        model = CountHMM(3, pseudocount=pseudo).fit(X, y)
        start = np.array([2, 1]) + pseudo
        trans = np.array([[1, 1], [0, 2]]) + pseudo
        emit = np.array([[2, 1, 0], [0, 1, 3]]) + pseudo
        np.testing.assert_allclose(model.startprob_, start / start.sum())
        np.testing.assert_allclose(model.transmat_, trans / trans.sum(1, keepdims=True))
        np.testing.assert_allclose(model.emissionprob_, emit / emit.sum(1, keepdims=True))
    stacked = CountHMM(3).fit(np.concatenate(X), np.concatenate(y), lengths=[4, 2, 1])
    again = CountHMM(3).fit(X, y)
    np.testing.assert_array_equal(stacked.transmat_, again.transmat_)
    start, trans = again.startprob_, again.transmat_
    likelihood = [Enumerated(start, trans, again.emissionprob_[:, x].T).joint.sum() for x in X]
    np.testing.assert_allclose(again.score(X), np.mean(np.log(likelihood)))
    found = hmm_posteriors(log(start), log(trans), again.log_emission(X[0]))
    np.testing.assert_allclose(found.loglik, np.log(likelihood[0]))


def test_count_hmm_recovers_the_model():
    model = protein_structure_hmm()
    lengths = np.full(300, 200)
    X, y = simulate_hmm(model, lengths, rng=18)
    found = CountHMM(20).fit(X, y, lengths)
    visits = np.bincount(y, minlength=6)[:, None]
    # five standard errors of a share estimated from as many visits
    assert (
        np.abs(found.transmat_ - model.transmat)
        <= 5 * np.sqrt(model.transmat * (1 - model.transmat) / visits) + 1e-12
    ).all()
    assert (
        np.abs(found.emissionprob_ - model.emissionprob) <= 5 * np.sqrt(model.emissionprob / visits)
    ).all()


def test_states_that_are_never_left_stay():
    with pytest.warns(UserWarning, match="State 1 is only seen at the end"):
        model = CountHMM(2).fit([[0, 1]], [[0, 1]])
    assert model.transmat_.tolist() == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="State 1 never occurs in training"):
        CountHMM(2).fit([[0, 1, 1]], [[0, 0, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CountHMM(2, pseudocount=1, n_states=4).fit([[0, 1, 1]], [[0, 0, 2]])


def test_simulation_follows_varying_transitions():
    P = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[0.3, 0.7], [0.5, 0.5]]])
    model = ([1.0, 0.0], P, np.eye(2))
    X, states = simulate_hmm(model, [3, 2], rng=0)
    np.testing.assert_array_equal(X, states)
    assert states[:4].tolist() == [0, 1, 1, 0]
    once = simulate_hmm(model, [3, 2], rng=np.random.default_rng(5))
    again = simulate_hmm(model, [3, 2], rng=5)
    np.testing.assert_array_equal(once[1], again[1])


def test_asymptotic_risks_of_independent_states():
    """With equal rows positions are independent and the risk of posterior decoding is a sum."""
    pi, f = np.array([0.2, 0.5, 0.3]), np.random.default_rng(19).dirichlet(np.ones(4), 3)
    model = (pi, np.tile(pi, (3, 1)), f)
    joint = pi[:, None] * f
    wanted = 1 - joint.max(axis=0).sum()
    found = asymptotic_risks(model, "pmap", T=200, n=50, rng=20)
    assert abs(found["R1"] - wanted) < 5 * found["R1_se"]
    assert abs(found["error"] - wanted) < 5 * found["error_se"]
    viterbi = asymptotic_risks(model, {"method": "viterbi"}, T=200, n=50, rng=20)
    assert viterbi["R1"] == pytest.approx(found["R1"])  # the same path here
    decoder = HybridDecoder(None, alpha=0.3)
    assert asymptotic_risks(model, decoder, T=20, n=5, rng=0)["admissible"] == 1.0


# --- bad input ----------------------------------------------------------------------------------

START, TRANS, EMIT = log([0.5, 0.5]), log([[0.9, 0.1], [0.2, 0.8]]), log(np.full((5, 2), 0.5))


COIN = START, TRANS, EMIT


def changed(array, at, value):
    out = np.array(array)
    out[at] = value
    return out


@pytest.mark.parametrize(
    ("model", "keywords", "words"),
    [
        ((START, log([[0.9, 0.2], [0.2, 0.8]]), EMIT), {}, "Transition row 0: .* add up to 1.1"),
        ((START, [[0.9, 0.1], [0.2, 0.8]], EMIT), {}, "look like probabilities"),
        ((log([0.5, 0.4]), TRANS, EMIT), {}, "Start: .* add up to 0.9"),
        ((START, np.full((2, 2), np.nan), EMIT), {}, "Transition row 0"),
        (
            (START, changed(np.tile(TRANS, (3, 1, 1)), (2, 1, 0), -9.0), EMIT),
            {"lengths": [2, 3]},
            "Transition row 1 at sequence 1, step 1",
        ),
        ((START, TRANS, changed(EMIT, 3, -np.inf)), {"lengths": [2, 3]}, "sequence 1, position 1"),
        ((START, TRANS, changed(EMIT, (3, 1), np.nan)), {"lengths": [2, 3]}, "nan at sequence 1"),
        ((START, TRANS, changed(EMIT, (0, 0), np.nan)), {}, "nan at sequence 0, position 0"),
        ((START, TRANS, changed(EMIT, (3, 1), np.inf)), {}, "inf at sequence 0, position 3"),
        ((START, TRANS, EMIT), {"lengths": [2, 2]}, "lengths add up to 4"),
        ((START, TRANS, EMIT), {"lengths": [5, 0]}, "Sequence 1 has length 0"),
        ((START, TRANS, [EMIT, EMIT[:0]]), {}, "sequence 1 is empty"),
        ((START, TRANS, EMIT[:0]), {}, "log_emission is empty"),
        ((START, TRANS, np.zeros(5)), {}, "n_positions, n_states"),
        ((START, TRANS, np.zeros((5, 3))), {}, r"log_start must have shape \(3,\)"),
        ((START, np.zeros((3, 3)), EMIT), {}, r"log_trans must have shape \(2, 2\)"),
        ((START, [np.zeros((3, 2, 2))], [EMIT]), {}, "Sequence 0 of 5 positions needs"),
        ((START, TRANS, EMIT), {"alpha": 1.5}, "alpha must lie in"),
        ((START, TRANS, EMIT), {"alpha": np.nan}, "alpha must lie in"),
        ((START, TRANS, EMIT), {"C": (1, -1, 0, 0)}, "C must be four"),
        ((START, TRANS, EMIT), {"C": (0, 0, 0, 0)}, "not be all zero"),
        ((START, TRANS, EMIT), {"C": (1, 2)}, "C must be four"),
        ((START, TRANS, EMIT), {"method": "power", "mu": -1}, "mu must be at least 0"),
        ((START, TRANS, EMIT), {"method": "power"}, "needs mu"),
        ((START, TRANS, EMIT), {"method": "brushe", "mu": np.inf}, "positive and finite"),
        ((START, TRANS, EMIT), {"method": "k-block", "k": 0.5}, "k must be at least 1"),
        ((START, TRANS, EMIT), {"method": "k-block"}, "needs k or alpha"),
        ((START, TRANS, EMIT), {"method": "rabiner", "k": 0}, "k must be an integer"),
        ((START, TRANS, EMIT), {"method": "rabiner", "k": 1.5}, "k must be an integer"),
        ((START, TRANS, EMIT), {"method": "rabiner", "k": 6}, "k=6 exceeds the 5 positions"),
        (
            (START, TRANS, EMIT),
            {"method": "rabiner", "k": 3, "lengths": [3, 2]},
            "k=3 exceeds the 2 positions of sequence 1",
        ),
        ((START, TRANS, np.tile(EMIT, (5, 1))), {"method": "rabiner", "k": 20}, "2.19 = 524288"),
        ((START, TRANS, EMIT), {"method": "viterbo"}, "method must be one of viterbi"),
        ((START, TRANS, EMIT), {"tie_break": "random"}, "tie_break"),
        ((START, TRANS, EMIT), {"method": "beta", "beta": (1,)}, "beta must be two"),
        ((START, TRANS, EMIT), {"method": "pmap", "loss": np.ones((3, 3))}, "loss must have shape"),
        ((START, TRANS, EMIT), {"method": "pmap", "loss": -np.ones((2, 2))}, "not negative"),
        ((START, TRANS, EMIT), {"method": "pmap", "class_weight": [1]}, "2 positive numbers"),
        ((START, TRANS, EMIT), {"method": "pmap", "class_weight": {5: 1}}, "names state 5"),
        (
            (START, TRANS, EMIT),
            {"method": "pmap", "class_weight": [1, 2], "loss": np.ones((2, 2))},
            "not both",
        ),
        ((START, TRANS, EMIT), {"labels": ["a"]}, "labels must name each of the 2"),
        ((START, TRANS, EMIT), {"labels": ["a", "b"], "label_agg": "max"}, "label_agg"),
        ((START, TRANS, EMIT), {"method": "rabiner", "loss": np.ones((2, 2))}, "loss on pairs"),
        (
            (START, TRANS, EMIT[:1]),
            {"method": "rabiner", "loss": np.ones((2, 2, 2, 2))},
            "sequence 0 has one",
        ),
    ],
)
def test_decode_refuses(model, keywords, words):
    with pytest.raises(ValueError, match=words):
        decode(*model, **keywords)


@each_method
def test_impossible_observations_name_their_place(choice):
    """State 0 stays for ever; position 2 of the second sequence can only be state 1."""
    start, trans = log([1.0, 0.0]), log([[1.0, 0.0], [0.5, 0.5]])
    emission = np.zeros((7, 2))
    emission[5, 0] = -np.inf
    words = "zero probability under the model: no path .* reaches sequence 1, position 2"
    with pytest.raises(ValueError, match=words):
        decode(start, trans, emission, lengths=[3, 4], **choice)
    with pytest.raises(ValueError, match="reaches sequence 1, position 2"):
        hmm_posteriors(start, trans, emission, [3, 4])


@pytest.mark.parametrize("choice", [c for c in ALL_METHODS if c["method"] != "rabiner"])
def test_one_position_is_enough(choice):
    assert decode(START, TRANS, log([[0.1, 0.9]]), **choice).tolist() == [1]
    varying = np.empty((0, 2, 2))
    assert decode(START, varying, log([[0.1, 0.9]]), **choice).tolist() == [1]


def test_one_state_is_enough():
    for choice in ALL_METHODS:
        assert decode([0.0], [[0.0]], np.zeros((4, 1)), **choice).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (
            lambda: HybridDecoder(DICE).predict([0, 6]),
            ValueError,
            "6 at sequence 0, position 1",
        ),
        (lambda: HybridDecoder(DICE).predict([[0], [1, -1]]), ValueError, "-1 at sequence 1, pos"),
        (lambda: HybridDecoder(DICE).predict([0.5]), ValueError, "one integer symbol"),
        (lambda: HybridDecoder(DICE).predict([0, 1], [3]), ValueError, "lengths add up to 3"),
        (lambda: HybridDecoder(DICE).predict([[0], []]), ValueError, "sequence 1 is empty"),
        (lambda: HybridDecoder("hmm").predict([0]), TypeError, "fitted hmmlearn model"),
        (lambda: HybridDecoder(DICE[:2]).predict([0]), ValueError, "2 parts"),
        (lambda: HybridDecoder(CountHMM(6)).predict([0]), NotFittedError, "not fitted"),
        (lambda: HybridDecoder(DICE, alpha=2).predict([0]), ValueError, "'alpha'"),
        (lambda: HybridDecoder(DICE, "best").predict([0]), ValueError, "'method'"),
        (
            lambda: HybridDecoder((DICE[0], [[1.1, -0.1], [0, 1]], DICE[2])).predict([0]),
            ValueError,
            r"transmat must hold probabilities, got -0.1 at index \(0, 1\)",
        ),
        (
            lambda: HybridDecoder((*DICE[:2], [[0.5, 0.4], [0.5, 0.5]])).predict([0]),
            ValueError,
            "emission row 0",
        ),
        (
            lambda: HybridDecoder((*DICE[:2], [0.5, 0.5])).predict([0]),
            ValueError,
            "emission must be a function",
        ),
        (lambda: HybridDecoder(DICE).score_path([0, 1], [0]), ValueError, "path"),
        (lambda: HybridDecoder(DICE).score_path([0, 1], [0, 2]), ValueError, "position 1"),
        (lambda: HybridDecoder(DICE).score_path([0, 1], [0.0, 1.0]), ValueError, "integer states"),
        (lambda: HybridDecoder(DICE, "pmap").decode_family([0], [0.5]), ValueError, "grid of"),
        (lambda: HybridDecoder(DICE).decode_family([0], []), ValueError, "alphas must have"),
        (lambda: HybridDecoder(DICE).decode_family([0], [2]), ValueError, "alpha must lie"),
        (
            lambda: CountHMM(2).fit([[0, 2]], [[0, 0]]),
            ValueError,
            "2 at sequence 0, position 1",
        ),
        (lambda: CountHMM(2).fit([[0, 1]], [[0]]), ValueError, "y has sequences of lengths"),
        (lambda: CountHMM(2).fit([[0, 1]], [[0, -1]]), ValueError, "-1 at sequence 0, position 1"),
        (lambda: CountHMM(2).fit([[0, 1]], [[0.0, 1.0]]), ValueError, "y must hold one integer"),
        (lambda: CountHMM(2).log_emission([0]), NotFittedError, "CountHMM"),
        (
            lambda: HybridDecoderCV(DICE, cv=2).fit([[0, 1], [1, 1]], [[0, 0], [0, 2]]),
            ValueError,
            "y holds .*2.* at sequence 1, position 1",
        ),
        (
            lambda: HybridDecoderCV(DICE, cv=2, labels=["a", "b"]).fit([[0], [1]], [["a"], ["c"]]),
            ValueError,
            "'c'.* at sequence 1, position 0",
        ),
        (
            lambda: HybridDecoderCV(DICE).fit([[0, 1], [1, 1]], [[0, 0], [0, 1]]),
            ValueError,
            "cv=5 needs as many sequences, got 2",
        ),
        (lambda: HybridDecoderCV(DICE).fit([[0, 1]], [[0]]), ValueError, "y has sequences"),
        (lambda: HybridDecoderCV(DICE).predict([0]), NotFittedError, "HybridDecoderCV"),
        (
            lambda: HybridDecoderCV(CountHMM(6), labels=["a", "b"]).fit([[0], [1]], [[0], [1]]),
            ValueError,
            "labels need the states",
        ),
        (
            lambda: simulate_hmm((*DICE[:2], lambda x: x), 3),
            ValueError,
            "cannot be simulated",
        ),
        (lambda: asymptotic_risks(DICE, "pmap", 5, 1), ValueError, "at least 2"),
        (
            lambda: transformed_variables(START, TRANS, EMIT, 1, transform="x"),
            ValueError,
            "No tran",
        ),
        (
            lambda: path_risks(
                hmm_posteriors(START, TRANS, EMIT), (START, TRANS, EMIT), [0] * 5, 0
            ),
            ValueError,
            "k must be at least 1",
        ),
    ],
)
def test_bad_input_says_what_is_wrong(act, error, words):
    with pytest.raises(error, match=words):
        act()


def test_hmmlearn_input_is_checked_by_place():
    symbols, normal, _ = hmmlearn_models()
    with pytest.raises(ValueError, match="got 7 at sequence 1, position 0"):
        HybridDecoder(symbols).predict([[0, 1], [7]])
    with pytest.raises(ValueError, match=r"finite.*sequence 0, position 1"):
        HybridDecoder(normal).predict(np.array([[0.0, 0.0], [np.nan, 0.0]]))
    hmm = pytest.importorskip("hmmlearn.hmm")
    with pytest.raises(NotFittedError, match="GaussianHMM is not fitted"):
        HybridDecoder(hmm.GaussianHMM(2)).predict([[0.0]])


@pytest.mark.slow
def test_ten_million_positions_fit_in_two_gigabytes():
    """Decoding holds the emissions and one more array of their size, not the whole lattice."""
    import subprocess
    import sys

    code = """
import resource, numpy as np
from octavo.data import protein_structure_hmm
from octavo.sequence import HybridDecoder
model = protein_structure_hmm()
x = np.random.default_rng(0).integers(0, 20, 10_000_000).astype(np.int8)
path = HybridDecoder(model, alpha=0.5).predict(x)
print(path.size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, gigabytes = done.stdout.split()
    assert int(size) == 10_000_000
    assert float(gigabytes) < 2.0
