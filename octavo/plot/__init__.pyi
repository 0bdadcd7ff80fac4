# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.online import plot_feature_confidence as plot_feature_confidence
from octavo.plot.online import plot_final_rates as plot_final_rates
from octavo.plot.online import plot_online_curves as plot_online_curves
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
