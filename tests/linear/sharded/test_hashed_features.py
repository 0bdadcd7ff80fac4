"""Hashed features against their definitions, and the weighted degree kernel summed by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from octavo.linear import ConjunctionHasher, WeightedDegreeFeatures

ADS = np.array(
    [
        ["finance.yahoo.com", "etrade", 7],
        ["finance.yahoo.com", "acme", 7],
        ["mail.yahoo.com", "etrade", 9],
    ],
    dtype=object,
)


def places(row):
    return set(row.indices[row.indptr[0] : row.indptr[1]].tolist())


def bucket(text, n_bits):
    return murmurhash3_32(text.encode(), positive=True) % 2**n_bits


def test_conjunctions_are_hashes_of_the_papers_text():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ADS, columns=["publisher", "advertiser", "size"])
    features = ConjunctionHasher(24, [("publisher", "advertiser")]).fit_transform(frame)
    expected = {
        "publisher=finance.yahoo.com",
        "advertiser=etrade",
        "size=7",
        "publisher=finance.yahoo.com and advertiser=etrade",
    }
    assert features.shape == (3, 2**24)
    assert places(features[[0]]) == {bucket(text, 24) for text in expected}
    assert set(features.data) == {1.0}


def test_all_pairs_or_none():
    every = ConjunctionHasher(20).fit(ADS)
    assert every.transform(ADS).sum(axis=1).tolist() == [6.0] * 3
    # 2 + 2 + 2 single values; 3 + 2 + 3 pairs occur
    assert every.n_distinct_ == 14
    assert every.load_factor_ == 14 / 2**20
    assert ConjunctionHasher(20, None).fit_transform(ADS).sum() == 9
    some = ConjunctionHasher(20, [(0, 2)]).fit_transform(ADS)
    assert some.sum() == 12


def test_rows_do_not_depend_on_each_other():
    hasher = ConjunctionHasher(20).fit(ADS)
    whole = hasher.transform(ADS)
    for i in range(3):
        assert (hasher.transform(ADS[[i]]) != whole[[i]]).nnz == 0


def test_missing_values_set_nothing():
    table = np.array([["a", None], [np.nan, "b"], [None, None]], dtype=object)
    features = ConjunctionHasher(16).fit_transform(table)
    assert features.sum(axis=1).tolist() == [1.0, 1.0, 0.0]


def test_collisions_are_reported_and_count_once():
    table = np.arange(200).reshape(-1, 1)
    crowded = ConjunctionHasher(4, None).fit(table)
    assert crowded.load_factor_ == 200 / 16
    assert crowded.collision_rate_ == 1 - 16 / 200
    both = ConjunctionHasher(1).fit_transform(np.array([["x", "y", "z"]]))
    assert both.max() == 1.0
    roomy = ConjunctionHasher(24, None).fit(table)
    assert roomy.collision_rate_ == 0.0  # 200 keys in 2^24 places: by chance once in 840 tables


def test_single_features_agree_with_sklearns_hasher_in_number():
    """The same features fall together rarely and equally often under both hashes."""
    table = [[str(v)] for v in range(500)]
    ours = ConjunctionHasher(10, None).fit(np.array(table)).collision_rate_
    theirs = FeatureHasher(1024, input_type="string", alternate_sign=False).transform(
        [[f"x0={v[0]}"] for v in table]
    )
    assert ours == pytest.approx(1 - len(set(theirs.indices)) / 500, abs=0.08)


def test_bad_pairs_say_what_is_wrong():
    with pytest.raises(ValueError, match="names the column 'ad'; known are"):
        ConjunctionHasher(pairs=[("ad", 0)]).fit(ADS)
    with pytest.raises(ValueError, match="names the column 3"):
        ConjunctionHasher(pairs=[(0, 3)]).fit(ADS)
    with pytest.raises(ValueError, match="pairs of columns"):
        ConjunctionHasher(pairs=[(0, 1, 2)]).fit(ADS)


# --- weighted degrees ----------------------------------------------------------------------------


def kernel(a, b, degree, weighted):
    """Σ_k β_k Σ_l [a and b agree on the k letters from l]."""
    total = 0.0
    for k in range(1, degree + 1):
        beta = 2 * (degree - k + 1) / (degree * (degree + 1)) if weighted else 1.0
        total += beta * sum(a[i : i + k] == b[i : i + k] for i in range(len(a) - k + 1))
    return total


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text("ACGT", min_size=9, max_size=9), min_size=1, max_size=4),
    st.integers(1, 9), st.booleans(),
)  # fmt: skip
def test_dot_products_are_the_weighted_degree_kernel(sequences, degree, weighted):
    features = WeightedDegreeFeatures(degree, n_bits=20, weighted=weighted)
    table = features.fit_transform(sequences).toarray()
    exact = [[kernel(a, b, degree, weighted) for b in sequences] for a in sequences]
    np.testing.assert_allclose(table @ table.T, exact, atol=1e-9)


def test_layout_is_positions_times_buckets():
    model = WeightedDegreeFeatures(degree=4, n_bits=5).fit(["ACGTACGTAC"])
    # degrees 1 and 2 are exact (4, 16 <= 32); degrees 3 and 4 share 32 buckets
    assert model.n_features_out_ == 10 * 4 + 9 * 16 + 8 * 32 + 7 * 32
    assert model.exact_degree_ == 2
    table = model.transform(["ACGTACGTAC", "AAAAAAAAAA"])
    assert table.nnz == 2 * (10 + 9 + 8 + 7)
    assert table.has_canonical_format
    assert places(table[[1]]) >= {4 * k for k in range(10)}


def test_the_papers_number_of_nonzeros():
    """Degree 20 with about 3,300 nonzeros means sequences of about 175 letters."""
    model = WeightedDegreeFeatures().fit(["A" * 175])
    assert model.transform(["A" * 175]).nnz == 3310
    assert model.exact_degree_ == 6


def test_hashed_buckets_are_used_evenly():
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(4000)]
    model = WeightedDegreeFeatures(degree=8, n_bits=4).fit(sequences)
    table = model.transform(sequences)
    last = np.asarray(table.sum(axis=0)).ravel()[-16:]  # one position of degree 8
    assert last.sum() == 4000
    # 4,000 of 65,536 words in 16 buckets: 250 each, standard deviation 15
    assert np.abs(last - 250).max() < 4.5 * np.sqrt(4000 / 16 * 15 / 16)


def test_unknown_letters_and_lower_case():
    model = WeightedDegreeFeatures(degree=2).fit(["ACGT"])
    assert model.transform(["ACNT"]).nnz == 4  # A, C, T and AC
    assert (model.transform(["acgt"]) != model.transform(["ACGT"])).nnz == 0
    assert WeightedDegreeFeatures(3).fit_transform(["AC"]).nnz == 3  # shorter than the degree


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ACGT", "list of one or more"), ([], "list of one or more"), (["AC", "ACG"], "one length"),
        (["AC", np.nan], "NaN"), ([1, 2], "Expected texts, got 1"), ([""], "empty"),
    ],
)  # fmt: skip
def test_bad_sequences_say_what_is_wrong(given, words):
    with pytest.raises(ValueError, match=words):
        WeightedDegreeFeatures().fit(given)


def test_bad_options_say_what_is_wrong():
    with pytest.raises(ValueError, match="different letters"):
        WeightedDegreeFeatures(alphabet="ACa").fit(["AC"])
    with pytest.raises(ValueError, match="63 bits"):
        WeightedDegreeFeatures(degree=24, alphabet="ACDEFGHIKLMN").fit(["AC"])
    model = WeightedDegreeFeatures(degree=2).fit(["ACGT"])
    with pytest.raises(ValueError, match="length 4, got 3"):
        model.transform(["ACG"])
