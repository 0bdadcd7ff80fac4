"""The referee and its measures of agreement."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import mutual_info_score

from octavo.cluster import (
    ClusteringReferee,
    ExternalClusterer,
    classification_accuracy,
    classification_proportion,
    variation_of_information,
)

LABELS = st.lists(st.integers(0, 3), min_size=8, max_size=8)


def entropy(labels):
    p = np.unique(labels, return_counts=True)[1] / len(labels)
    return -np.sum(p * np.log(p))


class TestAgreement:
    @settings(max_examples=60, deadline=None)
    @given(LABELS, LABELS, LABELS)
    def test_variation_of_information_is_a_metric(self, a, b, c):
        vi = variation_of_information
        assert_allclose(vi(a, b), entropy(a) + entropy(b) - 2 * mutual_info_score(a, b), atol=1e-12)
        assert_allclose(vi(a, b), vi(b, a), atol=1e-12)
        assert vi(a, a) == 0
        assert vi(a, c) <= vi(a, b) + vi(b, c) + 1e-12

    @settings(max_examples=40, deadline=None)
    @given(LABELS, LABELS)
    def test_accuracy_by_trying_every_matching(self, a, b):
        from itertools import permutations

        best = max(np.mean([x == m[y] for x, y in zip(a, b)]) for m in permutations(range(4)))
        assert_allclose(classification_accuracy(a, b), best)
        assert classification_proportion(a, b) >= best - 1e-12

    def test_errors(self):
        with pytest.raises(ValueError, match="same points"):
            variation_of_information([0, 1], [0])
        with pytest.raises(ValueError, match="no points"):
            classification_accuracy([], [])


def small(**changes):
    options = {"n_samples": 60, "n_components": 3, "n_features": 2, "overlaps": [0.1, 0.001]}
    options |= {"n_datasets": 3} | changes
    contestants = {"Ward": AgglomerativeClustering(), "k-means": KMeans(n_init=2)}
    return ClusteringReferee(contestants, **options)


class TestReferee:
    def test_table(self):
        referee = small(metrics=["adjusted_rand", "variation_of_information"])
        table = referee.run()
        assert len(table) == 2 * 3 * 2 * 2
        assert set(table.clusterer) == {"Ward", "k-means"}
        summary = referee.summary().set_index(["overlap", "clusterer", "metric"])
        easy, hard = (summary.loc[(x, "Ward", "adjusted_rand"), "median"] for x in (0.001, 0.1))
        assert easy > hard
        assert (summary.failed == 0).all()

    @pytest.mark.slow
    def test_parallel_runs_give_the_same_table(self):
        one, two = (small(n_jobs=n).run().drop(columns="seconds") for n in (1, 2))
        assert one.equals(two)

    def test_clusterers_see_the_same_data(self):
        seen = []
        ClusteringReferee(
            {name: lambda X, k: seen.append(X) or np.zeros(len(X)) for name in "ab"},
            n_datasets=2, overlaps=0.05, n_samples=40, n_components=2, n_features=2,
        ).run()  # fmt: skip
        assert_allclose(seen[0], seen[1])
        assert not np.array_equal(seen[0], seen[2])

    def test_a_failure_is_told_and_the_others_go_on(self):
        def broken(X, k):
            raise RuntimeError("out of luck")

        referee = ClusteringReferee(
            {"broken": broken, "k-means": KMeans(n_init=2)}, n_datasets=2, overlaps=0.05
        )
        table = referee.run()
        bad = table[table.clusterer == "broken"]
        assert bad.score.isna().all()
        assert bad.error.str.contains("out of luck").all()
        assert table[table.clusterer == "k-means"].score.notna().all()
        assert referee.summary().set_index("clusterer").failed["broken"] == 2

    def test_external_program(self):
        program = (
            "import sys; rows = open(sys.argv[1]).read().split(); "
            "open(sys.argv[2], 'w').write('\\n'.join("
            "str(int(float(r.split(',')[0]) > 0)) for r in rows))"
        )
        clusterer = ExternalClusterer(f'{sys.executable} -c "{program}" {{data}} {{labels}} {{k}}')
        assert list(clusterer([[1.0, 2], [-1, 2]], 2)) == [1, 0]
        with pytest.raises(RuntimeError, match="status"):
            ExternalClusterer(f'{sys.executable} -c "raise SystemExit(3)"')([[0.0]], 1)
        with pytest.raises(RuntimeError, match="no file"):
            ExternalClusterer(f'{sys.executable} -c "pass"')([[0.0]], 1)

    def test_bad_requests(self):
        with pytest.raises(ValueError, match="nobody"):
            ClusteringReferee({})
        with pytest.raises(ValueError, match="kind"):
            small(kind="mean")
        with pytest.raises(ValueError, match="adjusted_rand"):
            small(metrics="ajusted_rand")
        with pytest.raises(AttributeError, match="run"):
            small().summary()
