# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.distributed import plot_node_times as plot_node_times
from octavo.plot.distributed import plot_speedup as plot_speedup
from octavo.plot.distributed import plot_suboptimality as plot_suboptimality
from octavo.plot.distributed import plot_time_split as plot_time_split
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
