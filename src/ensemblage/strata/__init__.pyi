from ._bootstrap import BootstrapStrata as BootstrapStrata
from ._checks import stratifier_checks as stratifier_checks
from ._describe import ColumnDifference as ColumnDifference
from ._describe import StrataDescription as StrataDescription
from ._describe import StratumDescription as StratumDescription
from ._describe import describe_strata as describe_strata
from ._display import StrataDisplay as StrataDisplay
from ._ensemble import StrataEnsembleClassifier as StrataEnsembleClassifier
from ._ensemble import StrataEnsembleRegressor as StrataEnsembleRegressor
from ._ensemble import fit_with_out_of_fold as fit_with_out_of_fold
from ._ensemble import paper_ensemble as paper_ensemble
from ._hiss import HISS as HISS
from ._linear_members import ScaledLogisticRegression as ScaledLogisticRegression
from ._linear_members import ScaledRidge as ScaledRidge
from ._mixture import KMeansStrata as KMeansStrata
from ._mixture import MixtureStrata as MixtureStrata
from ._targets import ClassTarget as ClassTarget
from ._targets import NumericTarget as NumericTarget
from ._targets import tuned_svm as tuned_svm
from ._targets import tuned_svr as tuned_svr

__all__ = [
    "HISS",
    "BootstrapStrata",
    "KMeansStrata",
    "MixtureStrata",
    "ScaledLogisticRegression",
    "ScaledRidge",
    "StrataDisplay",
    "StrataEnsembleClassifier",
    "StrataEnsembleRegressor",
    "describe_strata",
    "stratifier_checks",
]
