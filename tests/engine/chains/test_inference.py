"""Every function of octavo.engine.chains.inference against enumeration of all paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from octavo.engine.chains import inference as ch
from octavo.engine.chains import kernels as chain_kernels


def all_paths(K, T):
    return np.array(list(itertools.product(range(K), repeat=T)))


def scores_of(paths, start, trans, nodes):
    """Return the score of every path by the definition; trans is (T - 1, K, K)."""
    total = start[paths[:, 0]] + nodes[0, paths[:, 0]]
    for t in range(1, nodes.shape[0]):
        total = total + trans[t - 1, paths[:, t - 1], paths[:, t]] + nodes[t, paths[:, t]]
    return total


def random_chain(rng, K, lengths, *, varying, forbidden=0.0, scale=1.0):
    """Return start, trans, nodes of stacked sequences with some scores at -inf."""

    def draw(*shape):
        x = rng.normal(scale=scale, size=shape)
        x[rng.uniform(size=shape) < forbidden] = -np.inf
        return x

    steps = (sum(lengths) - len(lengths),) if varying else ()
    return draw(K), draw(*steps, K, K), draw(sum(lengths), K)


def each_sequence(start, trans, nodes, lengths):
    """Yield every sequence's own potentials, all paths and their scores."""
    row = step = 0
    for T in lengths:
        mine = (
            trans[step : step + T - 1]
            if trans.ndim == 3
            else np.broadcast_to(trans, (T - 1, *trans.shape))
        )
        block = nodes[row : row + T]
        paths = all_paths(nodes.shape[1], T)
        yield (
            slice(row, row + T),
            slice(step, step + T - 1),
            paths,
            scores_of(paths, start, mine, block),
        )
        row, step = row + T, step + T - 1


def as_edges(trans):
    """Return the same transitions as Edges, keeping all K² or only the possible ones."""
    if trans.ndim == 2:
        return ch.edges_of_matrix(trans)
    K = trans.shape[1]
    source, target = np.divmod(np.arange(K * K), K)
    return ch.group_edges(source, target, trans.reshape(-1, K * K), K)


def pair_matrix(pairs, edges, K):
    """Return the pairs of Edges as matrices."""
    target = np.repeat(np.arange(K), np.diff(edges.indptr))
    full = np.zeros((*pairs.shape[:-1], K, K))
    full[..., edges.source, target] = pairs
    return full


CASES = [
    (seed, K, lengths, varying, forbidden, scale)
    for seed, (K, lengths, varying, forbidden, scale) in enumerate(
        [
            (1, [1, 3], False, 0.0, 1.0),
            (2, [7], False, 0.0, 1.0),
            (3, [5, 1, 4], False, 0.2, 1.0),
            (4, [6, 2], True, 0.2, 1.0),
            (3, [4, 3, 5], True, 0.0, 1.0),
            (3, [6, 4], False, 0.1, 400.0),  # the scaled recursion underflows: logarithms
            (3, [6, 4], True, 0.1, 400.0),
            (4, [5, 5], False, 0.5, 30.0),
        ]
    )
]
each_case = pytest.mark.parametrize(
    ("seed", "K", "lengths", "varying", "forbidden", "scale"), CASES
)
each_form = pytest.mark.parametrize("sparse", [False, True])


@each_form
@each_case
def test_sums_equal_enumeration(seed, K, lengths, varying, forbidden, scale, sparse):
    chain = start, trans, nodes = random_chain(
        np.random.default_rng(seed), K, lengths, varying=varying, forbidden=forbidden, scale=scale
    )
    used = as_edges(trans) if sparse else trans
    plain = ch.chain_marginals(start, used, nodes, lengths)
    found = {
        kind: ch.chain_marginals(start, used, nodes, lengths, log=True, pairs=kind)
        for kind in ("total", "sequence", "step")
    }
    pairs = {kind: result.pairs for kind, result in found.items()}
    if sparse:
        pairs = {kind: pair_matrix(value, used, K) for kind, value in pairs.items()}
    some = np.random.default_rng(seed + 200).integers(K, size=sum(lengths))
    along = [
        ch.chain_marginals(start, used, nodes, lengths, log=log, pairs=some).pairs
        for log in (False, True)
    ]
    log_z = ch.log_partition(start, used, nodes, lengths)
    summed = np.zeros((K, K))
    for q, (rows, steps, paths, score) in enumerate(each_sequence(*chain, lengths)):
        wanted = logsumexp(score)
        np.testing.assert_allclose(plain.log_partition[q], wanted, rtol=1e-12)
        np.testing.assert_allclose(log_z[q], wanted, rtol=1e-12)
        share = score - wanted if wanted > -np.inf else np.full(score.shape, -np.inf)
        T = paths.shape[1]
        gamma = np.array([[logsumexp(share[paths[:, t] == j]) for j in range(K)] for t in range(T)])
        np.testing.assert_allclose(plain.nodes[rows], np.exp(gamma), atol=1e-12)
        for result in found.values():
            np.testing.assert_allclose(result.nodes[rows], gamma, rtol=1e-10, atol=1e-11)
        chance = np.exp(share)
        xi = np.zeros((T - 1, K, K))
        for t in range(T - 1):
            np.add.at(xi[t], (paths[:, t], paths[:, t + 1]), chance)
        np.testing.assert_allclose(pairs["step"][steps], xi, atol=1e-12)
        np.testing.assert_allclose(pairs["sequence"][q], xi.sum(axis=0), atol=1e-12)
        summed += xi.sum(axis=0)
        mine = some[rows]
        for found_along in along:
            np.testing.assert_allclose(
                found_along[steps], xi[np.arange(T - 1), mine[:-1], mine[1:]], atol=1e-12
            )
    np.testing.assert_allclose(pairs["total"], summed, atol=1e-12)


@each_form
@each_case
@pytest.mark.parametrize("max_bytes", [1 << 28, 1])
def test_best_paths_equal_enumeration(
    seed, K, lengths, varying, forbidden, scale, sparse, max_bytes
):
    chain = start, trans, nodes = random_chain(
        np.random.default_rng(seed), K, lengths, varying=varying, forbidden=forbidden, scale=scale
    )
    used = as_edges(trans) if sparse else trans
    best = ch.best_paths(start, used, nodes, lengths, max_bytes=max_bytes)
    for q, (rows, _, paths, score) in enumerate(each_sequence(*chain, lengths)):
        np.testing.assert_allclose(best.score[q], score.max(), rtol=1e-12)
        if score.max() == -np.inf:
            assert (best.states[rows] == -1).all()
        else:
            at = np.flatnonzero((paths == best.states[rows]).all(axis=1))
            np.testing.assert_allclose(score[at], score.max(), rtol=1e-12)


@each_form
@each_case
def test_path_scores_are_the_definition(seed, K, lengths, varying, forbidden, scale, sparse):
    chain = start, trans, nodes = random_chain(
        np.random.default_rng(seed), K, lengths, varying=varying, forbidden=forbidden, scale=scale
    )
    pick = np.random.default_rng(seed + 100)
    chosen, wanted = [], []
    for _, _, paths, score in each_sequence(*chain, lengths):
        at = pick.integers(len(paths))
        chosen.append(paths[at])
        wanted.append(score[at])
    used = as_edges(trans) if sparse else trans
    found = ch.path_scores(start, used, nodes, np.concatenate(chosen), lengths)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@each_form
@each_case
def test_k_best_paths_equal_enumeration(seed, K, lengths, varying, forbidden, scale, sparse):
    chain = start, trans, nodes = random_chain(
        np.random.default_rng(seed), K, lengths, varying=varying, forbidden=forbidden, scale=scale
    )
    k = 7
    found = ch.k_best_paths(start, as_edges(trans) if sparse else trans, nodes, k, lengths)
    for q, (rows, _, paths, score) in enumerate(each_sequence(*chain, lengths)):
        wanted = np.full(k, -np.inf)
        top = np.sort(score)[::-1][:k]
        wanted[: top.size] = top
        np.testing.assert_allclose(found.score[:, q], wanted, rtol=1e-12)
        possible = wanted > -np.inf
        mine = found.states[:, rows]
        assert (mine[~possible] == -1).all()
        assert len({tuple(path) for path in mine[possible]}) == possible.sum()
        for path, value in zip(mine[possible], wanted[possible]):
            at = np.flatnonzero((paths == path).all(axis=1))
            np.testing.assert_allclose(score[at], value, rtol=1e-12)


@each_form
@pytest.mark.parametrize(("varying", "scale"), [(False, 1.0), (True, 1.0), (False, 300.0)])
def test_samples_follow_the_distribution(varying, scale, sparse):
    rng = np.random.default_rng(20)
    lengths = [3, 1, 4]
    chain = start, trans, nodes = random_chain(
        rng, 3, lengths, varying=varying, forbidden=0.1, scale=scale
    )
    n = 20_000
    drawn = ch.sample_paths(start, as_edges(trans) if sparse else trans, nodes, n, rng, lengths)
    for rows, _, paths, score in each_sequence(*chain, lengths):
        chance = np.exp(score - logsumexp(score))
        codes = drawn[:, rows] @ 3 ** np.arange(paths.shape[1])[::-1]
        seen = np.bincount(codes, minlength=len(paths)) / n
        # five standard deviations of a binomial share, and never a forbidden path
        assert (np.abs(seen - chance) <= 5 * np.sqrt(chance * (1 - chance) / n) + 1e-12).all()


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("max_bytes", [1 << 28, 1])
def test_blended_paths_equal_enumeration(varying, max_bytes):
    rng = np.random.default_rng(30)
    lengths, K = [5, 1, 6], 3
    start, trans, first = random_chain(rng, K, lengths, varying=varying, forbidden=0.15)
    nodes = np.stack([first, rng.normal(size=first.shape)])
    weights = np.array([[1, 0, 0], [0, 1, 0], [0.3, 0, 0.7], [0, 0, 1], [2, 1, 0.5]], dtype=float)
    found = ch.blended_paths(start, trans, nodes, weights, lengths, max_bytes=max_bytes)
    for g, (*feature_weights, w) in enumerate(weights):

        def times(weight, x):
            return weight * x if weight else np.zeros_like(x)

        mixed = sum(times(f, x) for f, x in zip(feature_weights, nodes))
        blend = times(w, start), times(w, trans), mixed
        for q, (rows, _, paths, score) in enumerate(each_sequence(*blend, lengths)):
            np.testing.assert_allclose(found.score[g, q], score.max(), rtol=1e-12)
            if score.max() > -np.inf:
                at = np.flatnonzero((paths == found.states[g, rows]).all(axis=1))
                np.testing.assert_allclose(score[at], score.max(), rtol=1e-12)
            else:
                assert (found.states[g, rows] == -1).all()


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("max_bytes", [1 << 28, 1])
@pytest.mark.parametrize("n_blends", [1, 8, 19])
def test_ties_of_blends_go_where_those_of_single_paths_go(varying, max_bytes, n_blends):
    # Whole numbers: all sums are exact, and paths of equal score abound.
    rng = np.random.default_rng(31)
    lengths, K, F = [40, 1, 23], 5, 3
    start, trans, _ = random_chain(rng, K, lengths, varying=varying, forbidden=0.2)
    start, trans = np.round(start), np.round(trans)
    nodes = rng.integers(-2, 3, size=(F, sum(lengths), K)).astype(float)
    nodes[0][rng.uniform(size=nodes[0].shape) < 0.05] = -np.inf
    weights = rng.integers(0, 3, size=(n_blends, F + 1)).astype(float)
    found = ch.blended_paths(start, trans, nodes, weights, lengths, max_bytes=max_bytes)
    for g, (*feature_weights, w) in enumerate(weights):
        mixed = sum(f * x for f, x in zip(feature_weights, nodes) if f) + np.zeros(nodes[0].shape)
        free = (np.zeros(K), np.zeros(trans.shape)) if w == 0.0 else (w * start, w * trans)
        alone = ch.best_paths(*free, mixed, lengths)
        np.testing.assert_array_equal(found.states[g], alone.states)
        np.testing.assert_array_equal(found.score[g], alone.score)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_a_grid_is_its_points(varying, shared):
    rng = np.random.default_rng(40)
    lengths, K, G = [4, 2], 3, 3
    points = [random_chain(rng, K, lengths, varying=varying) for _ in range(G)]
    nodes = np.stack([p[2] for p in points])
    start = points[0][0] if shared else np.stack([p[0] for p in points])
    trans = points[0][1][None] if shared else np.stack([p[1] for p in points])
    if shared and not varying:
        trans = points[0][1]
    grid = ch.chain_marginals(start, trans, nodes, lengths, pairs="sequence")
    best = ch.best_paths(start, trans, nodes, lengths)
    many = ch.k_best_paths(start, trans, nodes, 2, lengths)
    log_z = ch.log_partition(start, trans, nodes, lengths)
    for g, point in enumerate(points):
        a, b = (points[0][:2]) if shared else point[:2]
        one = ch.chain_marginals(a, b, point[2], lengths, pairs="sequence")
        np.testing.assert_array_equal(grid.nodes[g], one.nodes)
        np.testing.assert_array_equal(grid.pairs[g], one.pairs)
        np.testing.assert_array_equal(grid.log_partition[g], one.log_partition)
        np.testing.assert_array_equal(log_z[g], ch.log_partition(a, b, point[2], lengths))
        np.testing.assert_array_equal(best.states[g], ch.best_paths(a, b, point[2], lengths).states)
        np.testing.assert_array_equal(
            many.states[g], ch.k_best_paths(a, b, point[2], 2, lengths).states
        )


def test_a_path_that_looks_hopeless_may_win_later():
    """Two components that never meet: at first one is e^-20000 less likely, in the end it wins."""
    trans = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    nodes = np.zeros((400, 2))
    nodes[:200, 1] = -100.0
    nodes[200:, 0] = -101.0
    found = ch.chain_marginals(np.log([0.5, 0.5]), trans, nodes)
    np.testing.assert_allclose(found.nodes[:, 1], 1.0)
    np.testing.assert_allclose(found.log_partition, np.log(0.5) - 20_000)
    assert (ch.best_paths(np.zeros(2), trans, nodes).states == 1).all()


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("least", [-1.0, -200.0, -2000.0])
def test_lost_states_that_others_reach_need_no_logarithms(varying, least, monkeypatch):
    """States at odds of e^-1000 that return: scaled numbers serve, equal to enumeration."""
    rng = np.random.default_rng(7)
    K, lengths = 3, [6, 5]
    steps = sum(lengths) - len(lengths)
    trans = rng.uniform(-1.0, 0.0, (steps, K, K) if varying else (K, K))
    trans[..., 0, 0] = least
    start, nodes = rng.normal(size=K), 1000.0 * rng.normal(size=(sum(lengths), K))
    nodes[3, 1] = -np.inf
    exact = ch.chain_marginals(start, trans, nodes, lengths, log=True, pairs="step")
    if least > -2000.0:  # at e^-2000 a state that is certain does not come back to itself
        monkeypatch.setattr(chain_kernels, "_log_marginals", None)  # not callable
    found = ch.chain_marginals(start, trans, nodes, lengths, pairs="step")
    np.testing.assert_allclose(found.nodes, np.exp(exact.nodes), atol=1e-13)
    np.testing.assert_allclose(found.pairs, exact.pairs, atol=1e-13)
    np.testing.assert_allclose(ch.log_partition(start, trans, nodes, lengths), found.log_partition)
    for q, (_, _, _, score) in enumerate(each_sequence(start, trans, nodes, lengths)):
        np.testing.assert_allclose(found.log_partition[q], logsumexp(score), rtol=1e-13)


def test_long_chains_keep_their_digits():
    rng = np.random.default_rng(50)
    T, K = 200_000, 3
    P, pi = rng.dirichlet(np.ones(K), K), rng.dirichlet(np.ones(K))
    found = ch.chain_marginals(np.log(pi), np.log(P), np.zeros((T, K)), pairs="total")
    np.testing.assert_allclose(found.log_partition, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.nodes[-1] @ P, found.nodes[-1], atol=1e-12)  # stationary
    np.testing.assert_allclose(found.pairs.sum(), T - 1, rtol=1e-11)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_relabelling_states_relabels_answers(seed, K, varying):
    rng = np.random.default_rng(seed)
    start, trans, nodes = random_chain(rng, K, [4, 3], varying=varying)
    order = rng.permutation(K)
    moved = start[order], trans[..., order, :][..., order], nodes[:, order]
    here, there = (ch.chain_marginals(*c, [4, 3]) for c in ((start, trans, nodes), moved))
    np.testing.assert_allclose(there.nodes, here.nodes[:, order], atol=1e-12)
    np.testing.assert_allclose(there.log_partition, here.log_partition, rtol=1e-12)
    best = ch.best_paths(*moved, [4, 3]).states
    np.testing.assert_array_equal(order[best], ch.best_paths(start, trans, nodes, [4, 3]).states)


def test_ties_go_to_the_smallest_state():
    for trans in (np.zeros((3, 3)), ch.edges_of_matrix(np.zeros((3, 3)))):
        assert (ch.best_paths(np.zeros(3), trans, np.zeros((5, 3))).states == 0).all()


def test_wide_state_spaces():
    K = 300
    trans = np.full((K, K), -np.inf)
    trans[np.arange(K), (np.arange(K) + 7) % K] = 0.0
    start = np.full(K, -np.inf)
    start[290] = 0.0
    for form in (trans, ch.edges_of_matrix(trans)):
        states = ch.best_paths(start, form, np.zeros((50, K)), max_bytes=1).states
        np.testing.assert_array_equal(states, (290 + 7 * np.arange(50)) % K)


def test_single_positions_need_no_transitions():
    nodes = np.log([[0.2, 0.8], [0.6, 0.4]])
    for trans in (np.empty((0, 2, 2)), np.zeros((2, 2))):
        found = ch.chain_marginals(np.zeros(2), trans, nodes, [1, 1], pairs="step")
        np.testing.assert_allclose(found.nodes, np.exp(nodes))
        assert found.pairs.shape == (0, 2, 2)
        assert ch.best_paths(np.zeros(2), trans, nodes, [1, 1]).states.tolist() == [1, 0]
        assert ch.k_best_paths(np.zeros(2), trans, nodes, 2, [1, 1]).states[1].tolist() == [0, 1]


def test_marginals_go_where_they_are_told():
    room = np.empty((4, 2))
    found = ch.chain_marginals(np.zeros(2), np.zeros((2, 2)), np.zeros((4, 2)), out=room)
    assert np.shares_memory(found.nodes, room)
    np.testing.assert_allclose(room, 0.5)
    for wrong in (np.empty((4, 3)), np.empty((2, 4)).T, np.empty((4, 2), np.float32)):
        with pytest.raises(ValueError, match="out must be"):
            ch.chain_marginals(np.zeros(2), np.zeros((2, 2)), np.zeros((4, 2)), out=wrong)


# --- bad input ----------------------------------------------------------------------------------


def test_bad_potentials_are_named():
    start, trans, nodes = np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2))
    nodes[3, 1] = np.nan
    with pytest.raises(ValueError, match="nan at sequence 1, position 1, state 1"):
        ch.best_paths(start, trans, nodes, [2, 3])
    nodes[3, 1] = np.inf
    with pytest.raises(ValueError, match="inf at sequence 1, position 1, state 1"):
        ch.log_partition(start, trans, nodes, [2, 3])
    nodes[3, 1] = 0
    with pytest.raises(ValueError, match=r"start must have shape \(2,\)"):
        ch.best_paths(np.zeros(3), trans, nodes)
    with pytest.raises(ValueError, match="leading axis of 3 steps"):
        ch.best_paths(start, np.zeros((4, 2, 2)), nodes, [2, 3])
    with pytest.raises(ValueError, match="trans must be below"):
        ch.best_paths(start, np.full((2, 2), np.nan), nodes)
    with pytest.raises(ValueError, match="nodes must be"):
        ch.best_paths(start, trans, np.zeros(2))
    with pytest.raises(ValueError, match=r"states must be 0..1, got 2 at sequence 1, position 1"):
        ch.path_scores(start, trans, nodes, [0, 0, 0, 2, 0], [2, 3])
    with pytest.raises(ValueError, match="states must be 5 integers"):
        ch.path_scores(start, trans, nodes, [0.0, 0, 0, 0, 0], [2, 3])
    with pytest.raises(ValueError, match="k must be at least 1"):
        ch.k_best_paths(start, trans, nodes, 0)
    with pytest.raises(ValueError, match="pairs must be"):
        ch.chain_marginals(start, trans, nodes, pairs="all")
    with pytest.raises(ValueError, match="Edges are of 3 states"):
        ch.best_paths(start, ch.edges_of_matrix(np.zeros((3, 3))), nodes)
    with pytest.raises(ValueError, match="listed twice"):
        ch.group_edges([0, 0], [1, 1], [0.0, 0.0], 2)
    with pytest.raises(ValueError, match="join states"):
        ch.group_edges([0, 2], [1, 1], [0.0, 0.0], 2)
    with pytest.raises(ValueError, match="weights"):
        ch.blended_paths(start, trans, nodes[None], np.ones((2, 3)))
    with pytest.raises(ValueError, match="not negative"):
        ch.blended_paths(start, trans, nodes[None], -np.ones((2, 2)))
