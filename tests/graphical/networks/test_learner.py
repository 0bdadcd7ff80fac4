"""The learner: published optimum, recovery, Chow-Liu, agreement of methods, bad input."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from octavo.data import DatasetNotFoundError, load_dataset
from octavo.graphical import (
    BayesianNetworkModel,
    BayesianNetworkStructureLearner,
    cpdag,
    forbidden_arc,
    network_score,
    required_arc,
    tiered_structure,
)
from tests.graphical.network_oracles import brute_force, is_acyclic, random_rules, random_table


def zoo():
    """Return the 101 x 17 table, legs with its six values."""
    try:
        found = load_dataset("uci/zoo")
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    return np.column_stack([found.data, found.target])


def asia():
    """A network of the shape of Lauritzen and Spiegelhalter's, with strong dependences."""
    names = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]
    parents = [(), (0,), (), (2,), (2,), (1, 3), (5,), (4, 5)]
    yes = [0.4, [0.2, 0.6], 0.5, [0.1, 0.5], [0.3, 0.7], [[0.02, 0.95], [0.97, 0.99]],
           [0.05, 0.95], [[0.1, 0.7], [0.8, 0.95]]]  # fmt: skip
    tables = [np.stack([1 - np.asarray(p), np.asarray(p)], axis=-1) for p in yes]
    return BayesianNetworkModel(names, [["no", "yes"]] * 8, parents, tables)


@pytest.mark.parametrize("method", ["auto", "bnb", "dp", "ilp"])
def test_zoo_has_the_published_optimum(method):
    """Table 3 prints -773.4; the third decimal is from full dynamic programming."""
    learner = BayesianNetworkStructureLearner(method=method, random_state=0).fit(zoo())
    assert learner.score_ == pytest.approx(-773.486, abs=5e-4)
    assert learner.optimal_
    assert learner.duality_gap_ == 0.0
    assert len(learner.cache_) == 554


def test_zoo_needs_few_evaluations():
    """2^13.1 in Table 1; we count 2^14.2 with the paper's rules, of 2^20.1."""
    learner = BayesianNetworkStructureLearner(pruning="paper").fit(zoo())
    assert np.log2(learner.cache_.n_evaluated) == pytest.approx(14.17, abs=0.01)
    assert BayesianNetworkStructureLearner().fit(zoo()).cache_.n_evaluated < (
        learner.cache_.n_evaluated
    )


def test_the_optimum_of_many_samples_is_the_class_of_the_truth():
    model = asia()
    X = pd.DataFrame(model.sample(50_000, random_state=0), columns=model.names)
    learner = BayesianNetworkStructureLearner().fit(X)
    truth = nx.DiGraph([(model.names[p], model.names[v])
                        for v, of in enumerate(model.parents) for p in of])  # fmt: skip
    assert set(learner.cpdag_.edges) == set(cpdag(truth).edges)
    assert set(learner.dag_.nodes) == set(model.names)


@pytest.mark.parametrize("seed", range(3))
def test_one_parent_without_penalty_is_chow_liu(seed):
    X = random_table(seed, 6, 300)
    learner = BayesianNetworkStructureLearner("loglik", max_parents=1).fit(X)
    graph = nx.Graph()
    for a in range(6):
        for b in range(a):
            table = np.zeros((3, 3))
            np.add.at(table, (X[:, a], X[:, b]), 1 / len(X))
            outer = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
            seen = table > 0
            graph.add_edge(a, b, weight=(table[seen] * np.log(table[seen] / outer[seen])).sum())
    tree = nx.maximum_spanning_tree(graph)
    weight = sum(data["weight"] for *_, data in tree.edges(data=True))
    alone = network_score(X, [()] * 6, "loglik")
    assert learner.score_ == pytest.approx(alone + len(X) * weight, rel=1e-10)
    assert {frozenset(e) for e in learner.dag_.edges} == {frozenset(e) for e in tree.edges}


@pytest.mark.parametrize("seed", range(12))
def test_methods_agree_under_constraints(seed):
    X = random_table(seed, 4)
    rules, score = random_rules(seed, 4), ["bic", "bdeu", "aic"][seed % 3]
    best = brute_force(X, score, rules, max_parents=2)
    for method in ("auto", "bnb", "dp", "ilp", "order", "hc"):
        learner = BayesianNetworkStructureLearner(
            score, method=method, constraints=rules, max_parents=2, random_state=0
        )
        if best is None:
            with pytest.raises(ValueError, match=r"no network|Node"):
                learner.fit(X)
            continue
        learner.fit(X)
        assert is_acyclic(learner.parents_)
        assert network_score(X, learner.parents_, score) == pytest.approx(learner.score_)
        assert learner.score_ <= best + 1e-9
        assert learner.upper_bound_ >= best - 1e-9
        if method not in ("order", "hc"):
            assert learner.score_ == pytest.approx(best, rel=1e-9)
        for rule in (r for r in rules if r.kind == "arc"):
            assert rule.value in learner.parents_[rule.node]


def test_general_priors_are_learned_with():
    X = random_table(2, 4)
    uniform = [np.full(k, 1 / k) for k in X.max(axis=0) + 1]
    bdeu = BayesianNetworkStructureLearner("bdeu", ess=2.0).fit(X)
    bde = BayesianNetworkStructureLearner("bde", ess=2.0, prior=uniform).fit(X)
    assert bde.score_ == pytest.approx(bdeu.score_)
    k2 = BayesianNetworkStructureLearner("k2").fit(X)
    assert BayesianNetworkStructureLearner("bd", alpha=1.0).fit(X).score_ == pytest.approx(
        k2.score_
    )


def test_hill_climbing_ends_where_no_arc_helps():
    X = random_table(9, 6)
    learner = BayesianNetworkStructureLearner(method="hc").fit(X)
    assert learner.cache_ is None
    assert learner.upper_bound_ == np.inf
    arcs = set(learner.dag_.edges)
    for a in range(6):
        for b in range(6):
            if a == b:
                continue
            changes = [arcs ^ {(a, b)}]
            if (a, b) in arcs:
                changes.append((arcs - {(a, b)}) | {(b, a)})
            for changed in changes:
                parents = [tuple(sorted(p for p, c in changed if c == v)) for v in range(6)]
                if is_acyclic(parents):
                    assert network_score(X, parents) <= learner.score_ + 1e-6


def test_columns_may_come_in_any_order():
    X = random_table(13, 6)
    order = np.random.default_rng(0).permutation(6)
    one = BayesianNetworkStructureLearner().fit(X)
    other = BayesianNetworkStructureLearner().fit(X[:, order])
    assert other.score_ == pytest.approx(one.score_, rel=1e-12)


def test_names_of_states_mean_nothing():
    X = random_table(14, 4)
    words = np.array([["no", "yes", "perhaps"][v] for v in X.ravel()]).reshape(X.shape)
    frame = pd.DataFrame(X, columns=list("abcd"))
    scores = [
        BayesianNetworkStructureLearner().fit(data).score_
        for data in (X, words, words.astype(object), frame, frame.astype("category"), X + 0.0)
    ]
    assert scores == pytest.approx([scores[0]] * 6)


def test_categories_that_are_declared_count_even_if_unseen():
    X = pd.DataFrame({"a": [0, 1] * 20, "b": pd.Categorical([0, 1] * 20, categories=[0, 1, 2])})
    learner = BayesianNetworkStructureLearner().fit(X)
    assert learner.columns_[1].states == (0, 1, 2)
    assert learner.to_model().tables[1].shape[-1] == 3


def test_limits_leave_a_network_with_a_valid_gap():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (150, 12))
    X[:, 6:] ^= X[:, :6] & X[:, [1, 2, 3, 4, 5, 0]]
    best = BayesianNetworkStructureLearner("aic").fit(X).score_
    stopped = BayesianNetworkStructureLearner("aic", method="bnb", max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap"):
        stopped.fit(X)
    assert stopped.score_ <= best <= stopped.upper_bound_ + 1e-9
    assert stopped.duality_gap_ == pytest.approx(
        (stopped.upper_bound_ - stopped.score_) / abs(stopped.score_)
    )
    assert not stopped.optimal_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        allowed = stopped.set_params(gap=1.0, max_iter=None).fit(X)
    assert allowed.duality_gap_ <= 1.0


def test_constraints_show_in_the_network():
    model = asia()
    X = pd.DataFrame(model.sample(3000, random_state=1), columns=model.names)
    rules = [
        tiered_structure([["asia", "smoke"], ["tub", "lung", "bronc"], ["either", "xray", "dysp"]])
    ]
    rules += [required_arc("smoke", "dysp"), forbidden_arc("smoke", "lung")]
    learner = BayesianNetworkStructureLearner(constraints=rules).fit(X)
    assert ("smoke", "dysp") in learner.dag_.edges
    assert ("smoke", "lung") not in learner.dag_.edges
    assert ("xray", "tub") not in learner.dag_.edges
    assert (2, 7) in learner.required_arcs_
    assert (2, 3) in learner.forbidden_arcs_


def test_cpdag_of_known_graphs():
    chain = cpdag(nx.DiGraph([(0, 1), (1, 2)]))
    assert set(chain.edges) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    collider = cpdag(nx.DiGraph([(0, 1), (2, 1)]))
    assert set(collider.edges) == {(0, 1), (2, 1)}
    # Meek's second rule: 0 → 1 → 2 and 0 − 2, with 1 a collider of 0 and 3
    graph = nx.DiGraph([(0, 1), (3, 1), (1, 2), (0, 2)])
    assert set(cpdag(graph).edges) == set(graph.edges)


@pytest.mark.parametrize("seed", range(10))
def test_cpdag_is_what_all_equivalent_networks_share(seed):
    """All orientations of the skeleton with the same v-structures, by enumeration."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    arcs = [(int(a), int(b)) for k, a in enumerate(order) for b in order[k + 1 :]
            if rng.random() < 0.5]  # fmt: skip

    def colliders(edges):
        linked = {frozenset(e) for e in edges}
        return {(frozenset({a, b}), c) for a, c in edges for b, d in edges
                if c == d and a != b and frozenset({a, b}) not in linked}  # fmt: skip

    members = []
    for flips in range(1 << len(arcs)):
        turned = [(b, a) if flips >> k & 1 else (a, b) for k, (a, b) in enumerate(arcs)]
        acyclic = is_acyclic([[p for p, c in turned if c == v] for v in range(5)])
        if acyclic and colliders(turned) == colliders(arcs):
            members.append(set(turned))
    graph = nx.DiGraph(arcs)
    assert set(cpdag(graph).edges) == set().union(*members) if members else not arcs


def test_samples_are_scored_by_the_model():
    X = random_table(3, 4)
    learner = BayesianNetworkStructureLearner().fit(X)
    np.testing.assert_allclose(learner.score_samples(X), learner.to_model().log_likelihood(X))
    with pytest.raises(ValueError, match=r"Column '0' holds unknown states \[7\]"):
        learner.score_samples([[7, 0, 0, 0]])


def test_continuous_columns_are_cut_on_request():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] += 2 * X[:, 0]
    with pytest.raises(ValueError, match=r"Column .0. is continuous.*discretize"):
        BayesianNetworkStructureLearner().fit(X)
    by_mean = BayesianNetworkStructureLearner(discretize="mean").fit(X)
    expected = BayesianNetworkStructureLearner().fit((X.mean(axis=0) <= X).astype(int))
    assert by_mean.score_ == pytest.approx(expected.score_)
    thirds = BayesianNetworkStructureLearner(discretize="quantile", n_bins=4).fit(X)
    assert [len(column.states) for column in thirds.columns_] == [4] * 3
    assert np.isfinite(thirds.score_samples(X + 100.0)).all()  # beyond the edges: the last one


def test_a_column_of_one_state_is_refused_or_left_alone():
    X = np.column_stack([random_table(1, 3), np.zeros(random_table(1, 3).shape[0], int)])
    with pytest.raises(ValueError, match=r"Columns \['3'\] have a single state"):
        BayesianNetworkStructureLearner().fit(X)
    with pytest.warns(UserWarning, match="single state"):
        learner = BayesianNetworkStructureLearner(on_constant="isolate").fit(X)
    assert learner.parents_[3] == ()
    assert all(3 not in of for of in learner.parents_)


@pytest.mark.parametrize(
    ("changes", "X", "words"),
    [
        ({}, [[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0]], "NaN"),
        ({}, pd.DataFrame({"a": ["x", None, "y"], "b": [0, 1, 1]}), "NaN|None"),
        ({"constraints": [required_arc(0, 1), required_arc(1, 0)]}, None, "no network.*cycle"),
        ({"constraints": [required_arc(0, 9)]}, None, "no node 9"),
        ({"criterion": "mdl"}, None, "'criterion' parameter"),
        ({"method": "magic"}, None, "'method' parameter"),
        ({"ess": 0.0}, None, "'ess' parameter"),
        ({"bottom": 0}, None, "'bottom' parameter"),
        ({"alpha": -1.0}, None, "'alpha' parameter"),
    ],
)
def test_bad_input_says_what_is_wrong(changes, X, words):
    X = random_table(0, 3) if X is None else X
    with pytest.raises(ValueError, match=words):
        BayesianNetworkStructureLearner(**changes).fit(X)


def test_nothing_can_be_asked_before_fit():
    for use in ("dag_", "cpdag_"):
        with pytest.raises(NotFittedError):
            getattr(BayesianNetworkStructureLearner(), use)
    with pytest.raises(NotFittedError):
        BayesianNetworkStructureLearner().to_model()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_methods_agree_on_larger_problems(seed):
    X = random_table(seed, 10, 400)
    learners = [
        BayesianNetworkStructureLearner(method=m, random_state=0).fit(X)
        for m in ("dp", "bnb", "ilp")
    ]
    assert [b.score_ for b in learners] == pytest.approx([learners[0].score_] * 3, rel=1e-9)
