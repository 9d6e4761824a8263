"""Tables 2 and 3 of the HISS paper: classification errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from ensemblage.datasets import make_multi_source
from ensemblage.fusion import MemberStackingClassifier
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    by_repeat,
    closeness,
    failed,
    friedman,
    grouped,
    mean_rows,
    win_counts,
)
from ensemblage.strata import MixtureStrata, StrataEnsembleClassifier, paper_ensemble
from ensemblage.studies import CellResult, ResultTable, recorded_warnings

Array = NDArray[Any]


# Suffix of names of generated datasets.
STAND_IN = "-stand-in"
# Number of features in the paper's Table 1, and agreement of the clips' rules, by stand-in.
SCENES = {"indoor": (190, 0.75), "outdoor": (126, 0.85)}
# Number of video clips, which are the sources.
N_CLIPS = 7
# Number of latent factors of a stand-in.
N_FACTORS = 12
# Number of rows of pendigits, as in the paper.
PENDIGITS_ROWS = 2000
# Number of members of each ensemble.
N_MEMBERS = 20


class SplitParams(msgspec.Struct, frozen=True):
    """One method on one split of one dataset."""

    dataset: str
    method: str
    repeat: int
    seed: int


def make_methods(seed: int, n_rows: int) -> dict[str, Any]:
    """Unfitted classifier of each column, for ``n_rows`` training rows."""
    linear = SVC(kernel="linear")
    bagging = BaggingClassifier(linear, n_estimators=N_MEMBERS, random_state=seed)
    # boosting weights sum to one; C scales their sum to the number of rows
    adaboost = AdaBoostClassifier(
        SVC(kernel="linear", C=n_rows), n_estimators=N_MEMBERS, random_state=seed
    )

    def clusters(n_strata: int) -> Any:
        return StrataEnsembleClassifier(
            MixtureStrata(n_strata), linear, fusion="stacking", final_estimator=SVC(),
            cv="in-sample", random_state=seed,
        )  # fmt: skip

    return {
        "svm": linear,
        "adaboost": adaboost,
        "bagging": bagging,
        "hiss": paper_ensemble(random_state=seed)[-1],
        "bagging-stacked": MemberStackingClassifier(bagging, SVC()),
        "adaboost-stacked": MemberStackingClassifier(adaboost, SVC()),
        "em-3": clusters(3),
        "em-10": clusters(10),
        "rbf-svm": make_pipeline(StandardScaler(), SVC()),
        "majority": DummyClassifier(),
    }


def make_video_standin(
    scene: str,
    *,
    n_samples_per_source: int = 500,
    return_sources: bool = False,
    random_state: Any = None,
) -> Any:
    """Generate a stand-in for the paper's video images, which are not public.

    Twelve latent factors come from ``make_multi_source`` with seven sources ("clips") whose rules
    partly agree. All features are linear in the factors, so they are correlated as image features
    are; each clip has its own mean, scale and noise. Parameters were chosen so that the error of a
    linear support vector machine is about that of the paper.
    """
    rng = check_random_state(random_state)
    n_features, agreement = SCENES[scene]
    factors, y, sources = make_multi_source(
        N_CLIPS, N_CLIPS * n_samples_per_source, N_FACTORS, separation=0.0, agreement=agreement,
        noise=0.1, random_state=rng, return_sources=True,
    )  # fmt: skip
    mixing = rng.standard_normal((N_FACTORS, n_features))
    mixing = mixing / np.linalg.norm(mixing, axis=-2, keepdims=True)
    means = rng.standard_normal((N_CLIPS, n_features))
    scales, noise = rng.uniform(0.6, 1.4, N_CLIPS), rng.uniform(0.2, 1.0, N_CLIPS)
    X = means[sources] + scales[sources, None] * (factors @ mixing)
    X += noise[sources, None] * rng.standard_normal(X.shape)
    return (X, y, sources) if return_sources else (X, y)


def binary_problem(name: str, data_dir: str | None = None) -> tuple[Array, Array]:
    """Load a dataset as the paper uses it, or generate its stand-in.

    Rows are not scaled; the target is 1 for the most frequent class, else 0.
    """
    if name.endswith(STAND_IN):
        X, y = make_video_standin(name.removesuffix(STAND_IN), random_state=0)
        return X, y
    dataset = paper_dataset(name, data_dir)
    X, labels = dataset.X.astype(float), dataset.y
    if name == "pendigits":
        rows = np.random.default_rng(0).permutation(len(X))[:PENDIGITS_ROWS]
        X, labels = X[rows], labels[rows]
    names, counts = np.unique(labels, return_counts=True)
    return X, (labels == names[counts.argmax()]).astype(int)


def split_error(problem: tuple[Array, Array], method: str, seed: int) -> float:
    """Test error of a method on one random split."""
    X_train, X_test, y_train, y_test = train_test_split(*problem, test_size=0.3, random_state=seed)
    model = make_pipeline(MinMaxScaler(), make_methods(seed, len(y_train))[method])
    with recorded_warnings():  # strata with a single class are expected
        return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


class HissTable(PaperTable[tuple[int, int]]):
    """Errors of the paper's columns and of additional ones; tables share the cells of HISS.

    A scale is the number of splits of public datasets and of stand-ins.
    """

    scales = Scales((3, 3), (10, 3), (10, 10))
    quick_datasets = ("ecoli", "pendigits", "glass", "yeast", "vehicle")
    family = "hiss-tables"
    own_columns: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the paper, then additional ones."""
        return (*self.printed.columns, *self.own_columns)

    def grid(self, scope: PaperScope) -> Iterator[SplitParams]:
        """Ordered by repeat, so that a partial run has complete rows."""
        public, stand_ins = self.scale_of(scope)
        for repeat in range(max(public, stand_ins)):
            for name in scope.datasets:
                if repeat >= (stand_ins if name.endswith(STAND_IN) else public):
                    continue
                for method in self.columns:
                    yield SplitParams(name, method, repeat, scope.seed)

    @staticmethod
    @paper_cell(SplitParams)
    def compute(params: SplitParams, data_dir: str | None) -> dict[str, float]:
        problem = binary_problem(params.dataset, data_dir)
        seed = repeat_seed(params.seed, params.repeat)
        return {"error": split_error(problem, params.method, seed)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        rows = []
        for name in scope.datasets:
            for method in self.columns:
                found = groups.get((name, method), [])
                rows.append(self.entry(name, method, by_repeat(found, "error"), failed(found)))
        public = [row for row in rows if row.comparable]
        theirs = self.printed.columns
        rivals = [column for column in self.columns if column != "majority"]
        summary = [
            *closeness(public),
            *win_counts(public, theirs, greater_is_better=False),
            *win_counts(public, rivals, greater_is_better=False),
            *friedman(public, theirs, greater_is_better=False),
        ]
        return [
            ResultTable(
                self.name,
                self.printed.title,
                "classification error",
                [*rows, *mean_rows(rows, self.columns)],
                list(dict.fromkeys(summary)),  # equal sentences without additional columns
                (*self.printed.notes, *scope.missing_notes),
                greater_is_better=False,
            )
        ]


@paper_table("hiss-table2")
class HissTable2(HissTable):
    """Comparison with a support vector machine, AdaBoost, bagging, and two additional baselines."""

    own_columns = ("rbf-svm", "majority")


@paper_table("hiss-table3")
class HissTable3(HissTable):
    """Comparison with clusters of a Gaussian mixture; the paper's columns only."""
