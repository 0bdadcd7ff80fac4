# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.experts import plot_expert_weights as plot_expert_weights
from octavo.plot.experts import plot_fixed_eta_regret as plot_fixed_eta_regret
from octavo.plot.experts import plot_learning_rate as plot_learning_rate
from octavo.plot.experts import plot_regret as plot_regret
from octavo.plot.experts import plot_regret_bounds as plot_regret_bounds
from octavo.plot.perturbed_leaders import plot_fluctuation as plot_fluctuation
from octavo.plot.perturbed_leaders import plot_leader_probability as plot_leader_probability
from octavo.plot.perturbed_leaders import plot_normalized_regret as plot_normalized_regret
from octavo.plot.perturbed_leaders import plot_trading as plot_trading
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
