"""The ledger: composition by hand, refusals, clones, files and processes."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from octavo.linear import (
    LedgerEntry,
    PrivacyBudgetError,
    PrivacyLedger,
    PrivateKernelClassifier,
    PrivateLogisticRegression,
    PrivateModelSelector,
)
from octavo.linear.private import ledger as ledger_module


def records(n=120):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, 2))
    return X, np.where(X[:, 0] + 0.1 * rng.normal(size=n) > 0, 1, -1)


def test_releases_on_the_same_records_add_up():
    ledger = PrivacyLedger(1.0)
    for _ in range(10):
        ledger.spend(0.1)
    assert ledger.spent == pytest.approx(1.0)
    assert ledger.remaining == pytest.approx(0.0)
    with pytest.raises(PrivacyBudgetError, match="only 0 is left"):
        ledger.spend(1e-6)
    assert len(ledger.entries) == 10


def test_disjoint_parts_cost_the_dearest():
    ledger = PrivacyLedger(1.0)
    ledger.spend(0.2, "whole")
    north, south = ledger.part("north"), ledger.part("south")
    north.spend(0.5)
    south.spend(0.3)
    south.part("a").spend(0.1)
    south.part("b").spend(0.2)
    assert (north.spent, south.spent) == pytest.approx((0.5, 0.5))
    assert ledger.spent == pytest.approx(0.7)
    with pytest.raises(PrivacyBudgetError, match=r"\(part south\)"):
        south.spend(0.4)
    south.spend(0.3)
    assert ledger.spent == pytest.approx(1.0)
    assert ledger.entries[1] == LedgerEntry(0.5, "", ("north",))


@settings(max_examples=100, deadline=None)
@given(
    releases=st.lists(
        st.tuples(st.floats(0.01, 1), st.sampled_from([(), ("a",), ("b",), ("a", "c"), ("a", "d")]))
    )
)
def test_composition_by_paths(releases):
    """The loss is the dearest path from the whole to a leaf: enumerate all of them."""
    ledger = PrivacyLedger(1e6)
    for epsilon, part in releases:
        ledger.spend(epsilon, part=part)
    cost = {
        part: sum(e for e, p in releases if p == part)
        for part in [(), ("a",), ("b",), ("a", "c"), ("a", "d")]
    }
    paths = [[("b",)], [("a",), ("a", "c")], [("a",), ("a", "d")]]
    dearest = cost[()] + max(sum(cost[node] for node in path) for path in paths)
    assert ledger.spent == pytest.approx(dearest)


@pytest.mark.parametrize(
    "model", [PrivateLogisticRegression(0.4), PrivateKernelClassifier(epsilon=0.4, n_components=3)]
)
def test_every_fit_is_entered_or_refused(model):
    X, y = records()
    ledger = PrivacyLedger(1.0)
    model = clone(model).set_params(ledger=ledger)
    model.fit(X, y)
    first = model.coef_.copy()
    model.fit(X, y)  # the same records again cost again
    assert ledger.spent == pytest.approx(0.8)
    second = model.coef_.copy()
    with pytest.raises(PrivacyBudgetError):
        model.fit(X, y)
    assert ledger.spent == pytest.approx(0.8)
    np.testing.assert_array_equal(model.coef_, second)
    assert (first != second).any()


def test_bad_input_costs_nothing():
    X, y = records()
    ledger = PrivacyLedger(1.0)
    with pytest.raises(ValueError, match="data_norm"):
        PrivateLogisticRegression(0.5, ledger=ledger).fit(10 * X, y)
    assert ledger.spent == 0


def test_no_privacy_is_refused():
    X, y = records()
    with pytest.raises(PrivacyBudgetError, match="epsilon=inf"):
        PrivateLogisticRegression(np.inf, ledger=PrivacyLedger(5.0)).fit(X, y)


def test_clones_and_searches_are_charged():
    X, y = records()
    ledger = PrivacyLedger(2.5)
    model = PrivateLogisticRegression(0.5, ledger=ledger)
    assert clone(model).ledger is ledger
    assert copy.deepcopy(model).ledger is ledger
    cross_val_score(model, X, y, cv=3)
    assert ledger.spent == pytest.approx(1.5)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3, error_score="raise")
    with pytest.raises(PrivacyBudgetError):
        search.fit(X, y)
    assert ledger.spent == pytest.approx(2.5)


def test_a_selector_is_charged_once():
    X, y = records()
    ledger = PrivacyLedger(1.0)
    PrivateModelSelector(epsilon=0.6, ledger=ledger).fit(X, y)
    assert [entry.what for entry in ledger.entries] == ["PrivateModelSelector"]
    assert ledger.spent == pytest.approx(0.6)
    own = PrivateLogisticRegression(ledger=ledger)
    with pytest.raises(ValueError, match="to the selector"):
        PrivateModelSelector(own).fit(X, y)


def test_threads_cannot_overspend():
    ledger = PrivacyLedger(1.0)

    def attempt(_):
        try:
            ledger.spend(0.125)
        except PrivacyBudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 8


def test_a_ledger_in_memory_does_not_travel():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(PrivacyLedger(1.0))


def test_a_file_outlives_the_session(tmp_path):
    path = tmp_path / "ledger.json"
    PrivacyLedger(1.0, path).spend(0.6, "first model")
    again = PrivacyLedger(1.0, path)
    assert again.spent == pytest.approx(0.6)
    assert again.entries == [LedgerEntry(0.6, "first model", ())]
    other = pickle.loads(pickle.dumps(again))
    other.spend(0.3)
    assert again.spent == pytest.approx(0.9)  # read anew
    with pytest.raises(PrivacyBudgetError):
        again.spend(0.2)
    with pytest.raises(ValueError, match="grants epsilon=1; expected 5"):
        PrivacyLedger(5.0, path)
    assert "spent=0.9" in repr(again)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.json"]


def spend_from_a_process(ledger):
    granted = 0
    for _ in range(6):
        try:
            ledger.spend(0.125)
            granted += 1
        except PrivacyBudgetError:
            pass
    return granted


@pytest.mark.slow
def test_processes_cannot_overspend(tmp_path):
    ledger = PrivacyLedger(1.0, tmp_path / "ledger.json")
    with ProcessPoolExecutor(3) as pool:
        assert sum(pool.map(spend_from_a_process, [ledger] * 3)) == 8
    assert ledger.spent == pytest.approx(1.0)


def test_a_forgotten_lock_says_so(tmp_path, monkeypatch):
    ledger = PrivacyLedger(1.0, tmp_path / "ledger.json")
    (tmp_path / "ledger.json.lock").touch()
    monkeypatch.setattr(ledger_module, "_PATIENCE", 0.05)
    with pytest.raises(TimeoutError, match="delete it"):
        ledger.spend(0.1)


@pytest.mark.parametrize(
    "entry",
    [
        '[-2.0, "", []]',
        '[0.0, "", []]',
        '[NaN, "", []]',
        '[Infinity, "", []]',
        '["0.5", "", []]',
        '[true, "", []]',
        '[1e400, "", []]',
        "[0.5, 3, []]",
        '[0.5, "", "north"]',
        '[0.5, "", [3]]',
        '[0.5, "", {"a": 1}]',
        '[0.5, ""]',
        '[0.5, "", [], []]',
        "{}",
        '"abc"',
        str(10**400),
    ],
)
def test_an_entry_that_no_release_makes_is_refused(tmp_path, entry):
    """A negative entry would give privacy back: 3.0 of 1.0 could be spent."""
    path = tmp_path / "ledger.json"
    ledger = PrivacyLedger(1.0, path)
    ledger.spend(0.5)
    path.write_text(f'{{"epsilon": 1.0, "entries": [[0.5, "", []], {entry}]}}')
    before = path.read_text()
    for use in (
        lambda: PrivacyLedger(1.0, path),
        lambda: ledger.spend(0.5),
        lambda: ledger.spent,
        lambda: ledger.entries,
        lambda: ledger.part("north").spend(0.1),
    ):
        with pytest.raises(ValueError, match=r"not a privacy ledger: Entry 1"):
            use()
    assert path.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.json"]


@pytest.mark.parametrize("granted", ["-1", "NaN", "Infinity", "true", '"1.0"', "null", "[1.0]"])
def test_a_grant_that_is_no_budget_is_refused(tmp_path, granted):
    path = tmp_path / "ledger.json"
    path.write_text(f'{{"epsilon": {granted}, "entries": []}}')
    with pytest.raises(ValueError, match="not a privacy ledger: epsilon must be"):
        PrivacyLedger(1.0, path)


def test_a_file_that_spends_more_than_it_grants_says_so(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text('{"epsilon": 1.0, "entries": [[0.7, "", []], [0.7, "", []]]}')
    ledger = PrivacyLedger(1.0, path)
    assert ledger.spent == pytest.approx(1.4)  # the account is what it is; nothing more is granted
    assert ledger.remaining == 0
    with pytest.raises(PrivacyBudgetError, match="only 0 is left"):
        ledger.spend(1e-9)


def test_bytes_that_are_no_text_are_no_ledger(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_bytes(b"\xff\xfe\x00 not text")
    with pytest.raises(ValueError, match="not a privacy ledger"):
        PrivacyLedger(1.0, path)


@pytest.mark.parametrize(
    ("what", "part", "words"),
    [(3, (), "what must be"), ("", "north", "part must be"), ("", (1,), "part must be")],
)
def test_what_a_file_could_not_keep_is_refused_in_memory_too(what, part, words):
    with pytest.raises(ValueError, match=words):
        PrivacyLedger(1.0).spend(0.1, what, part=part)
    for epsilon in ("0.5", None, True, 10**400, np.inf):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            PrivacyLedger(1.0).spend(epsilon)


@pytest.mark.parametrize("text", ["", "[]", '{"epsilon": 1}', '{"epsilon": 1, "entries": [1]}'])
def test_a_damaged_file_is_not_an_empty_account(tmp_path, text):
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="not a privacy ledger"):
        PrivacyLedger(1.0, path)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.inf, np.nan])
def test_bad_budgets(epsilon):
    with pytest.raises(ValueError, match="budget"):
        PrivacyLedger(epsilon)
    if not epsilon > 0:
        with pytest.raises(ValueError, match="positive"):
            PrivacyLedger(1.0).spend(epsilon)
