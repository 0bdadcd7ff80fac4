# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.structured.output_search.estimator import OutputSpaceSearchClassifier as OutputSpaceSearchClassifier
from octavo.structured.output_search.features import joint_features as joint_features
from octavo.structured.output_search.hc_search import HCSearchClassifier as HCSearchClassifier
from octavo.structured.output_search.neighbours import flipbit_successors as flipbit_successors
from octavo.structured.output_search.neighbours import limited_discrepancy_successors as limited_discrepancy_successors
from octavo.structured.output_search.problems import OracleSearch as OracleSearch
from octavo.structured.output_search.problems import StructuredProblem as StructuredProblem
from octavo.structured.output_search.problems import oracle_search as oracle_search
from octavo.structured.output_search.problems import ranking_constraints as ranking_constraints
from octavo.structured.output_search.recurrent import RecurrentClassifier as RecurrentClassifier
from octavo.structured.output_search.report import SearchReport as SearchReport
from octavo.structured.output_search.report import search_report as search_report
