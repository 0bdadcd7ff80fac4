"""Small tables, once and in this process: tests that want repeats or other processes say so."""

import joblib
import pytest


@pytest.fixture(autouse=True)
def no_repeats(monkeypatch):
    """Keep small tables from being repeated for two minutes."""
    monkeypatch.setattr("octavo.compare.workbench.PROMISE", 0.0)


@pytest.fixture(autouse=True)
def in_this_process(request):
    """Fit without new processes, each of which imports everything; `running` tests those."""
    if ".running." in request.module.__name__:
        yield
        return
    with joblib.parallel_config(backend="sequential"):
        yield
