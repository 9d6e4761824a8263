"""Speed of Inner K-means compared with the matrix product it replaces, and with Lloyd."""

import time
import tracemalloc

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._testing import ignore_warnings

from all_benchmarks import row
from ensemblage.blocks import MemoryBlocks, merge
from ensemblage.inner import Draws, InnerKMeans, draw_feature_views
from ensemblage.inner._kmeans_passes import assign_pass

N, D, K, E = 100_000, 16, 10, 50
REPEATS = 9
BATCHES = (256, 4096)
"""Rows of a batch in online learning."""


def best_of(function, repeats=REPEATS):
    """Minimum CPU time of several runs, after a warm-up run."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def case(n, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)).astype(dtype)
    return X, X[:K].copy(), draw_feature_views(D, Draws(E, D // 2, True, 0))


def one_pass(X, centers, views):
    merge(MemoryBlocks(X).map_with_state(assign_pass, centers, views, True))


def against_the_product(dtype):
    X, centers, views = case(N, dtype)
    wide = (centers[:, None, :] * views[None]).reshape(K * E, D).T.astype(dtype, order="C")
    product = best_of(lambda: X @ wide)
    ours = best_of(lambda: one_pass(X, centers, views))
    limit = 0.9
    row(f"InnerKMeans pass, {dtype.__name__}", ours, product, bar=limit, against="X @ B")
    print(f"{dtype.__name__}: pass {ours:.4f} s, X @ B {product:.4f} s, "
          f"ratio {ours / product:.2f} (limit {limit})")  # fmt: skip
    return ours


@ignore_warnings(category=ConvergenceWarning)
def against_lloyd(ours, dtype):
    X, centers, _ = case(N, dtype)

    def lloyd(n):
        return best_of(lambda: KMeans(K, init=centers, n_init=1, max_iter=n, tol=0).fit(X), 5)

    per_iteration = (lloyd(21) - lloyd(1)) / 20
    print(f"{dtype.__name__}: one Lloyd iteration {per_iteration:.4f} s, "
          f"our pass {ours / per_iteration:.1f} times that (limit 25)")  # fmt: skip
    row(f"InnerKMeans pass, {dtype.__name__}", ours, per_iteration, bar=25, against="Lloyd")


def peak_memory(dtype):
    X, _, _ = case(N, dtype)
    model = InnerKMeans(K, random_state=0, max_iter=40)
    model.fit(X[:1000])
    tracemalloc.start()
    ignore_warnings(category=ConvergenceWarning)(model.fit)(X)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"{dtype.__name__}: peak extra memory of a fit {peak:.1f} MB (limit 50)")
    row(f"peak extra memory of a fit, {dtype.__name__}", peak, unit="MB", bar=50)


def growth():
    times = {}
    for n in (10_000, 100_000, 1_000_000):
        X, centers, views = case(n, np.float32)
        times[n] = best_of(lambda X=X, c=centers, v=views: one_pass(X, c, v), 5) / n
    base = times[100_000]
    print("time per row, relative to 1e5 rows: "
          + ", ".join(f"{n:.0e}: {each / base:.2f}" for n, each in times.items()))  # fmt: skip


def online(dtype):
    """``partial_fit`` batch by batch, and ``predict``, beside mini-batch K-means."""
    X, centers, _ = case(N, dtype)
    models = {
        "MiniBatchKMeans": MiniBatchKMeans(K, init=centers, n_init=1, random_state=0),
        "InnerKMeans": InnerKMeans(K, n_views=E, init=centers, random_state=0),
        "InnerKMeans, resample='fit'": InnerKMeans(
            K, n_views=E, init=centers, resample="fit", random_state=0
        ),
        "InnerKMeans, 10 views": InnerKMeans(K, n_views=10, init=centers, random_state=0),
    }
    for size in BATCHES:
        batches = [X[i : i + size] for i in range(0, 20 * size, size)]
        updates, predictions = {}, {}
        for name, model in models.items():
            ignore_warnings(category=ConvergenceWarning)(model.partial_fit)(batches[0])
            updates[name] = best_of(lambda m=model, b=batches: [m.partial_fit(x) for x in b])
            predictions[name] = best_of(lambda m=model, b=batches: [m.predict(x) for x in b])
        for what, times in (("partial_fit", updates), ("predict", predictions)):
            base = times["MiniBatchKMeans"]
            line = [f"{name} {1e3 * each / len(batches):.2f} ms ({each / base:.1f}x)"
                    for name, each in times.items()]  # fmt: skip
            print(f"{dtype.__name__}: {what} of {size} rows: {', '.join(line)}")


if __name__ == "__main__":
    for kind in (np.float32, np.float64):
        against_lloyd(against_the_product(kind), kind)
        peak_memory(kind)
        online(kind)
    growth()
