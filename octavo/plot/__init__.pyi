# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.privacy import plot_decision_regions as plot_decision_regions
from octavo.plot.privacy import plot_error_by_epsilon as plot_error_by_epsilon
from octavo.plot.privacy import plot_error_by_penalty as plot_error_by_penalty
from octavo.plot.privacy import plot_error_by_size as plot_error_by_size
from octavo.plot.privacy import plot_privacy_budget as plot_privacy_budget
from octavo.plot.privacy import plot_privacy_loss as plot_privacy_loss
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
