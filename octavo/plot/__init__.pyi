# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.plot.label_patterns import plot_accuracy_by_order as plot_accuracy_by_order
from octavo.plot.label_patterns import plot_label_marginals as plot_label_marginals
from octavo.plot.label_patterns import plot_pattern_automaton as plot_pattern_automaton
from octavo.plot.label_patterns import plot_top_patterns as plot_top_patterns
from octavo.plot.paths import plot_decoding_gain as plot_decoding_gain
from octavo.plot.paths import plot_decoding_tradeoff as plot_decoding_tradeoff
from octavo.plot.paths import plot_path_family as plot_path_family
from octavo.plot.paths import plot_posterior_path as plot_posterior_path
from octavo.plot.ratings import plot_calibration as plot_calibration
from octavo.plot.ratings import plot_error_by_experience as plot_error_by_experience
from octavo.plot.ratings import plot_head_to_head as plot_head_to_head
from octavo.plot.ratings import plot_leaderboard as plot_leaderboard
from octavo.plot.ratings import plot_rating_history as plot_rating_history
from octavo.plot.ratings import plot_win_curves as plot_win_curves
