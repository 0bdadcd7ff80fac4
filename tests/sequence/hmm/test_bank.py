"""Many HMMs in padded arrays, and sequences in parts that fit in memory."""

import numpy as np

from octavo.sequence.hmm.bank import chunks_of_sequences, pack_hmms, row_scores, unpack_hmms
from tests.sequence.models import random_hmm, same_hmm

KINDS = ["diag", "full", "spherical"]


def test_packing_pads_and_unpacking_takes_it_off():
    rng = np.random.default_rng(6)
    for kind in KINDS:
        hmms = [random_hmm(rng, S, M, 2, kind) for S, M in [(1, 3), (3, 1), (2, 2)]]
        bank = pack_hmms(hmms)
        assert bank.weights.shape == (3, 3, 3)
        for before, after in zip(hmms, unpack_hmms(bank)):
            same_hmm(before, after)
        expected = sum(
            h.n_states
            - 1
            + h.n_states * (h.n_states - 1)
            + h.n_states * (h.n_mix - 1)
            + h.n_states * h.n_mix * {"diag": 4, "full": 5, "spherical": 3}[kind]
            for h in hmms
        )
        assert bank.n_parameters == expected


def test_chunks_keep_sequences_whole():
    rows, lengths = np.arange(12), np.array([5, 1, 4, 2])
    for room in (1, 5, 6, 100):
        parts = chunks_of_sequences(rows, lengths, 1, room)
        np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), rows)
        np.testing.assert_array_equal(np.concatenate([some for _, some in parts]), lengths)
        assert all(part.size == some.sum() for part, some in parts)
        assert all(part.size <= room or some.size == 1 for part, some in parts)


def test_a_bank_scores_rows_as_each_of_its_models_does():
    rng = np.random.default_rng(9)
    for kind in [*KINDS, "discrete"]:
        hmms = [random_hmm(rng, S, 1 if kind == "discrete" else 2, 3, kind) for S in (2, 3)]
        rows = rng.integers(0, 3, 20) if kind == "discrete" else rng.normal(size=(20, 3))
        found = row_scores(pack_hmms(hmms), rows)
        for k, hmm in enumerate(hmms):
            np.testing.assert_allclose(found[:, k, : hmm.n_states], hmm.log_emission(rows))
