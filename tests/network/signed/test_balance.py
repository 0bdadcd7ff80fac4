"""Balance against enumeration: closed walks, simple cycles, all groupings."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.network import (
    balance_report,
    embeddedness,
    imbalance,
    is_balanced,
    is_weakly_balanced,
    signed_katz,
)
from octavo.network.signed.balance import PATTERNS
from octavo.network.signed.walks import walk_scores


def draw(n, density, seed):
    rng = np.random.RandomState(seed)
    upper = np.triu(rng.choice([-1, 0, 1], (n, n), p=[density / 2, 1 - density, density / 2]), 1)
    return (upper + upper.T).astype(float)


def closed_walks(A, length):
    """Return the number of unbalanced closed walks of a length, over twice the length."""
    n = len(A)
    count = 0
    for walk in itertools.product(range(n), repeat=length):
        sign = np.prod([A[u, v] for u, v in zip(walk, walk[1:] + walk[:1])])
        count += sign < 0
    return count / (2 * length)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", [3, 4, 5])
def test_imbalance_counts_closed_walks(order, seed):
    A = draw(6, 0.7, seed)
    expected = sum(0.3 ** (t - 1) * closed_walks(A, t) for t in range(3, order + 1))
    assert imbalance(A, order, beta=0.3) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_an_infinite_order_is_the_limit(seed):
    A = draw(7, 0.6, seed)
    beta = 0.5 / np.abs(np.linalg.eigvalsh(np.abs(A))).max()
    assert imbalance(A, np.inf, beta) == pytest.approx(imbalance(A, 60, beta), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_simple_cycles_and_walks_agree_up_to_four(seed):
    A = draw(7, 0.6, seed)
    for order in (3, 4):
        assert imbalance(A, order, simple=True) == pytest.approx(imbalance(A, order))


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_lemma_11_for_short_cycles(order, seed):
    A = draw(7, 0.6, seed)
    i, j = np.argwhere((A == 0) & ~np.eye(7, dtype=bool))[0]
    worlds = []
    for sign in (-1.0, 1.0):
        B = A.copy()
        B[i, j] = B[j, i] = sign
        lower = 0 if order == 3 else imbalance(B, 3)
        worlds.append(imbalance(B, order) - lower)
    assert worlds[0] - worlds[1] == pytest.approx(np.linalg.matrix_power(A, order - 1)[i, j])


@pytest.mark.parametrize("seed", range(30))
def test_balance_is_a_split_in_two(seed):
    A = draw(6, 0.35, seed) if seed % 2 else np.outer(*2 * [np.sign(draw(6, 1, seed)[0] + 0.5)])
    A = A * (1 - np.eye(6))
    if seed % 2 == 0:
        A *= np.abs(draw(6, 0.5, seed + 100))
    if not A.any():
        pytest.skip("no links were drawn")
    exists = any(not ((np.outer(s, s) * A) < 0).any() for s in itertools.product([-1, 1], repeat=6))
    balanced, certificate = is_balanced(A)
    assert balanced == exists
    if balanced:
        s = 1 - 2 * certificate
        assert not ((np.outer(s, s) * A) < 0).any()
    else:
        ends = list(zip(certificate, certificate[1:] + certificate[:1]))
        assert np.prod([A[u, v] for u, v in ends]) == -1
        assert len(set(certificate)) == len(certificate) >= 3


@pytest.mark.parametrize("seed", range(20))
def test_weak_balance_is_a_split_in_groups(seed):
    A = draw(6, 0.45, seed)
    if not A.any():
        pytest.skip("no links were drawn")
    exists = any(
        not ((A < 0) & (np.subtract.outer(g, g) == 0)).any()
        and not ((A > 0) & (np.subtract.outer(g, g) != 0)).any()
        for g in map(np.array, itertools.product(range(6), repeat=6))
    )
    balanced, certificate = is_weakly_balanced(A)
    assert balanced == exists
    if balanced:
        same = certificate[:, None] == certificate
        assert not ((A < 0) & same).any()
        assert not ((A > 0) & ~same).any()
    else:
        signs = [A[u, v] for u, v in zip(certificate, certificate[1:] + certificate[:1])]
        assert sorted(signs)[0] == -1
        assert sum(s < 0 for s in signs) == 1


@pytest.mark.parametrize("seed", range(3))
def test_cycles_are_counted_by_pattern(seed):
    A = draw(8, 0.7, seed)
    expected = dict.fromkeys(PATTERNS, 0)
    for size in (3, 4):
        for nodes in itertools.permutations(range(8), size):
            if nodes[0] != min(nodes) or nodes[1] > nodes[-1]:
                continue  # a start and a direction of each cycle
            signs = [A[u, v] for u, v in zip(nodes, nodes[1:] + nodes[:1])]
            if 0 in signs:
                continue
            turns = [tuple(np.roll(signs, k)) for k in range(size)]
            named = {tuple(1.0 if c == "+" else -1.0 for c in p): p for p in PATTERNS}
            named |= {key[::-1]: p for key, p in named.items()}
            expected[next(named[t] for t in turns if t in named)] += 1
    counts = balance_report(A).counts
    assert {p: counts[p] for p in PATTERNS} == pytest.approx(expected)


def test_chance_is_the_mean_over_shuffles():
    A = draw(9, 0.8, 0)
    rng = np.random.RandomState(0)
    report = balance_report(A)
    upper = np.argwhere(np.triu(A))
    signs = A[tuple(upper.T)]
    shares = []
    for _ in range(400):
        B = np.zeros_like(A)
        B[tuple(upper.T)] = rng.permutation(signs)
        shares.append(balance_report(B + B.T).shares["balanced 4"])
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - report.expected_shares["balanced 4"]) < 4 * error


def test_shares_sum_to_one_and_a_balanced_network_surprises():
    s = np.sign(np.random.RandomState(1).standard_normal(20))
    report = balance_report(np.outer(s, s) - np.eye(20))
    n = np.sum(np.triu(np.outer(s, s), 1) < 0) / 190  # of 190 links
    for length, cycles in ((3, 1140), (4, 3 * 4845)):
        names = [p for p in PATTERNS if len(p) == length]
        assert sum(report.shares[p] for p in names) == pytest.approx(1.0)
        assert sum(report.expected_shares[p] for p in names) == pytest.approx(1.0)
        assert report.shares[f"balanced {length}"] == 1.0
        p = report.expected_shares[f"balanced {length}"]
        # signs dealt without return come near independent ones: 1/190 apart an exchange
        assert p == pytest.approx((1 + (1 - 2 * n) ** length) / 2, abs=6 / 190)
        # all of them, in standard deviations of as many independent cycles (Table 5)
        wanted = np.sqrt(cycles * (1 - p) / p)
        assert report.surprises[f"balanced {length}"] == pytest.approx(wanted)


def test_katz_is_the_series_and_the_inverse():
    A = draw(8, 0.5, 3)
    beta = 0.6 / np.abs(np.linalg.eigvalsh(A)).max()
    series = sum(np.linalg.matrix_power(beta * A, k) for k in range(2, 120))
    assert signed_katz(A, beta) == pytest.approx(series, abs=1e-12)


@pytest.mark.parametrize("order", [3, 4, 6, np.inf])
def test_scores_leave_the_pairs_own_link_out(order):
    A = draw(9, 0.6, 4)
    beta = 0.4 / np.abs(np.linalg.eigvalsh(A)).max()
    pairs = np.argwhere(np.triu(np.ones((9, 9)), 1))
    scores = walk_scores(sp.csr_array(A), pairs, beta, order)
    last = 80 if np.isinf(order) else int(order)
    for (i, j), score in zip(pairs, scores):
        B = A.copy()
        B[i, j] = B[j, i] = 0.0
        powers = [np.linalg.matrix_power(beta * B, t - 1)[i, j] for t in range(3, last + 1)]
        assert score == pytest.approx(sum(powers), abs=1e-12)


def test_common_neighbours():
    A = draw(10, 0.5, 5)
    pairs = np.array([[0, 1], [2, 7]])
    expected = [np.sum((A[i] != 0) & (A[j] != 0)) for i, j in pairs]
    assert embeddedness(A, pairs).tolist() == expected


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: is_balanced([(0, 1, 2.0)]), "1 or -1 .* from 0 to 1 is 2"),
        (lambda: is_balanced(np.zeros((3, 3))), "at least one link"),
        (lambda: is_balanced([(0, 1, 1), (1, 0, -1)]), "disagrees"),
        (lambda: imbalance([(0, 1, 1)], 2), "at least 3"),
        (lambda: imbalance(np.ones((9, 9)), np.inf, 1.0), "beta must be below"),
        (lambda: imbalance(np.ones((50, 50)), simple=True), "at most 30 nodes"),
        (lambda: signed_katz(np.ones((9, 9)), 1.0), "diverges"),
        (lambda: embeddedness([(0, 1, 1)], [[0, 5]]), "node 5"),
        (lambda: embeddedness([(0, 1, 1)], [[0, 0]]), "0 twice"),
        (lambda: embeddedness([(0, 1, 1)], [0, 1]), "two columns"),
        (lambda: embeddedness([(0, 1, 1)], [[0.5, 1]]), "whole numbers"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
