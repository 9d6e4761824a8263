"""The HISS paper's tables of errors."""

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


STAND_IN = "-stand-in"
# Of each stand-in: the number of features in the paper's Table 1, and how far clips' rules agree.
SCENES = {"indoor": (190, 0.75), "outdoor": (126, 0.85)}
N_CLIPS = 7
N_FACTORS = 12
PENDIGITS_ROWS = 2000
N_MEMBERS = 20


class SplitParams(msgspec.Struct, frozen=True):
    """One method on one split of one dataset."""

    dataset: str
    method: str
    repeat: int
    seed: int


def make_methods(seed: int, n_rows: int) -> dict[str, Any]:
    """Unfitted classifier of each column, for so many training rows."""
    linear = SVC(kernel="linear")
    bagging = BaggingClassifier(linear, n_estimators=N_MEMBERS, random_state=seed)
    # boosting hands out weights that add up to one; C makes them add up to the number of rows
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

    Twelve hidden factors come from ``make_multi_source`` with seven sources ("clips") whose rules
    partly agree. All features are linear in the factors, which makes them correlated as features
    of images are; each clip has its own look, contrast and grain. The numbers were chosen so that
    a linear support vector machine is wrong about as often as the paper's was.
    """
    rng = check_random_state(random_state)
    n_features, agreement = SCENES[scene]
    factors, y, sources = make_multi_source(
        N_CLIPS, N_CLIPS * n_samples_per_source, N_FACTORS, separation=0.0, agreement=agreement,
        noise=0.1, random_state=rng, return_sources=True,
    )  # fmt: skip
    mixing = rng.standard_normal((N_FACTORS, n_features))
    mixing = mixing / np.linalg.norm(mixing, axis=-2, keepdims=True)
    looks = rng.standard_normal((N_CLIPS, n_features))
    contrast, grain = rng.uniform(0.6, 1.4, N_CLIPS), rng.uniform(0.2, 1.0, N_CLIPS)
    X = looks[sources] + contrast[sources, None] * (factors @ mixing)
    X += grain[sources, None] * rng.standard_normal(X.shape)
    return (X, y, sources) if return_sources else (X, y)


def binary_problem(name: str, data_dir: str | None = None) -> tuple[Array, Array]:
    """Load a dataset as the paper uses it, or generate its stand-in.

    Rows are not scaled; the target is one for the most frequent class, else zero.
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
    """Share of the test rows that a method classifies wrongly on one random split."""
    X_train, X_test, y_train, y_test = train_test_split(*problem, test_size=0.3, random_state=seed)
    model = make_pipeline(MinMaxScaler(), make_methods(seed, len(y_train))[method])
    with recorded_warnings():  # strata of one class are part of the experiment
        return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


class HissTable(PaperTable[tuple[int, int]]):
    """Errors of the paper's columns, and of some of our own: tables share the cells of HISS.

    A scale has how many splits; of stand-ins fewer, since they take long and reproduce nothing.
    """

    scales = Scales((3, 3), (10, 3), (10, 10))
    quick_datasets = ("ecoli", "pendigits", "glass", "yeast", "vehicle")
    family = "hiss-tables"
    own_columns: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The paper's, then ours."""
        return (*self.printed.columns, *self.own_columns)

    def grid(self, scope: PaperScope) -> Iterator[SplitParams]:
        """Repeats first, so that a budget ends with whole rows."""
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
                list(dict.fromkeys(summary)),  # without a column of ours the two winners are one
                (*self.printed.notes, *scope.missing_notes),
                greater_is_better=False,
            )
        ]


@paper_table("hiss-table2")
class HissTable2(HissTable):
    """Against a support vector machine, AdaBoost and bagging, and two controls of our own."""

    own_columns = ("rbf-svm", "majority")


@paper_table("hiss-table3")
class HissTable3(HissTable):
    """Against clusters of a Gaussian mixture; the paper's columns alone."""
