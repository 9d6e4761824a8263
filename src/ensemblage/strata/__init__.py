"""Diversity in the rows: strata, and an ensemble with one member on each."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.strata._bootstrap import BootstrapStrata
    from ensemblage.strata._contract import stratifier_checks
    from ensemblage.strata._describe_strata import describe_strata
    from ensemblage.strata._gaussian_start import pick_rows as pick_rows
    from ensemblage.strata._hiss import HISS
    from ensemblage.strata._intervals import HeldOutScores
    from ensemblage.strata._last_word import Spread as Spread
    from ensemblage.strata._last_word import learn_spread as learn_spread
    from ensemblage.strata._mixture import MixtureStrata
    from ensemblage.strata._partial_pooling import PartialPoolingClassifier
    from ensemblage.strata._pooling_base import Deviation
    from ensemblage.strata._pooling_regressor import PartialPoolingRegressor
    from ensemblage.strata._recalibrate import RecalibratedClassifier, recalibrate
    from ensemblage.strata._scaled_logistic import ScaledLogisticRegression
    from ensemblage.strata._scaled_ridge import ScaledRidge
    from ensemblage.strata._site_calibration import CalibrationPrior as CalibrationPrior
    from ensemblage.strata._site_calibration import as_log_proba as as_log_proba
    from ensemblage.strata._site_calibration import calibrate_site as calibrate_site
    from ensemblage.strata._source_codes import UNKNOWN as UNKNOWN
    from ensemblage.strata._source_codes import SourceCodes as SourceCodes
    from ensemblage.strata._source_codes import find_sources as find_sources
    from ensemblage.strata._source_codes import number_sources as number_sources
    from ensemblage.strata._source_codes import source_classes as source_classes
    from ensemblage.strata._sources import SourceStrata
    from ensemblage.strata._strata_choice import fit_held_out as fit_held_out
    from ensemblage.strata._strata_choice import fused_outputs as fused_outputs
    from ensemblage.strata._strata_description import (
        ColumnDifference,
        StrataDescription,
        StratumDescription,
    )
    from ensemblage.strata._strata_ensemble import StrataEnsembleClassifier
    from ensemblage.strata._strata_recipe import tuned_svm, tuned_svr
    from ensemblage.strata._strata_regressor import StrataEnsembleRegressor
    from ensemblage.strata._strata_targets import ClassTarget as ClassTarget
    from ensemblage.strata._strata_targets import NumberTarget as NumberTarget
    from ensemblage.strata._strata_targets import read_numbers as read_numbers
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "HISS",
    "BootstrapStrata",
    "ColumnDifference",
    "Deviation",
    "HeldOutScores",
    "MixtureStrata",
    "PartialPoolingClassifier",
    "PartialPoolingRegressor",
    "RecalibratedClassifier",
    "ScaledLogisticRegression",
    "ScaledRidge",
    "SourceStrata",
    "StrataDescription",
    "StrataEnsembleClassifier",
    "StrataEnsembleRegressor",
    "StratumDescription",
    "describe_strata",
    "recalibrate",
    "stratifier_checks",
    "tuned_svm",
    "tuned_svr",
]
