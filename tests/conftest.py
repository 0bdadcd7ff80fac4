"""Settings that must be made before scipy is imported."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn's array API checks need it
