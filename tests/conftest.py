"""Settings of the process, made before scipy is imported and children are started."""

import contextlib
import gc
import os
import signal

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn's array API checks need it
# A shell starts what runs in its background deaf to Ctrl-C, and so are its children; tests of
# interrupts need to be heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Import dcor before workers start: it compiles on import, and two that do so at once crash.

    Only slow tests use it.
    """
    if not hasattr(config, "workerinput") and config.getoption("markexpr") != "not slow":
        with contextlib.suppress(ImportError):
            import dcor  # noqa: F401


def pytest_collection_finish():
    """Keep forty thousand tests out of the collector's sight: they cost it a second a time."""
    gc.collect()
    gc.freeze()
