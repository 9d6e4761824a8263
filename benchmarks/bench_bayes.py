"""Speed of Bayesian networks compared with Weka, pyAgrum and pgmpy in one run.

Times are CPU seconds, the best of several runs, after compilation. Weka is measured inside one
Java process after warm-up. Packages that are not installed are skipped with a reason.

Run with ``python benchmarks/bench_bayes.py``. WEKA_JAR names Weka's jar file (by default
where Debian's package ``weka`` puts it), ENSEMBLAGE_DATA a folder that holds tic-tac-toe.csv and
vote.csv.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import BaggingClassifier

from all_benchmarks import row
from ensemblage.bayes import BayesNetClassifier, code_sample, plan_search, read_training
from ensemblage.bayes._search import SEARCHES
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.persistence import save

WEKA_JAR = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))
CUP_JARS = [WEKA_JAR.with_name("cup.jar"), WEKA_JAR.with_name("java-cup-0.11b-runtime.jar")]

WEKA_BENCH = """
import java.io.*; import java.lang.management.*;
import weka.core.Instances; import weka.classifiers.bayes.BayesNet;
public class Bench {
  public static void main(String[] args) throws Exception {
    Instances data = new Instances(new BufferedReader(new FileReader(args[0])));
    data.setClassIndex(data.numAttributes() - 1);
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    double best = 1e9;
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      BayesNet net = new BayesNet();
      net.setOptions(new String[] {"-D", "-Q", "weka.classifiers.bayes.net.search.global.K2",
        "--", "-P", "3", "-S", "LOO-CV",
        "-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5"});
      long start = clock.getCurrentThreadCpuTime();
      net.buildClassifier(data);
      best = Math.min(best, (clock.getCurrentThreadCpuTime() - start) / 1e9);
    }
    System.out.println(best);
  }
}
"""


def best_of(function, repeats=5):
    """Minimum CPU time of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def generate(n_rows, sizes, n_classes, seed=0):
    """Categorical columns that depend on the class and on earlier columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    columns = []
    for j, size in enumerate(sizes):
        source = y * (j % 3) + (columns[-1] if j % 2 else 0)
        columns.append((source + rng.integers(0, size, n_rows) * (rng.random(n_rows) < 0.7)) % size)
    frame = pd.DataFrame({f"c{j}": pd.Categorical(c.astype(str)) for j, c in enumerate(columns)})
    return frame, pd.Series(pd.Categorical(y.astype(str)), name="class")


def read(name, n_rows, sizes):
    """Read a dataset with two classes, missing values imputed, or generate one of its shape."""
    path = Path(os.environ.get("ENSEMBLAGE_DATA", ".")) / f"{name}.csv"
    if not path.exists():
        return generate(n_rows, sizes, 2)
    frame = pd.read_csv(path, dtype="category", na_values="?")
    frame = frame.fillna(frame.mode().iloc[0])
    return frame.drop(columns="class"), frame["class"]


def write_arff(X, y, path):
    lines = ["@relation bench"]
    table = X.assign(**{"class": y})
    lines += [f"@attribute {name} {{{','.join(table[name].cat.categories)}}}" for name in table]
    lines += ["@data", *(",".join(row) for row in table.astype(str).to_numpy())]
    path.write_text("\n".join(lines) + "\n")


def time_weka(X, y, repeats):
    """CPU seconds of Weka's leave-one-out K2, or why it was skipped."""
    if shutil.which("java") is None or not WEKA_JAR.exists():
        return "skipped: no Java or no Weka"
    with tempfile.TemporaryDirectory() as folder:
        source, data = Path(folder) / "Bench.java", Path(folder) / "data.arff"
        source.write_text(WEKA_BENCH)
        write_arff(X.rename(columns=lambda name: name.replace("-", "_")), y, data)
        jars = os.pathsep.join(map(str, [WEKA_JAR, *CUP_JARS]))
        command = ["java", "-cp", jars, str(source), str(data), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return float(done.stdout) if done.returncode == 0 else f"failed: {done.stderr[-200:]}"


def time_pyagrum(X, y):
    try:
        import pyagrum as gum
    except ImportError:
        return "skipped: pyAgrum is not installed"
    table = X.assign(**{"class": y}).astype(str)

    def learn():
        learner = gum.BNLearner(table)
        learner.useK2([len(X.columns), *range(len(X.columns))])
        learner.setMaxIndegree(3)
        learner.learnBN()

    return best_of(learn, 3)


def time_pgmpy(X, y):
    try:
        from pgmpy.estimators import HillClimbSearch
    except ImportError:
        return "skipped: pgmpy is not installed"
    table = X.assign(**{"class": y}).astype(str).astype("category")

    def learn():
        HillClimbSearch(table).estimate(scoring_method="k2", max_indegree=3, show_progress=False)

    try:
        return best_of(learn, 1)
    except Exception as error:  # report errors of the other package
        return f"failed: {error}"


def time_pyagrum_rows(model, X):
    """CPU seconds per row of pyAgrum's inference in the same network, all features known."""
    try:
        import pyagrum as gum
    except ImportError:
        return "skipped: pyAgrum is not installed"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.bif"
        path.write_text(model.to_bif())
        inference = gum.LazyPropagation(gum.loadBN(str(path)))
    inference.addTarget(model.target_name_)
    known = X.head(200).astype(str).to_dict("records")

    def predict():
        for each in known:
            inference.setEvidence(each)
            inference.makeInference()
            inference.posterior(model.target_name_)

    return best_of(predict, 3) / len(known)


def search_only(model, X, y):
    """Structure search and tables on encoded data, as given to Weka."""
    training = read_training(model, X, y, None)
    sample = code_sample(training, "mdlp", model.max_entries)
    space = plan_search(model, training)

    def learn():  # the single steps of fit
        score, estimate, _ = model._plan(training, sample)  # noqa: SLF001
        structure = SEARCHES[model.search](score, space, lambda: False)
        model._store(training, space, structure, estimate(structure)[0], [])  # noqa: SLF001

    return learn


def show(label, value, reference=None):
    if isinstance(value, str):
        print(f"  {label:<44}{value}")
        return
    ratio = f"   {value / reference:8.1f} x ours" if reference else ""
    if reference:
        row("networks: ours, K2 and tables on encoded data", reference, value, against=label)
    else:
        row(f"networks: {label}", value)
    print(f"  {label:<44}{value:10.4f} s{ratio}")


def bench_structure():
    cases = {
        "tic-tac-toe, 958 x 9": (*read("tic-tac-toe", 958, [3] * 9), 200),
        "vote, 435 x 16": (*read("vote", 435, [2] * 16), 20),
        "nursery-sized, 12,960 x 8": (*generate(12_960, [3, 5, 4, 4, 3, 2, 3, 3], 5), 10),
        "kr-vs-kp-sized, 3,196 x 36": (*generate(3_196, [2] * 36, 2), 5),
    }
    for label, (X, y, repeats) in cases.items():
        print(label)
        plain = BayesNetClassifier().fit(X, y)
        ours = best_of(search_only(BayesNetClassifier(), X, y), 10)
        show("ours, K2 and tables on encoded data", ours)
        show("ours, fit from a dataframe", best_of(partial(plain.fit, X, y), 5), ours)
        local = BayesNetClassifier(criterion="k2").fit(X, y)
        show("ours, fit with the K2 score", best_of(partial(local.fit, X, y), 5), ours)
        show("Weka, K2 and tables (same score)", time_weka(X, y, repeats), ours)
        show("pyAgrum, K2 (other score)", time_pyagrum(X, y), ours)
        show("pgmpy, hill climbing (other score)", time_pgmpy(X, y), ours)
        inner = InnerBayesNetClassifier(30, tables="plain", arc_confidence=False, random_state=0)
        show("ours, inner 30 x 60 %", best_of(search_only(inner, X, y), 3), ours)


def bench_prediction():
    print("prediction of 8,000 rows (12 numeric columns)")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 8_000)
    X = rng.normal(size=(8_000, 12)) + 0.7 * y[:, None] * (np.arange(12) < 6)
    times = {}
    for n_views in (10, 30, 100):
        model = InnerBayesNetClassifier(n_views, random_state=0).fit(X[:1000], y[:1000])
        times[n_views] = best_of(lambda m=model: m.predict_proba(X), 15)
        show(f"inner Bayesian network, n_views={n_views}", times[n_views])
    bag = BaggingClassifier(BayesNetClassifier(), n_estimators=30, random_state=0)
    bag.fit(X[:1000], y[:1000])
    show("bagging of 30 networks", best_of(lambda: bag.predict_proba(X), 5), times[30])
    print("prediction of 8,000 rows (categorical columns), in microseconds per row")
    datasets = {
        "tic-tac-toe": read("tic-tac-toe", 958, [3] * 9),
        "vote": read("vote", 435, [2] * 16),
        "kr-vs-kp-sized": generate(3_196, [2] * 36, 2),
    }
    for label, (frame, classes) in datasets.items():
        renamed = frame.rename(columns=lambda name: name.replace("-", "_"))
        model = BayesNetClassifier(calibration=None).fit(renamed, classes)
        many = renamed.iloc[np.arange(8_000) % len(renamed)]
        ours = best_of(lambda m=model, rows=many: m.predict_proba(rows), 15) / len(many)
        theirs = time_pyagrum_rows(model, renamed)
        shown = theirs if isinstance(theirs, str) else f"{1e6 * theirs:.0f}, {theirs / ours:.0f} x"
        print(f"  {label:<44}ours {1e6 * ours:.2f}, pyAgrum {shown}")


def bench_size():
    """Size and prediction time of one inner network and of a bag of as many networks."""
    print("fitted on all rows: pickle and model file in kB, prediction in ms per 1,000 rows")
    for load in (load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        rows = X[np.arange(1_000) % len(X)]
        models = {
            "plain network": BayesNetClassifier(),
            "inner network, 30 views, plain tables": InnerBayesNetClassifier(
                30, tables="plain", arc_confidence=False, random_state=0
            ),
            "inner network, 30 views, pooled tables": InnerBayesNetClassifier(
                30, arc_confidence=False, random_state=0
            ),
            "bag of 30 networks": BaggingClassifier(
                BayesNetClassifier(calibration=None), 30, random_state=0
            ),
        }
        print(f"{load.__name__.removeprefix('load_')}, {len(X)} x {X.shape[1]}")
        for label, model in models.items():
            model.fit(X, y)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.skops"
                save(model, path)
                saved = path.stat().st_size / 1e3
            taken = 1e3 * best_of(lambda m=model, new=rows: m.predict_proba(new), 15)
            kept = len(pickle.dumps(model)) / 1e3
            print(f"  {label:<44}{kept:10.0f} kB{saved:10.0f} kB{taken:10.2f} ms")


def bench_large():
    print("large data")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000, dtype=np.int8)
    X = np.empty((1_000_000, 30), dtype=np.int8)
    for j in range(30):  # column by column, so that generating the data is not the peak
        X[:, j] = rng.random(1_000_000, dtype=np.float32) < 0.3 + 0.4 * y * (j % 3 == 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    BayesNetClassifier().fit(X, y)
    taken = time.process_time() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    show(f"1,000,000 x 30 binary, peak {peak:.2f} GiB above the data", taken)
    del X, y
    y = rng.integers(0, 2, 1_000)
    wide = (rng.random((1_000, 2_000)) < 0.4 + 0.2 * y[:, None]).astype(np.int8)
    start = time.process_time()
    BayesNetClassifier(max_parents=2).fit(wide, y)
    show("1,000 x 2,000 binary, max_parents=2", time.process_time() - start)


FRESH = """
import time; start = time.perf_counter(); cpu = time.process_time()
from sklearn.datasets import load_iris
from ensemblage.bayes import BayesNetClassifier
from ensemblage.inner import InnerBayesNetClassifier
X, y = load_iris(return_X_y=True)
BayesNetClassifier(init="empty").fit(X, y).predict_proba(X)
if {everything}:
    BayesNetClassifier(criterion="bic").fit(X, y)
    BayesNetClassifier(max_parents=None).fit(X, y, sample_weight=[0.5] * 150)
    InnerBayesNetClassifier(3).fit(X, y)
print(time.perf_counter() - start, time.process_time() - cpu)
"""


def bench_first_fit():
    print("first fit in a new process, including imports (wall, CPU)")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label, everything in (
            ("cold cache, all network kernels", True),
            ("warm cache", False),
            ("warm cache, again", False),
        ):
            done = subprocess.run(
                [sys.executable, "-c", FRESH.format(everything=everything)],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            wall, cpu = map(float, done.stdout.split())
            print(f"  {label:<44}{wall:10.2f} s{cpu:10.2f} s")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or ["structure", "prediction", "size", "large", "first_fit"]
    for part in chosen:
        globals()[f"bench_{part}"]()
