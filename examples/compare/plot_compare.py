"""
Which method suits this table?
==============================

`octavo.compare.compare` cleans a table, finds its task and runs methods under nested
cross-validation. Here a medical table with gaps and a category is made; five methods try to
predict an outcome that depends on two columns and their product.
"""

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from octavo.compare import compare
from octavo.compare.results.pictures import draw_intervals

rng = np.random.default_rng(0)
n = 300
age, dose = rng.uniform(20, 80, n), rng.exponential(2.0, n)
ward = rng.choice(["north", "south", "west"], n)
odds = 0.05 * (age - 50) + 0.8 * (dose - 2) + 0.05 * (age - 50) * (dose - 2) + (ward == "west")
frame = pd.DataFrame({"patient": np.arange(n), "age": age.round(), "dose": dose, "ward": ward})
frame["recovered"] = np.where(odds + rng.logistic(size=n) > 0, "yes", "no")
frame.loc[rng.random(n) < 0.1, "dose"] = np.nan

# %%
# Every step is told: the column that numbers the patients goes, gaps are filled inside the folds.

with joblib.parallel_config(backend="sequential"):  # without it, work goes to processes
    result = compare(
        frame, "recovered", methods="linear,svm,boosting,AROW,guess", journal=False, random_state=0
    )
for step in result.steps:
    print("-", step.what)

# %%
# The interval of a mean over folds accounts for their common training rows; the star marks
# methods whose difference from the best could be chance.

print(result)
figure, caption = draw_intervals(result)
plt.show()

# %%
# The code that refits the winner:

print(result.snippet())
