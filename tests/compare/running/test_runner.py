"""Failures, crashes, memory, the clock, Ctrl-C, resuming, and the same answer however it is run."""

import json
import os
import threading
import time
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from octavo.compare import InputError, compare, prepare
from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.folds import (
    MARGIN,
    Settings,
    choose_params,
    memory_limit,
    run_fold,
    seed_of,
    splits,
)
from octavo.compare.running.journal import Journal, method_key, problem_key
from octavo.compare.running.pools import DIED, Job, JoblibPool, ProcessPool, pool_for
from octavo.compare.running.runner import run, seconds_left
from octavo.compare.workbench import BudgetClock

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
FRAME = pd.DataFrame(X, columns=list("abc")).assign(
    kind=np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, "yes", "no")
)


class Odd(ClassifierMixin, BaseEstimator):
    """Guesses the first class, after something has happened."""

    def __init__(self, how="fail", mark=None):
        self.how = how
        self.mark = mark

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.how == "fail":
            raise ValueError("this method\ncannot do it")
        if self.how == "crash":
            os._exit(3)
        if self.how == "memory":
            np.ones((200_000, 200_000)) @ np.ones(200_000)
        if self.how == "sleep":
            time.sleep(60)
        if self.how == "second":  # fails on every fit but the first
            with open(self.mark, "a+") as file:
                file.write("x")
                length = file.tell()
            if length > 1:
                raise RuntimeError("only once")
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def linear():
    return Candidate("linear", "scikit-learn", LogisticRegression(), [{"C": 0.1}, {"C": 1.0}])


def guess():
    return Candidate("guess", "scikit-learn", DummyClassifier())


def forest():
    return Candidate(
        "forest", "scikit-learn", RandomForestClassifier(5), [{}, {"max_depth": 2}], "codes"
    )


def odd(how, **more):
    return Candidate(how, "octavo", Odd(how, **more))


def compared(methods, *, backend="sequential", **arguments):
    arguments = {"target": "kind", "cv": 3, "journal": False} | arguments
    with joblib.parallel_config(backend=backend):
        return compare(FRAME, methods=methods, **arguments)


def lines(result):
    return [
        repr((s.name, s.mean, s.low, s.high, s.p_value, s.scores, s.params))
        for s in result.leaderboard
    ]


def test_the_leaderboard_equals_cross_validation_by_hand():
    """One method with one setting: scikit-learn's own cross_val_score on the same folds."""
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    plain = Candidate("linear", "scikit-learn", LogisticRegression())
    result = compared([plain])
    problem = prepare(FRAME, "kind", cv=3)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    expected = cross_val_score(model, problem.X, problem.y, cv=splits(problem, 3, 0))
    np.testing.assert_allclose(result.best.scores, expected)


def test_settings_are_chosen_as_grid_search_does():
    from sklearn.model_selection import GridSearchCV

    problem = prepare(FRAME, "kind", cv=3)
    candidate = Candidate(
        "linear", "s", LogisticRegression(), [{"C": c} for c in (1e-6, 0.01, 1.0)]
    )
    outcome = run_fold(problem, candidate, 1, Settings(cv=3))
    train, test = splits(problem, 3, 0)[1]
    part = problem.take(train)
    seed = seed_of(0, "linear", 1)
    search = GridSearchCV(
        candidate.build(part, {}, seed),
        {"model__C": [1e-6, 0.01, 1.0]},
        cv=splits(part, 3, seed),
        scoring="accuracy",
    ).fit(part.X, part.y)
    assert outcome.params == {"C": search.best_params_["model__C"]}
    assert outcome.score == search.score(problem.take(test).X, problem.y[test])


def test_folds_hold_every_row_once_and_every_class():
    problem = prepare(FRAME, "kind")
    parts = splits(problem, 5, 3)
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(N))
    for train, test in parts:
        assert not set(train) & set(test)
        assert set(problem.y[test]) == {"no", "yes"}


def test_a_method_that_fails_is_listed_and_the_rest_go_on():
    result = compared([odd("fail"), linear(), guess()])
    assert [s.name for s in result.leaderboard] == ["linear", "guess"]
    (failure,) = result.failures
    assert failure.kind == "failed"
    assert "ValueError: this method cannot do it (test_runner.py, line" in failure.why
    assert len([1 for name, _ in result.log.outcomes if name == "fail"]) == 1  # not tried again


def test_nonsense_scores_are_failures():
    class Nan(Odd):
        def decision_function(self, X):
            return np.full(len(X), np.nan)

    result = compared([Candidate("nan", "octavo", Nan("ok")), guess()], score="roc_auc")
    assert [f.name for f in result.failures] == ["nan"]


def test_the_same_seed_gives_the_same_leaderboard_whatever_the_backend():
    methods = ["AROW,guess", forest(), linear()]
    first = compared(methods, random_state=3)
    assert lines(first) == lines(compared(methods, random_state=3, backend="threading", n_jobs=2))
    assert lines(first) != lines(compared(methods, random_state=4))


def test_processes_crashes_memory_and_determinism():
    """One process dies, one asks for 320 GB; the others' scores are those of a sequential run."""
    methods = [odd("crash"), linear(), odd("memory"), guess()]
    result = compared(methods, backend="loky", n_jobs=2, memory=2 << 30)
    assert lines(result) == lines(compared([linear(), guess()]))
    why = {f.name: f.why for f in result.failures}
    assert why["crash"] == DIED
    assert why["memory"].startswith("out of memory")


def test_memory_limits_are_taken_back():
    with pytest.raises(MemoryError), memory_limit(1 << 28):
        np.ones(1 << 28)
    assert np.ones(1 << 26).size == 1 << 26


class Clock:
    """A pool without work: each job takes a second of its own clock."""

    n_jobs = 1

    def __init__(self, interrupt_after=None):
        self.jobs, self.count, self.interrupt_after = [], 0, interrupt_after
        self.stopped = False

    @property
    def busy(self):
        return bool(self.jobs)

    def has_room(self):
        return not self.jobs

    def submit(self, job):
        self.jobs.append(job)

    def wait(self, timeout):
        from octavo.compare.running.folds import FoldOutcome

        if self.count == self.interrupt_after:
            raise KeyboardInterrupt
        self.count += 1
        job = self.jobs.pop()
        score = 0.5 + 0.1 * job.fold
        return [
            (
                job,
                FoldOutcome(
                    job.candidate.name, job.fold, score, seconds=1.0, n_train=80, n_test=40
                ),
            )
        ]

    def close(self):
        self.stopped = True


def test_folds_come_in_rounds_and_progress_is_told():
    told = []

    class Watch:
        def begin(self, total, done):
            told.append((total, done))

        def grow(self, total):
            told.append(total)

        def update(self, done, best, left):
            told.append((done, best, left))

    run([linear(), guess()], Settings(cv=3), Clock(), Journal(None), watcher=Watch())
    assert told[0] == (6, 0)
    assert told[1] == (1, ("linear", 0.5), 5.0)
    assert told[2][:1] == (2,)
    assert told[-1][0] == 6
    assert told[-1][2] == 0.0


def test_time_left_uses_what_each_method_took():
    from octavo.compare.running.folds import FoldOutcome
    from octavo.compare.running.runner import RunLog

    log = RunLog(
        {
            ("linear", 0): FoldOutcome("linear", 0, seconds=2.0),
            ("guess", 0): FoldOutcome("guess", 0, seconds=4.0),
        }
    )
    todo = [Job(linear(), 1), Job(guess(), 1), Job(odd("fail"), 0)]
    assert seconds_left(log, todo, 2) == (2 + 4 + 3) / 2
    assert seconds_left(RunLog(), todo, 2) is None


def test_ctrl_c_keeps_finished_folds_and_a_second_call_goes_on(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    pool = Clock(interrupt_after=3)
    stopped = run([linear(), guess()], Settings(cv=3), pool, journal)
    assert stopped.stopped == "interrupted"
    assert pool.stopped
    assert len(stopped.outcomes) == 3
    again = Clock()
    whole = run([linear(), guess()], Settings(cv=3), again, journal)
    assert (whole.resumed, again.count) == (3, 3)
    fresh = run([linear(), guess()], Settings(cv=3), Clock(), Journal(None))
    assert {k: v.score for k, v in whole.outcomes.items()} == {
        k: v.score for k, v in fresh.outcomes.items()
    }


def test_a_resumed_comparison_equals_one_that_never_stopped(tmp_path):
    path = tmp_path / "j.jsonl"
    whole = compared([forest(), linear(), guess()], journal=path)
    kept = path.read_text().splitlines()
    assert len(kept) == 9
    path.write_text("\n".join(kept[:4]) + "\n" + kept[4][:50])  # killed while it wrote
    resumed = compared([forest(), linear(), guess()], journal=path)
    assert resumed.log.resumed == 4
    assert lines(resumed) == lines(whole)
    assert any("4 finished folds were taken from an earlier run" in s.what for s in resumed.steps)
    assert compared([forest(), linear(), guess()], journal=path).log.resumed == 9
    assert compared([forest(), linear(), guess()], journal=path, resume=False).log.resumed == 0


def test_failures_are_tried_again_on_resume(tmp_path):
    path = tmp_path / "j.jsonl"
    compared([odd("fail"), guess()], journal=path)
    again = compared([odd("fail"), guess()], journal=path)
    assert again.log.resumed == 3
    assert again.failures[0].kind == "failed"


def test_journals_are_told_apart_by_data_settings_and_method():
    problem = prepare(FRAME, "kind")
    key = problem_key(problem, Settings())
    assert key == problem_key(prepare(FRAME.copy(), "kind"), Settings())
    changed = FRAME.copy()
    changed.loc[0, "a"] += 1e-9
    assert key != problem_key(prepare(changed, "kind"), Settings())
    for other in (Settings(cv=4), Settings(seed=1), Settings(score="f1_macro")):
        assert key != problem_key(problem, other)
    assert key == problem_key(problem, Settings(memory=1))
    one = linear()
    assert method_key(one) == method_key(linear())
    one.grid = [{"C": 5.0}]
    assert method_key(one) != method_key(linear())


def test_a_method_failing_later_is_a_failure_with_its_fold(tmp_path):
    result = compared([odd("second", mark=str(tmp_path / "m")), guess()])
    assert result.failures[0].why.endswith("(in fold 2)")


def test_the_time_budget_ends_what_is_running():
    # the method alone would take three minutes
    result = compared([guess(), odd("sleep")], backend="loky", n_jobs=1, time_budget=0.15)
    assert result.stopped == "time budget"
    kinds = {f.name: f.kind for f in result.failures}
    assert kinds["sleep"] == "unfinished"


def test_ctrl_c_in_the_midst_of_processes(tmp_path):
    """A real interrupt of this process while workers are busy."""
    import _thread

    path = tmp_path / "j.jsonl"

    def interrupt():
        until = time.monotonic() + 60
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.3)
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    result = compared([guess(), odd("sleep")], backend="loky", n_jobs=1, journal=path)
    assert result.stopped == "interrupted"
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["method"] for entry in kept] == ["guess"]


def test_methods_that_form_square_matrices_learn_from_a_part(monkeypatch):
    monkeypatch.setattr("octavo.compare.methods.baselines.QUADRATIC_ROWS", 50)
    result = compared("svm,linear")
    standing = {s.name: s for s in result.leaderboard}
    assert standing["SVC"].n_train == 50
    assert standing["SVC"].limited
    assert not standing["LogisticRegression"].limited
    assert (
        "trained on 50 rows a fold, because its cost grows with the square of the rows"
        in result.note(standing["SVC"])
    )


def test_pools_follow_the_users_choices(monkeypatch):
    problem = prepare(FRAME, "kind")
    assert isinstance(pool_for(problem, Settings(), None, None), ProcessPool)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        pool = pool_for(problem, Settings(), None, None)
    assert isinstance(pool, JoblibPool)
    assert pool.n_jobs == 3
    monkeypatch.setattr("octavo.compare.running.pools.DASK_SECONDS", 0.5)
    with pytest.raises(InputError, match="No Dask scheduler answers at"):
        pool_for(problem, Settings(), None, "tcp://127.0.0.1:9")


def test_dask_gives_the_same_leaderboard():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        over_dask = compared([linear(), odd("fail"), guess()], client=client)
        assert client.status == "running"
    assert lines(over_dask) == lines(compared([linear(), guess()]))
    assert over_dask.failures[0].name == "fail"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cv": 1}, "at least 2 folds"),
        ({"time_budget": 0}, "must be positive"),
        ({"score": "acuracy"}, "did you mean accuracy"),
        ({"methods": "AROV"}, "did you mean AROW"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        compare(FRAME, "kind", journal=False, **arguments)


def test_nothing_finished_is_said():
    result = compared([odd("fail")])
    assert result.leaderboard == []
    with pytest.raises(RuntimeError, match="No method finished a fold"):
        result.snippet()
    assert "fail" in repr(result)


@pytest.mark.parametrize("end", [b"\xff", b'{"key": "\xc3', b"\x00\x00"])
def test_a_bad_byte_at_the_end_of_a_journal_costs_no_finished_fold(tmp_path, end):
    path = tmp_path / "j.jsonl"
    settings = {"methods": "linear,guess", "cv": 3, "journal": path}
    first = compare(FRAME, "kind", **settings)
    with path.open("ab") as file:
        file.write(end)
    again = compare(FRAME, "kind", **settings)
    assert again.log.resumed == 6
    assert [s.mean for s in again.leaderboard] == [s.mean for s in first.leaderboard]


def test_a_journal_that_cannot_be_written_costs_no_fold(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot be kept"):
        result = compare(FRAME, "kind", methods="linear", cv=2, journal=tmp_path / "file" / "j")
    assert result.best.name == "LogisticRegression"


# --- values of rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss"])
def test_values_of_rows_have_the_score_as_their_mean(score):
    from sklearn.metrics import get_scorer

    problem = prepare(FRAME, "kind")
    outcome = run_fold(problem, linear(), 0, Settings(score=score))
    train, test = splits(problem, 5, 0)[0]
    model = linear().build(problem, outcome.params, seed_of(0, "linear", 0))
    part = problem.take(train)
    model.fit(part.X, part.y)
    expected = get_scorer(score)(model, problem.take(test).X, problem.y[test])
    assert len(outcome.values) == len(test)
    assert np.mean(outcome.values) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "score",
    ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_mean_squared_error"],
)
def test_the_spread_of_values_is_that_of_the_score(score):
    """The jackknife, which leaves out each row in turn, as oracle of the influence values."""
    from sklearn.dummy import DummyRegressor
    from sklearn.metrics import get_scorer

    from octavo.compare.running.scores import row_values

    rng = np.random.default_rng(0)
    # a spread other than 1, so that it counts whether something is divided by it
    frame = pd.DataFrame({"a": rng.normal(size=400), "y": 3 * rng.normal(size=400)})
    problem = prepare(frame, "y")
    model = DummyRegressor(strategy="constant", constant=0.9).fit(problem.X, problem.y)
    values = row_values(score, model, problem, model.predict(problem.X))
    judge = get_scorer(score)
    whole = judge(model, problem.X, problem.y)
    assert values.mean() == pytest.approx(whole)
    left = [
        judge(model, problem.X.drop(index=i), np.delete(problem.y, i))
        for i in range(problem.n_rows)
    ]
    jackknife = np.sqrt(399 / 400 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert values.std(ddof=1) / 20 == pytest.approx(jackknife, rel=0.02)


def test_the_spread_of_the_area_and_of_recalls_is_that_of_the_jackknife():
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    from octavo.compare.running.scores import row_values

    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(150, int), np.ones(50, int)]
    margin = np.round(rng.normal(size=200) + y, 1)  # with ties

    class Model:
        def decision_function(self, X):
            return margin

    frame = pd.DataFrame({"a": margin, "y": y})
    problem = prepare(frame, "y")
    area = row_values("roc_auc", Model(), problem, None)
    recall = row_values("balanced_accuracy", None, problem, (margin > 0.5).astype(int))
    for values, judge, given in (
        (area, roc_auc_score, margin),
        (recall, balanced_accuracy_score, margin > 0.5),
    ):
        assert values.mean() == pytest.approx(judge(y, given))
        left = np.array([judge(np.delete(y, i), np.delete(given, i)) for i in range(200)])
        jackknife = np.sqrt(199 / 200 * np.sum((left - left.mean()) ** 2))
        assert values.std(ddof=1) / np.sqrt(200) == pytest.approx(jackknife, rel=0.03)


# --- repeats, order and time ---------------------------------------------------------------------


def test_folds_are_repeated_as_asked_with_new_draws():
    once, twice = compared([linear(), guess()]), compared([linear(), guess()], repeats=2)
    assert (len(once.best.scores), len(twice.best.scores)) == (3, 6)
    assert twice.best.scores[:3] == once.best.scores
    assert twice.best.scores[3:] != once.best.scores
    assert any("drawn 2 times" in step.what for step in twice.steps)
    problem = prepare(FRAME, "kind")
    from octavo.compare.running.folds import outer_split

    tested = [outer_split(problem, Settings(cv=3), fold)[1] for fold in (3, 4, 5)]
    assert sorted(np.concatenate(tested)) == list(range(N))


def test_repeats_keep_the_promise_of_time(monkeypatch):
    """Each fold of the clock pool takes a second by its own account: two repeats fit in 10."""
    pool = Clock()
    settings = Settings(cv=3, repeats=10)
    run([linear()], settings, pool, Journal(None), promise=8.0)
    assert pool.count % 3 == 0
    assert pool.count == 30  # no real time passes
    pool = Clock()
    run([linear()], settings, pool, Journal(None), promise=2.9)
    assert pool.count == 3


def test_resumed_repeats_count_as_time_that_was_spent(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    settings = Settings(cv=3, repeats=2)
    run([linear()], settings, Clock(), journal, promise=100.0)
    again = Clock()
    log = run([linear()], Settings(cv=3, repeats=10), again, journal, promise=8.0)
    assert (log.resumed, again.count) == (6, 0)


def test_fewer_repeats_than_a_journal_holds_are_answered_alone(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    run([linear()], Settings(cv=3, repeats=4), Clock(), journal)
    log = run([linear()], Settings(cv=3, repeats=1), Clock(), journal)
    assert sorted(fold for _, fold in log.outcomes) == [0, 1, 2]


class Uneven(Clock):
    """Each method takes its own time."""

    times = {"linear": 3.0, "guess": 1.0, "forest": 2.0}

    def __init__(self):
        super().__init__()
        self.order = []

    def wait(self, timeout):
        ((job, outcome),) = super().wait(timeout)
        self.order.append((job.fold, job.candidate.name))
        outcome.seconds = self.times[outcome.method]
        return [(job, outcome)]


def test_the_quickest_come_first_once_their_times_are_known():
    pool = Uneven()
    run([linear(), guess(), forest()], Settings(cv=2), pool, Journal(None))
    assert [name for fold, name in pool.order if fold == 0] == ["linear", "guess", "forest"]
    assert [name for fold, name in pool.order if fold == 1] == ["guess", "forest", "linear"]


def test_a_method_that_failed_is_not_put_back():
    from octavo.compare.running.runner import Queue, RunLog

    queue = Queue([linear(), guess()], Settings(cv=2), RunLog())
    job = queue.pop()
    assert job.candidate.name == "linear"
    queue.drop("linear")
    queue.postpone(job)
    assert [queue.pop().candidate.name for _ in range(2)] == ["guess", "guess"]
    assert queue.jobs == []


def test_a_postponed_method_waits_until_the_others_have_three_folds():
    from octavo.compare.running.runner import Queue, RunLog

    queue = Queue([linear(), guess()], Settings(cv=5), RunLog())
    queue.postpone(queue.pop())
    order = [queue.pop() for _ in range(len(queue.jobs))]
    names = [job.candidate.name for job in order]
    assert names[:3] == ["guess"] * 3
    assert names[3:5] == ["linear", "guess"]


def test_three_folds_of_the_methods_begun_come_before_further_methods():
    from octavo.compare.running.folds import FoldOutcome
    from octavo.compare.running.runner import Queue, RunLog

    log = RunLog()
    queue = Queue([linear(), guess(), forest()], Settings(cv=4), log)
    for seconds in (2.0, 1.0):
        job = queue.pop()
        log.outcomes[job.candidate.name, 0] = FoldOutcome(job.candidate.name, 0, seconds=seconds)
    queue.exploring = False
    order = [(job.fold, job.candidate.name) for job in (queue.pop() for _ in range(6))]
    assert order[:4] == [(1, "guess"), (1, "linear"), (2, "guess"), (2, "linear")]
    assert order[4] == (0, "forest")


def test_many_methods_still_have_time_for_a_fold():
    from octavo.compare.running.runner import allowance

    assert allowance(None, 5, 2) == np.inf
    assert allowance(60.0, 2, 1) == pytest.approx(10.0)  # a third of its share
    assert allowance(60.0, 46, 2) == pytest.approx(5.0)


class OneProcess:
    """A pool of one process in real time, whose methods take the time of their names."""

    n_jobs = 1
    times = {"linear": 0.05, "guess": 0.05, "sleep": 60.0}

    def __init__(self):
        self.job = None
        self.stops = 0

    @property
    def busy(self):
        return self.job is not None

    def has_room(self):
        return self.job is None

    def submit(self, job):
        self.job, self.until = job, time.monotonic() + self.times[job.candidate.name]

    def wait(self, timeout):
        from octavo.compare.running.folds import FoldOutcome

        left = self.until - time.monotonic()
        time.sleep(max(0.0, min(timeout, left)))
        if left > timeout:
            return []
        job, self.job = self.job, None
        return [(job, FoldOutcome(job.candidate.name, job.fold, 0.5, seconds=0.05))]

    def stop(self):
        self.job = None
        self.stops += 1

    close = stop


@pytest.mark.slow
def test_a_slow_method_does_not_starve_the_rest():
    pool, begin = OneProcess(), time.monotonic()
    methods = [odd("sleep"), linear(), guess()]
    log = run(methods, Settings(cv=3), pool, Journal(None), budget=6.0)
    took = time.monotonic() - begin
    assert {name for name, _ in log.outcomes} == {"linear", "guess"}
    assert len(log.outcomes) == 6
    assert log.stopped == "time budget"
    assert pool.stops == 2  # it gave way once; the end is the other
    assert 6.0 <= took <= 6.6


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    import signal
    import subprocess
    import sys

    mark = tmp_path / "worker"
    script = tmp_path / "run.py"
    script.write_text(
        "import os, time\n"
        "from octavo.compare.running.pools import ProcessPool, _ignore_interrupts\n"
        "from joblib.externals.loky import ProcessPoolExecutor\n"
        "def told():\n"
        f"    open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(300)\n"
        "if __name__ == '__main__':\n"
        "    ProcessPoolExecutor(1, initializer=_ignore_interrupts).submit(told).result()\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": root})
    until = time.monotonic() + 90
    while not (mark.exists() and mark.read_text()) and time.monotonic() < until:
        time.sleep(0.2)
    worker = int(mark.read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()

    def lives():
        try:
            with open(f"/proc/{worker}/stat") as stat:
                return stat.read().split()[2] != "Z"
        except FileNotFoundError:
            return False

    until = time.monotonic() + 20
    while lives() and time.monotonic() < until:
        time.sleep(0.2)
    assert not lives()


def test_the_budget_keeps_time_for_what_comes_after_the_folds():
    early = BudgetClock(time.monotonic() - 8.0, afterwards=0.5)
    assert early.for_folds(60.0) == pytest.approx(56.0, abs=0.5)
    assert early.for_folds(8.0) == 6.0  # at most a quarter
    assert BudgetClock().for_folds(60.0) == pytest.approx(60.0, abs=0.5)


def test_preparation_counts_in_the_budget():
    pool = Clock()
    log = run(
        [linear()], Settings(cv=3), pool, Journal(None), budget=10.0, started=time.monotonic() - 11
    )
    assert (log.stopped, pool.count) == ("time budget", 0)


@pytest.mark.parametrize(("ahead", "chosen"), [(0.9, 0.1), (1.1, 10.0)])
def test_others_must_beat_simple_settings_by_a_margin(monkeypatch, ahead, chosen):
    """Among simple settings the best is taken; another only where it is ahead by the margin."""
    problem = prepare(FRAME, "kind")
    means = {1.0: 0.6, 0.1: 0.7, 10.0: 0.7 + ahead * MARGIN / np.sqrt(N)}
    monkeypatch.setattr(
        "octavo.compare.running.folds.judge",
        lambda model, *_, **__: SimpleNamespace(score=means[model.C]),
    )
    grid = [{"C": C} for C in means]
    method = Candidate("linear", "octavo", LogisticRegression(), grid, simple=2)
    assert choose_params(method, problem, Settings(), 0) == {"C": chosen}
    free = Candidate("linear", "octavo", LogisticRegression(), grid)
    assert choose_params(free, problem, Settings(), 0) == {"C": 10.0}
