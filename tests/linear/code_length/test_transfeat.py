"""TransFeat: clusters, learnt codes, and that transfer does what its formulas say."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.data import make_word_senses
from octavo.linear import MICGroup, TransFeat
from octavo.linear.code_length.groups import GroupCode
from octavo.linear.code_length.transfer import (
    cosines,
    foreground_clusters,
    learnt_code,
    prior_bits,
)

GROUPS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])


def test_the_prior_is_the_mean_of_a_beta_posterior():
    """Eq. (17) with a = 1, b = m - 1."""
    for k, donors, m in ((0, 0, 8), (2, 3, 8), (0, 5, 4)):
        exact = (k + 1) / (k + (donors - k) + 1 + (m - 1))
        assert prior_bits(np.array([k]), donors, np.array([m]), 1.0)[0] == pytest.approx(
            -np.log2(exact)
        )


@pytest.mark.parametrize("a", [0.5, 1.0, 4.0])
def test_without_evidence_the_code_is_uniform(a):
    for scheme in ("switch", "ric"):
        plain = GroupCode(GROUPS, scheme)
        code = learnt_code(GROUPS, scheme, 2.0, np.empty((0, 10)), a)
        for used in (np.zeros(3, dtype=bool), np.array([True, False, True])):
            np.testing.assert_allclose(code.costs(used), plain.costs(used))
    np.testing.assert_allclose(
        prior_bits(np.zeros(3), 0, np.array([3.0, 2, 5]), a), np.log2([3, 2, 5])
    )


def test_the_costs_of_section_7():
    donors = np.zeros((3, 10))
    donors[:, 3] = 1
    donors[0, 4] = donors[1, 9] = 1
    code = learnt_code(GROUPS, "switch", 2.0, donors, 1.0)
    group = [-np.log2(1 / 6), -np.log2(4 / 6), -np.log2(2 / 6)]  # K = 3, three donors
    feature = -np.log2(4 / 5)  # feature 3: three of three, two features in its group
    new = code.costs(np.zeros(3, dtype=bool))
    assert new[3] == pytest.approx(group[1] + feature + 2)
    assert new[9] == pytest.approx(group[2] - np.log2(2 / 8) + 2)
    used = code.costs(np.array([True, True, False]))
    assert used[3] == pytest.approx(min(group[1], 1 + np.log2(2)) + feature + 2)
    assert used[0] == pytest.approx(min(group[0], 1 + np.log2(2)) - np.log2(1 / 6) + 2)
    baseline = learnt_code(GROUPS, "ric", 2.0, donors, 1.0)
    assert baseline.costs(np.zeros(3, dtype=bool))[3] == pytest.approx(-np.log2(4 / 13) + 2)


def test_clusters_and_their_background():
    centres = np.eye(3)[[0, 0, 0, 1, 1]]
    vectors = np.vstack([centres, [[0.577, 0.577, 0.577]], np.eye(4)[3:, :3] + 0])
    similarity = cosines(vectors)
    np.testing.assert_allclose(similarity[:3, :3], 1)
    assert foreground_clusters(similarity, 0.3, 0.9).tolist() == [0, 0, 0, 1, 1, -1, -1]
    assert foreground_clusters(similarity, 0.0, 0.9).tolist() == [0, 0, 0, 1, 1, -1, -1]
    assert foreground_clusters(similarity, 0.0, 0.5).tolist()[:6] == [0, 0, 0, 0, 0, 0]
    assert (foreground_clusters(similarity, 1.0, 0.5) == -1).all()


def test_without_clusters_it_is_one_search_a_class():
    words = make_word_senses(n_words=3, random_state=0)
    model = TransFeat(background=1.0).fit(words.tasks, words.groups)
    assert all(donors.size == 0 for donors in model.donors_)
    for i, (w, c) in enumerate(model.senses_):
        X, y = words.tasks[w]
        indicator = (y == c).astype(float)
        kept = np.flatnonzero((X - X.mean(0)).T @ (indicator - indicator.mean()) > 1e-9)
        alone = MICGroup(words.groups[kept]).fit(X[:, kept], indicator)
        assert model.supports_[i].tolist() == sorted(kept[alone.order_])


@pytest.mark.parametrize("base", ["switch", "ric", MICGroup(search="forward-backward")])
def test_donors_are_richer_and_similar(base):
    words = make_word_senses(random_state=3)
    model = TransFeat(base, similarity=0.4).fit(words.tasks, words.groups)
    rows = [int((words.tasks[w][1] == c).sum()) for w, c in model.senses_]
    found = 0
    for i, donors in enumerate(model.donors_):
        found += donors.size
        assert all(rows[d] > rows[i] and model.clusters_[d] == model.clusters_[i] for d in donors)
        if not donors.size:
            np.testing.assert_array_equal(model.supports_[i], model.base_supports_[i])
    assert found > 0
    meanings = words.meanings.ravel()
    pairs = [(i, d) for i, donors in enumerate(model.donors_) for d in donors]
    assert np.mean([meanings[i] == meanings[d] for i, d in pairs]) > 0.5


@pytest.mark.slow
def test_transfer_helps_the_poor():
    """Paired over words with few rows and at least one donor."""
    gains = []
    for seed in range(6):
        words = make_word_senses(random_state=seed)
        models = [
            TransFeat(similarity=0.4, background=b).fit(words.tasks, words.groups)
            for b in (0.2, 1.0)
        ]
        for w in range(3, 12):
            X, y = words.tests[w]
            gains.append(models[0].score(X, y, task=w) - models[1].score(X, y, task=w))
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))


def test_sparse_tasks_give_the_same_classes():
    words = make_word_senses(n_words=4, random_state=1)
    thin = [(sp.csr_array(X), y) for X, y in words.tasks]
    one = TransFeat(similarity=0.4).fit(words.tasks, words.groups)
    other = TransFeat(similarity=0.4).fit(thin, words.groups)
    X = words.tests[2][0]
    np.testing.assert_array_equal(one.predict(X, 2), other.predict(sp.csr_array(X), 2))


def test_what_is_wrong_is_named():
    words = make_word_senses(n_words=2, random_state=0)
    (X, y), _ = words.tasks
    for tasks, words_ in (
        ([(X, y), (X[:, :5], y)], "same features"),
        ([(X, y), (X, np.zeros(len(y)))], "two classes"),
        ([X], "pairs"),
        ([(X, y[:-1])], "inconsistent"),
    ):
        with pytest.raises(ValueError, match=words_):
            TransFeat().fit(tasks)
    model = TransFeat().fit(words.tasks, words.groups)
    with pytest.raises(ValueError, match="one of the 2 tasks"):
        model.predict(X, 2)
    with pytest.raises(ValueError, match="500"):
        model.predict(X[:, :3], 1)
    with pytest.raises(ValueError, match="'switch' or 'ric'"):
        TransFeat(MICGroup(scheme="full")).fit(words.tasks)
