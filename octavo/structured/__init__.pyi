# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.structured.margins.class_distance import class_distance_from_tree as class_distance_from_tree
from octavo.structured.margins.class_distance import ordinal_class_distance as ordinal_class_distance
from octavo.structured.margins.classifier import StructuredMarginClassifier as StructuredMarginClassifier
