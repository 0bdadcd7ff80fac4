"""Table 1 as a matrix, counterexamples verified by `score`, and the maps of Section 6.2."""

import numpy as np
import pytest

from octavo.cluster import (
    AdaptiveScaleModularity,
    ConnectedComponents,
    ConstantPotts,
    FixedScaleModularity,
    Modularity,
    NormalizedCut,
    ReichardtBornholdt,
    advise_scale,
    check_axioms,
    make_agreeing_graphs,
    make_ring_of_cliques,
    resolution_map,
    two_clique_outcome,
)
from octavo.engine.discrete.set_partitions import set_partitions

COLUMNS = (
    "permutation_invariance",
    "scale_invariance",
    "scale_invariance_family",
    "richness",
    "monotonicity",
    "locality",
    "continuity",
)
# Table 1: 1 satisfies, 0 does not; conditions of the table decide the parameters.
TABLE_1 = [
    (ConnectedComponents(), (1, 1, 1, 1, 1, 1, 0)),
    (Modularity(), (1, 1, 1, 1, 0, 0, 1)),
    (ReichardtBornholdt(1.0), (1, 1, 1, 1, 0, 0, 1)),
    (ReichardtBornholdt(2.0), (1, 1, 1, 1, 0, 0, 1)),
    (FixedScaleModularity(10.0), (1, 0, 1, 1, 0, 1, 1)),
    (AdaptiveScaleModularity(0.0, 2.0), (1, 1, 1, 1, 1, 1, 1)),
    (AdaptiveScaleModularity(10.0, 2.0), (1, 0, 1, 1, 1, 1, 1)),
    (AdaptiveScaleModularity(10.0, 1.0), (1, 0, 1, 1, 0, 1, 1)),
    (AdaptiveScaleModularity(0.0, 0.5), (1, 1, 1, 0, 0, 1, 1)),
    (ConstantPotts(0.5), (1, 0, 1, 1, 1, 1, 1)),
    (NormalizedCut(), (1, 1, 1, 0, 1, 1, 1)),
]


@pytest.mark.parametrize(("quality", "row"), TABLE_1, ids=[str(q) for q, _ in TABLE_1])
def test_table_1(quality, row):
    report = check_axioms(quality, list(COLUMNS))
    assert {name: int(report[name] is None) for name in COLUMNS} == dict(zip(COLUMNS, row))


def better(quality, graph, one, other):
    return quality.score(graph, one) > quality.score(graph, other) + 1e-9


def improves(before, after, labels):
    same = np.equal.outer(labels, labels)
    return bool(np.where(same, after >= before, after <= before).all())


def test_counterexamples_of_modularity_hold_by_the_definitions():
    quality = Modularity()
    report = check_axioms(quality)
    assert set(report) == {*COLUMNS, "relative_monotonicity", "resolution_limit_free"} - {
        "scale_invariance_family"
    }
    found = report["monotonicity"]
    (before, after), (C,) = found.graphs, found.labels
    assert improves(before, after, C)
    assert quality.score(after, C) < quality.score(before, C) - 1e-9

    found = report["relative_monotonicity"]  # Theorem 4
    (before, after), (C, D) = found.graphs, found.labels
    assert improves(before, after, C)
    assert improves(after, before, D)
    assert better(quality, before, C, D)
    assert better(quality, after, D, C)

    found = report["locality"]  # Theorem 2
    (first, second), (C1, D1, C2, D2) = found.graphs, found.labels
    n = 2
    np.testing.assert_array_equal(first[:n, :n], second[:n, :n])
    assert not first[:n, n:].any()
    assert not second[:n, n:].any()
    assert better(quality, first, C1, D1)
    assert better(quality, second, D2, C2)

    found = report["resolution_limit_free"]
    (graph, induced), (C, inner, D) = found.graphs, found.labels
    assert quality.score(graph, C) == pytest.approx(
        max(quality.score(graph, P) for P in set_partitions(len(graph)))
    )
    assert better(quality, induced, D, inner)


def test_resolution_limit_free_is_constant_potts_alone():
    name = "resolution_limit_free"
    assert check_axioms(ConstantPotts(0.5), name)[name] is None
    assert check_axioms(AdaptiveScaleModularity(), name)[name] is not None  # Section 7


def test_functions_of_ones_own():
    def first_node(E, labels):
        return float(E[0, 0] * len(set(labels)))

    report = check_axioms(first_node, ["permutation_invariance", "monotonicity"])
    assert report["permutation_invariance"] is not None
    found = report["permutation_invariance"]
    values = [first_node(E, C) for E, C in zip(found.graphs, found.labels)]
    assert values[0] != values[1]

    def modularity(E, labels):
        return Modularity().cluster_term(*_sums(E, labels)).sum()

    names = ["monotonicity", "locality", "scale_invariance", "continuity"]
    report = check_axioms(modularity, names)
    assert [report[name] is None for name in names] == [False, False, True, True]


def _sums(E, labels):
    one = np.equal.outer(labels, np.unique(labels)).astype(float)
    return np.diag(one.T @ E @ one), E.sum(axis=1) @ one, one.sum(axis=0)


def test_letter_of_definition_7_refuses_connected_components():
    # Ties: both clusterings are wrong in the first graph, one is right in the second.
    quality, four, two = ConnectedComponents(), np.zeros((4, 4)), np.zeros((2, 2))
    assert quality.score(four, [0, 0, 1, 1]) >= quality.score(four, [0, 1, 2, 2])
    assert quality.score(two, [0, 0]) < quality.score(two, [0, 1])


def test_normalised_cut_jumps_at_nodes_without_links():
    quality, labels = NormalizedCut(), [0, 1]
    linked = np.array([[0.0, 1e-12], [1e-12, 1.0]])
    assert quality.score(np.diag([0.0, 1.0]), labels) - quality.score(linked, labels) > 0.99


@pytest.mark.parametrize("wrong", [
    {"axioms": "fairness"}, {"axioms": []}, {"max_nodes": 7}, {"max_nodes": 1}, {"n_random": 0},
    {"weights": (1,)}, {"weights": (0, -1)}, {"weights": (0, np.nan)}, {"quality": Modularity},
    {"quality": 3},
])  # fmt: skip
def test_bad_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        check_axioms(**({"quality": Modularity()} | wrong))


# --- Section 6.2 ----------------------------------------------------------------------------------


def two_cliques(w, b):
    """Figure 1: halves of two cliques as four nodes with loops."""
    E = np.full((4, 4), b / 4)
    E[:2, :2] = E[2:, 2:] = w / 4
    return E


@pytest.mark.parametrize("quality", [
    AdaptiveScaleModularity(M, g) for M in (0.0, 10.0, 100.0) for g in (1.0, 2.0, 4.0)
] + [FixedScaleModularity(M) for M in (10.0, 100.0)], ids=str)  # fmt: skip
def test_outcomes_equal_all_clusterings_of_the_four_halves(quality):
    for w in (0.5, 3.0, 20.0, 70.0, 300.0):
        for b in (0.02 * w, 0.1 * w, 0.3 * w, 0.7 * w, 0.95 * w):
            E = two_cliques(w, b)
            values = {tuple(C): quality.score(E, C) for C in set_partitions(4)}
            three = [values[0, 0, 0, 0], values[0, 0, 1, 1], values[0, 1, 2, 3]]
            outcome = two_clique_outcome(w, b, quality)
            assert three[outcome - 1] == pytest.approx(max(values.values()), abs=1e-12)


def test_boundaries_of_figure_2():
    # M = 0: apart where w / (w + b) exceeds (1 + 1/γ) / 2
    for gamma in (2.0, 4.0):
        edge = (1 + 1 / gamma) / 2
        quality = AdaptiveScaleModularity(0.0, gamma)
        assert two_clique_outcome(edge - 1e-6, 1 - edge + 1e-6, quality) == 1
        assert two_clique_outcome(edge + 1e-6, 1 - edge - 1e-6, quality) == 2
    # γ = 0: split where (w + b)² exceeds w M, not everywhere where 2 (w + b) does exceed M
    fixed = FixedScaleModularity(100.0)
    assert two_clique_outcome(60.0, 10.0, fixed) == 2
    assert two_clique_outcome(60.0, 17.0, fixed) == 2
    assert two_clique_outcome(60.0, 18.0, fixed) == 3


def test_maps_have_a_row_for_each_b():
    found = resolution_map(AdaptiveScaleModularity(100.0), np.linspace(1, 200, 9), [1.0, 5.0])
    assert found.outcome.shape == (2, 9)
    assert found.outcome[1, 4] == two_clique_outcome(
        found.w[4], 5.0, AdaptiveScaleModularity(100.0)
    )


def test_advice_puts_the_smallest_cluster_on_the_edge():
    ring = make_ring_of_cliques(20, 5)
    M, gamma = advise_scale(ring, min_size=5, within=0.7)
    assert gamma == pytest.approx(2.5)
    v = 5 * ring.sum() / 100
    quality = AdaptiveScaleModularity(M, gamma)
    for share, outcome in ((0.86, 2), (0.84, 1)):
        assert two_clique_outcome(share * v, (1 - share) * v, quality) == outcome
    with pytest.warns(UserWarning, match="below 2"):
        advise_scale(ring, 5, within=0.9)
    with pytest.raises(ValueError, match="within"):
        advise_scale(ring, 5, within=0.4)
    with pytest.raises(ValueError, match="no links"):
        advise_scale(np.zeros((3, 3)), 2)


def test_agreeing_graphs_agree():
    pair = make_agreeing_graphs(3, 2, 1, 4, random_state=1)
    first, second = pair.first.toarray(), pair.second.toarray()
    assert first.shape == (6, 6)
    assert second.shape == (9, 9)
    np.testing.assert_array_equal(first[:3, :5], second[:3, :5])
    assert not first[:3, 5:].any()
    assert not second[:3, 5:].any()
    assert (first == first.T).all()
    assert (second == second.T).all()
