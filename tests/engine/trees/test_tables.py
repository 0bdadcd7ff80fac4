"""Tables on junction trees against the full joint table."""

import numpy as np
import pytest

from octavo.engine.trees.tables import TableTree


def joint_table(cardinalities, factors):
    joint = np.zeros(cardinalities)
    for scope, table in factors:
        shape = [cardinalities[v] if v in scope else 1 for v in range(len(cardinalities))]
        joint = joint + table.reshape(shape)
    return joint


def random_factors(cardinalities, n_factors, seed):
    rng = np.random.default_rng(seed)
    factors = []
    for _ in range(n_factors):
        size = int(rng.integers(1, 4))
        scope = sorted(rng.choice(len(cardinalities), size, replace=False).tolist())
        factors.append((scope, rng.standard_normal([cardinalities[v] for v in scope])))
    return factors


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_factors", [1, 5, 12])
def test_partition_and_marginals_are_those_of_the_joint(seed, n_factors):
    cardinalities = np.array([2, 3, 2, 2, 4, 2, 3])
    factors = random_factors(cardinalities, n_factors, seed)
    tree = TableTree.of(cardinalities, [scope for scope, _ in factors])
    log_partition, beliefs = tree.calibrate(factors)
    joint = np.exp(joint_table(cardinalities, factors))
    assert log_partition == pytest.approx(np.log(joint.sum()), abs=1e-10)
    joint /= joint.sum()
    for scope, _ in factors:
        gone = tuple(v for v in range(7) if v not in scope)
        np.testing.assert_allclose(tree.marginal(beliefs, scope), joint.sum(gone), atol=1e-12)


def test_evidence_is_a_factor_that_forbids():
    cardinalities = np.array([2, 2, 2])
    factors = random_factors(cardinalities, 6, 0)
    seen = ([1], np.array([-np.inf, 0.0]))
    tree = TableTree.of(cardinalities, [scope for scope, _ in factors])
    log_partition, beliefs = tree.calibrate([*factors, seen])
    joint = np.exp(joint_table(cardinalities, factors))[:, 1, :]
    assert log_partition == pytest.approx(np.log(joint.sum()), abs=1e-12)
    np.testing.assert_allclose(tree.marginal(beliefs, [0]), joint.sum(1) / joint.sum())


def test_a_table_too_large_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match=r"a table of 1.07e\+09 entries"):
        TableTree.of(np.full(15, 4), [range(15)])
