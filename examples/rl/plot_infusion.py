"""
Keep a simulated patient asleep
===============================

Simulation, not a medical device. A policy is learnt in one simulated patient, and tried beside a
PID controller and an open loop on patients who differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_infusion, plot_infusion_policy, plot_trial
from octavo.rl import (
    CountedModelPolicy,
    EffectSiteTCI,
    PIDController,
    PropofolEnv,
    WatkinsQLambda,
    run_trial,
    simulate_patients,
)

env = PropofolEnv(exploring=True)
agent = WatkinsQLambda(random_state=0).fit(env, 5000)
print(f"{agent.n_steps_:,} steps, last step size {agent.alphas_[-1]:.2g}")

# %%
# Four hours of one patient: arousing and depressing stimuli are shaded.

plot_infusion(simulate_patients(agent, random_state=1))

# %%
# The policy is a table that can be read: the rate for every error and change.

plot_infusion_policy(agent)

# %%
# The same forty patients for every controller, beside the paper's criteria.

controllers = {
    "Q(λ)": agent,
    "counted": CountedModelPolicy(random_state=0).fit(env, 5000),
    "PID": PIDController(),
    "open loop": EffectSiteTCI(),
}
trials = {name: run_trial(c, 40, random_state=2) for name, c in controllers.items()}
for name, trial in trials.items():
    print(f"{name:10} MDAPE {np.nanmedian(trial['mdape']):.2f} %")
plot_trial(trials)
plt.show()
