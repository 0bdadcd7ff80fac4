import numpy as np
import pytest

from octavo.engine.mcmc.chains import chain_generators, check_schedule, kept_sweeps, run_chains


def first_draws(rng):
    return rng.standard_normal(5)


@pytest.mark.slow
def test_draws_do_not_depend_on_the_number_of_processes():
    one = run_chains(first_draws, 3, random_state=4)
    two = run_chains(first_draws, 3, random_state=4, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one[0], one[1])


def test_a_random_state_moves_on_between_runs():
    state = np.random.RandomState(0)
    one, two = (run_chains(first_draws, 1, random_state=state) for _ in range(2))
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(one, run_chains(first_draws, 1, random_state=0))


def test_chains_of_one_run_are_uncorrelated():
    draws = [rng.standard_normal(4000) for rng in chain_generators(0, 6)]
    off = np.corrcoef(draws)[np.triu_indices(6, 1)]
    assert np.abs(off).max() < 5 / np.sqrt(4000)


def test_each_finished_chain_is_told():
    told = []
    run_chains(first_draws, 3, random_state=0, finished=lambda: told.append(1))
    assert len(told) == 3


@pytest.mark.parametrize(("n_iter", "burn_in", "thin"), [(10, 0, 1), (10, 4, 3), (7, 6, 1)])
def test_a_schedule_counts_what_it_keeps(n_iter, burn_in, thin):
    schedule = check_schedule(n_iter, burn_in, thin)
    kept = [t for t in range(n_iter) if schedule.keeps(t)]
    assert len(kept) == schedule.n_kept
    assert kept == kept_sweeps(schedule).tolist()
    assert min(kept) >= burn_in


@pytest.mark.parametrize(
    ("numbers", "words"),
    [((10, 10, 1), "n_iter=10 and burn_in=10"), ((10, 8, 3), "thin must be at most")],
)
def test_a_schedule_without_draws_is_refused(numbers, words):
    with pytest.raises(ValueError, match=words):
        check_schedule(*numbers)
