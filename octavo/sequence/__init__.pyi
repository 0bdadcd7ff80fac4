# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.sequence.high_order_crf import HighOrderCRF as HighOrderCRF
from octavo.sequence.high_order_semi_crf import HighOrderSemiCRF as HighOrderSemiCRF
from octavo.sequence.pattern_automaton import Boundary as Boundary
from octavo.sequence.pattern_automaton import PatternAutomaton as PatternAutomaton
from octavo.sequence.pattern_automaton import observed_patterns as observed_patterns
from octavo.sequence.segment_labels import EndMarkEncoder as EndMarkEncoder
from octavo.sequence.segment_labels import bio_to_segments as bio_to_segments
from octavo.sequence.segment_labels import labels_to_segments as labels_to_segments
from octavo.sequence.segment_labels import segments_to_bio as segments_to_bio
from octavo.sequence.segment_labels import segments_to_labels as segments_to_labels
from octavo.sequence.segment_metrics import RandomizationTest as RandomizationTest
from octavo.sequence.segment_metrics import approximate_randomization as approximate_randomization
from octavo.sequence.segment_metrics import segment_f1 as segment_f1
from octavo.sequence.sequence_features import window_features as window_features
