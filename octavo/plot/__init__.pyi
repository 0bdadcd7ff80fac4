# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.online import plot_feature_confidence as plot_feature_confidence
from octavo.plot.online import plot_final_rates as plot_final_rates
from octavo.plot.online import plot_online_curves as plot_online_curves
from octavo.plot.precision_paths import plot_edge_count as plot_edge_count
from octavo.plot.precision_paths import plot_graph as plot_graph
from octavo.plot.precision_paths import plot_graph_roc as plot_graph_roc
from octavo.plot.precision_paths import plot_l1_path as plot_l1_path
from octavo.plot.precision_paths import plot_lp_path as plot_lp_path
from octavo.plot.precision_paths import plot_time_by_size as plot_time_by_size
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
