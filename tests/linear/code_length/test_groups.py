"""Grouped features: codes and searches against plain loops with refits."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.data import make_grouped_features
from octavo.linear import MICGroup, MICSelector, codelength
from octavo.linear.code_length.groups import GroupCode, as_group_labels

GROUPS = np.array([0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3])


def refit_rss(X, y, support):
    design = np.column_stack([np.ones(len(X)), X[:, sorted(support)]])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)


def sample(seed=0, n=50):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    X[:, 4] += X[:, 3]
    return X, X[:, [1, 3, 4, 5, 9]] @ [1.0, 0.8, 0.7, 0.5, 0.4] + rng.standard_normal(n)


def bits(X, y, support, variance="profile"):
    return len(X) / 2 * np.log2(refit_rss(X, y, support))


def switch_bits(order, coef_bits=2.0):
    """Return the model bits of Eq. (9), entry by entry."""
    sizes, used, total = np.bincount(GROUPS), [], 0.0
    for j in order:
        g = GROUPS[j]
        total += 1 + np.log2(len(used) if g in used else 4) + np.log2(sizes[g]) + coef_bits
        used += [] if g in used else [g]
    return total


def plain_forward(X, y, cost):
    """Add the feature that shortens the description most, refitting everything."""
    order = []
    while True:
        best = max(
            (bits(X, y, order) - bits(X, y, [*order, j]) - cost([*order, j]) + cost(order), -j)
            for j in set(range(12)) - set(order)
        )
        if best[0] <= 0:
            return order
        order.append(-best[1])


@pytest.mark.parametrize("seed", range(5))
def test_switch_coding_is_the_plain_loop(seed):
    X, y = sample(seed)
    found = MICGroup(GROUPS).fit(X, y)
    assert found.order_.tolist() == plain_forward(X, y, switch_bits)
    path = found.description_length_path_
    for i in range(len(found.order_) + 1):
        order = found.order_[:i].tolist()
        assert path[i, 1] == pytest.approx(switch_bits(order))
        assert path[i, 0] - path[0, 0] == pytest.approx(bits(X, y, order) - bits(X, y, []))


@pytest.mark.parametrize("seed", range(5))
def test_ric_is_the_selector_with_one_response(seed):
    X, y = sample(seed)
    found = MICGroup(GROUPS, scheme="ric").fit(X, y)
    single = MICSelector("independent").fit(X, y)
    assert found.order_.tolist() == single.order_.tolist()
    assert found.description_length_ == pytest.approx(single.description_length_)
    np.testing.assert_allclose(found.coef_, single.coef_)


@pytest.mark.parametrize("index", ["groups", "paper"])
@pytest.mark.parametrize("seed", range(4))
def test_subsets_of_groups_are_the_plain_loop(seed, index):
    X, y = sample(seed)
    found = MICGroup(GROUPS, scheme="subset", index=index, variance="profile").fit(X, y)
    order, left = [], {0, 1, 2, 3}
    lg_index = np.log2(12 if index == "paper" else 4)
    while left:
        best = (0.0, None, [])
        for g in left:
            members, chosen = np.flatnonzero(g == GROUPS).tolist(), []
            while len(chosen) < len(members):
                rest = set(members) - set(chosen)
                chosen.append(min(rest, key=lambda j: refit_rss(X, y, [*order, *chosen, j])))
                saved = bits(X, y, order) - bits(X, y, order + chosen)
                cost = codelength(len(chosen), len(members), 1) + lg_index
                if saved - cost > best[0] + 1e-9:
                    best = (saved - cost, g, list(chosen))
        if best[1] is None:
            break
        order += best[2]
        left.discard(best[1])
    assert found.order_.tolist() == order
    assert order


def test_whole_groups():
    X, y = sample(1)
    found = MICGroup(GROUPS, scheme="full").fit(X, y)
    groups = found.selected_groups_
    np.testing.assert_array_equal(found.support_, np.isin(GROUPS, groups))
    sizes = np.bincount(GROUPS)[groups]
    assert found.description_length_path_[-1, 1] == pytest.approx((2 + 2 * sizes).sum())
    shortest = min(
        bits(X, y, np.flatnonzero(np.isin(GROUPS, s)))
        + sum(2 + 2 * np.bincount(GROUPS)[g] for g in s)
        for k in range(5)
        for s in itertools.combinations(range(4), k)
    )
    reached = bits(X, y, np.flatnonzero(found.support_)) + (2 + 2 * sizes).sum()
    assert reached == pytest.approx(shortest, abs=1e-9)  # on these rows the greedy order finds it


@pytest.mark.parametrize("scheme", ["switch", "subset", "full", "ric"])
@pytest.mark.parametrize("seed", range(4))
def test_going_back_never_lengthens(scheme, seed):
    X, y = sample(seed)
    forward = MICGroup(GROUPS, scheme=scheme).fit(X, y)
    both = MICGroup(GROUPS, scheme=scheme, search="forward-backward").fit(X, y)
    assert both.description_length_ <= forward.description_length_ + 1e-9
    code = GroupCode(GROUPS, scheme)
    path, order = both.description_length_path_, both.order_.tolist()
    assert both.description_length_ == path[:, 2].min()
    start = path[0, 0] - bits(X, y, [])
    exact = bits(X, y, order) + code.total(order)
    if scheme in ("switch", "ric"):  # with a plug-in variance the path is no function of the set
        assert both.description_length_ == pytest.approx(start + exact, rel=1e-9)


def test_a_group_that_pays_only_together_is_found_by_going_back():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 200))
    groups = np.r_[np.zeros(4, int), np.arange(1, 197)]
    y = X[:, :4] @ np.full(4, 0.75) + rng.standard_normal(40)
    forward = MICGroup(groups).fit(X, y)
    both = MICGroup(groups, search="forward-backward").fit(X, y)
    assert both.description_length_ < forward.description_length_ - 1
    assert set(both.order_) >= {0, 1, 2, 3}


def test_removals_are_differences_of_totals():
    order = [3, 1, 4, 9, 2, 5, 0]
    for scheme in ("switch", "subset", "ric"):
        code = GroupCode(GROUPS, scheme)
        exact = [code.total(order) - code.total(order[:i] + order[i + 1 :]) for i in range(7)]
        np.testing.assert_allclose(code.removals(order), exact)
    assert GroupCode(GROUPS, "switch").total(order) == pytest.approx(switch_bits(order))


def test_sparse_tables_give_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12)) * (rng.uniform(size=(80, 12)) < 0.3)
    y = X[:, [3, 4, 5]] @ [2.0, 1.5, 1.0] + 0.2 * rng.standard_normal(80)
    for scheme in ("switch", "subset", "full", "ric"):
        one, other = (MICGroup(GROUPS, scheme=scheme).fit(T, y) for T in (X, sp.csr_array(X)))
        assert one.order_.tolist() == other.order_.tolist()
        np.testing.assert_allclose(one.predict(X), other.predict(sp.csr_array(X)), rtol=1e-8)


def test_groups_are_labels_or_members():
    members = [np.flatnonzero(g == GROUPS) for g in range(4)]
    names = np.array(["d", "c", "b", "a"])[GROUPS]
    for groups in (GROUPS, GROUPS.tolist(), members, names, names.tolist()):
        labels = as_group_labels(groups, 12)
        assert [len(set(labels[m])) for m in members] == [1, 1, 1, 1]
        assert len(set(labels)) == 4


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (GROUPS[:-1], "label for each of the 12"),
        ([[0, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], "feature 1 is in 2"),
        ([[0, 1], [2, 3]], "feature 4 is in 0"),
        ([[0], []], "one feature or more"),
        ([[0.5], [1.5]], "numbers of one feature"),
        (np.where(GROUPS == 3, np.nan, GROUPS), "NaN"),
        ([*range(12), 12], "label for each"),
    ],
)
def test_groups_that_are_no_partition_are_named(groups, words):
    X, y = sample()
    with pytest.raises(ValueError, match=words):
        MICGroup(groups).fit(X, y)


def test_wide_groups_stop_before_an_exact_fit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 400)), rng.standard_normal(30)
    found = MICGroup(np.repeat([0, 1], 200), scheme="subset", coef_bits=0.0, variance="profile")
    found.fit(X, y)
    assert 0 < found.order_.size <= 29 // 4 + 22 // 4
    assert np.isfinite(found.description_length_path_).all()


@pytest.mark.slow
def test_table_3_counts_are_those_of_an_independent_run():
    """Correct and spurious features of the sheet's own re-run, 0.7 apart at most."""
    expected = {
        ("unequal", "switch"): (7.0, 0.0),
        ("equal", "switch"): (5.6, 0.1),
        ("unequal", "ric"): (2.5, 0.1),
        ("equal", "ric"): (2.2, 0.0),
    }
    for (sizes, scheme), (correct, spurious) in expected.items():
        counts = []
        for seed in range(40):
            drawn = make_grouped_features(sizes, random_state=seed)
            support = MICGroup(drawn.groups, scheme=scheme).fit(drawn.X, drawn.y).support_
            counts.append((support[:7].sum(), support[7:].sum()))
        mean = np.mean(counts, axis=0)
        assert mean == pytest.approx((correct, spurious), abs=0.7), (sizes, scheme)
