"""Queries against the full joint distribution; files, graphs and samples."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.graphical import BayesianNetworkModel, make_bayesian_network


def random_model(seed, n=5):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n)
    parents = [tuple(int(p) for p in np.flatnonzero(rng.random(i) < 0.5))[:3] for i in range(n)]
    tables = [
        rng.dirichlet(np.ones(sizes[i]), tuple(sizes[p] for p in of))
        for i, of in enumerate(parents)
    ]
    states = [[f"s{k}" for k in range(size)] for size in sizes]
    return BayesianNetworkModel([f"v{i}" for i in range(n)], states, parents, tables)


def full_joint(model):
    joint = np.zeros([len(s) for s in model.states])
    for cell in itertools.product(*(range(len(s)) for s in model.states)):
        joint[cell] = np.prod(
            [t[tuple(cell[p] for p in (*of, v))] for v, (of, t) in
             enumerate(zip(model.parents, model.tables))]
        )  # fmt: skip
    return joint


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_queries_are_those_of_the_full_joint(seed):
    model, rng = random_model(seed), np.random.default_rng(seed)
    joint = full_joint(model)
    assert joint.sum() == pytest.approx(1.0)
    a, b, c, d = rng.permutation(5)[:4]
    others = tuple(v for v in range(5) if v not in (a, b))
    expected = joint.sum(axis=others)
    expected = expected if a < b else expected.T
    np.testing.assert_allclose(model.query([f"v{a}", f"v{b}"]), expected, atol=1e-12)
    index = [slice(None)] * 5
    index[c], index[d] = 0, 1
    left = [v for v in range(5) if v not in (c, d)]
    given_both = joint[tuple(index)].sum(axis=tuple(k for k, v in enumerate(left) if v != a))
    answer = model.query([int(a)], {f"v{c}": "s0", int(d): "s1"})
    np.testing.assert_allclose(answer, given_both / given_both.sum(), atol=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_log_likelihood_and_predictions_come_from_the_joint(seed):
    model = random_model(seed)
    joint = full_joint(model)
    X = model.sample(30, random_state=seed)
    codes = np.array([[int(s[1:]) for s in row] for row in X])
    np.testing.assert_allclose(model.log_likelihood(X), np.log(joint[tuple(codes.T)]))
    proba = model.predict_proba(X, "v2")
    for row, found in zip(codes, proba):
        index = tuple(row[:2]) + (slice(None),) + tuple(row[3:])
        np.testing.assert_allclose(found, joint[index] / joint[index].sum(), atol=1e-12)
    assert model.predict(X, 2).tolist() == [f"s{k}" for k in proba.argmax(axis=1)]


def test_unknown_cells_are_summed_out():
    model = random_model(3)
    X = model.sample(5, random_state=0)
    X[0, 1], X[1, 0] = None, np.nan
    proba = model.predict_proba(X, "v4")
    told = {f"v{v}": X[0, v] for v in (0, 2, 3)}
    np.testing.assert_allclose(proba[0], model.query(["v4"], told))
    told = {f"v{v}": X[1, v] for v in (1, 2, 3)}
    np.testing.assert_allclose(proba[1], model.query(["v4"], told))


def test_samples_have_the_frequencies_of_the_model():
    model = random_model(5)
    codes = model.sample_codes(40_000, random_state=0)
    for pair in ((0, 1), (2, 4)):
        counts = np.zeros([len(model.states[v]) for v in pair])
        np.add.at(counts, tuple(codes[:, v] for v in pair), 1)
        # Cells are binomial proportions: five standard deviations of the widest, 0.5 / 200.
        np.testing.assert_allclose(counts / 40_000, model.joint(pair), atol=5 * 0.0025)


def test_tables_are_smoothed_counts():
    X = pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"]})
    model = BayesianNetworkModel.from_data(X, nx.DiGraph([("a", "b")]), alpha=0.5)
    np.testing.assert_allclose(model.tables[0], [2.5 / 4, 1.5 / 4])
    np.testing.assert_allclose(model.tables[1], [[0.5, 0.5], [0.75, 0.25]])
    assert model.n_parameters == 3


def test_bif_and_graphs_give_the_model_back(tmp_path):
    for seed in range(5):
        model = random_model(seed)
        path = tmp_path / "net.bif"
        text = model.to_bif(path)
        assert BayesianNetworkModel.from_bif(path).names == model.names
        again = BayesianNetworkModel.from_bif(text)
        for one, other in zip(again.tables, model.tables):
            np.testing.assert_allclose(one, other, rtol=1e-15)
        assert BayesianNetworkModel.from_networkx(model.to_networkx()) == model


def test_bif_with_comments_tables_and_defaults():
    text = """
    network "weather" { property author x; }
    // a comment
    variable rain { type discrete [ 2 ] { yes, no }; }
    variable wet { type discrete[3] { "quite dry", damp, soaked }; property place (1, 2); }
    probability ( rain ) { table 0.2, 0.8; } /* another */
    probability ( wet | rain ) { default 0.7, 0.2, 0.1; (yes) 0.1, 0.3, 0.6; }
    """
    model = BayesianNetworkModel.from_bif(text)
    assert model.states[1] == ("quite dry", "damp", "soaked")
    np.testing.assert_allclose(model.tables[1], [[0.1, 0.3, 0.6], [0.7, 0.2, 0.1]])
    flat = text.replace("default 0.7, 0.2, 0.1; (yes) 0.1, 0.3, 0.6;",
                        "table 0.1, 0.7, 0.3, 0.2, 0.6, 0.1;")  # fmt: skip
    assert BayesianNetworkModel.from_bif(flat) == model
    assert BayesianNetworkModel.from_bif(model.to_bif()) == model


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("variable a { type continuous; }", "only discrete"),
        ("variable a { type discrete [ 3 ] { x, y }; }", "declares 3 states"),
        ("variable a { type discrete [ 2 ] { x, y }; }", "no probabilities of"),
        ("probability ( a ) { table 1; }", "unknown variable 'a'"),
        ("variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { }", "not complete"),
        ("variable a { type discrete [ 2 ] { x, y", "ends"),
        ("hello { }", "Not BIF"),
    ],
)
def test_broken_bif_says_where(text, words):
    with pytest.raises(ValueError, match=words):
        BayesianNetworkModel.from_bif(text)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda m: m.query(["v9"]), "no node 'v9'"),
        (lambda m: m.query(["v0"], {"v1": "blue"}), "unknown states.*blue"),
        (lambda m: m.query(["v0"], {"v0": "s0"}), "asked for once"),
        (lambda m: m.log_likelihood([["s0"]]), "5 columns"),
        (lambda m: m.log_likelihood([["s9"] * 5]), "Column 'v0'.*unknown states"),
        (lambda m: m.predict_proba([["s0"]], 0), "5 columns"),
        (lambda m: BayesianNetworkModel.from_networkx(nx.DiGraph([(0, 1)])), "carries no"),
        (lambda m: BayesianNetworkModel(["a"], ["xy"], [()], [[0.5, 0.6]]), "probabilities"),
        (lambda m: BayesianNetworkModel(["a"], ["xy"], [()], [[1.0]]), "shape"),
        (lambda m: BayesianNetworkModel(["a"], ["xy"], [], [[1.0]]), "one entry a variable"),
        (lambda m: BayesianNetworkModel(["a"] * 2, ["xy"] * 2, [()] * 2, [[1, 0]] * 2), "differ"),
        (lambda m: BayesianNetworkModel.from_data([[0, 1], [1, 0]], [(1,), (0,)]), "cycle"),
    ],
)
def test_bad_input(attempt, words):
    with pytest.raises(ValueError, match=words):
        attempt(random_model(0))


def test_impossible_evidence_says_so():
    model = BayesianNetworkModel(
        ["a", "b"], [[0, 1]] * 2, [(), (0,)], [[1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]]]
    )
    with pytest.raises(ValueError, match="probability zero"):
        model.query(["a"], {"b": 1})


def test_random_networks_have_what_is_asked_for():
    model = make_bayesian_network(12, 20, max_parents=3, n_states=(2, 4), random_state=0)
    assert sum(map(len, model.parents)) == 20
    assert max(map(len, model.parents)) <= 3
    assert {len(states) for states in model.states} <= {2, 3, 4}
    assert model == make_bayesian_network(12, 20, max_parents=3, n_states=(2, 4), random_state=0)
    assert sum(map(len, make_bayesian_network(3, 99, random_state=0).parents)) == 3
    with pytest.raises(ValueError, match="concentration positive"):
        make_bayesian_network(3, concentration=0.0)
