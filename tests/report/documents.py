"""Documents as the commands print them, made up."""

import random

import msgspec

from ensemblage.studies import Comparison, Design, MethodScores, RunDocument
from ensemblage.studies._compare import choose


def method(name, accuracy, *, ours=False, failures=None, warnings=None):
    known = [value for value in accuracy if value is not None]
    return {
        "name": name, "label": name, "ours": ours, "complexity": 1, "accuracy": accuracy,
        "balanced_accuracy": accuracy, "log_loss": [None] * len(accuracy), "auc": accuracy,
        "f1": accuracy,
        "seconds": [0.5] * len(accuracy), "ranks": [1.0] * len(accuracy),
        "failures": failures or {}, "warnings": warnings or {},
        "mean": sum(known) / len(known) if known else None,
    }  # fmt: skip


def comparison(*methods, dataset="iris"):
    """Of methods that may have failed; the choice is the real one."""
    scored = [{key: value for key, value in each.items() if key != "mean"} for each in methods]
    choice = choose(msgspec.convert(scored, list[MethodScores]), Design("accuracy", 1 / 3, 1500))
    summary = [
        {
            "method": each["name"], "label": each["label"], "ours": each["ours"],
            "score": each["mean"], "score_se": None if each["mean"] is None else 0.01,
            "auc": each["mean"], "f1": each["mean"],
            "accuracy": each["mean"], "accuracy_se": None if each["mean"] is None else 0.01,
            "balanced_accuracy": each["mean"], "log_loss": None, "mean_rank": 1.0 + place,
            "seconds": None if each["mean"] is None else 0.5, "failed_folds": len(each["failures"]),
        }
        for place, each in enumerate(methods)
    ]  # fmt: skip
    facts = {
        "dataset": dataset, "n_rows": 1500, "n_features": 4, "n_classes": 3, "n_splits": 3,
        "n_repeats": 1, "seed": 0, "notes": ["A note."], "quick": False, "measure": "accuracy",
        "summary": summary,
        "verdict": "The first ranks first.", "choice": msgspec.to_builtins(choice),
        "methods": scored,
    }  # fmt: skip
    return msgspec.convert(facts, Comparison)


def entry(
    row,
    column,
    ours,
    paper=None,
    *,
    error=0.01,
    note="",
    comparable=True,
    failures=0,
    is_mean=False,
):
    known = None not in (ours, paper) and comparable
    return {
        "row": row, "column": column, "paper": paper, "ours": ours,
        "difference": ours - paper if known else None, "standard_error": error, "repeats": 10,
        "failures": failures, "note": note, "comparable": comparable, "is_mean": is_mean,
    }  # fmt: skip


def table(rows, *, name="table", better=False, notes=(), summary=()):
    return {
        "name": name, "title": f"Title of {name}", "measure": "classification error",
        "greater_is_better": better, "summary": list(summary), "notes": list(notes),
        "rows": rows,
    }  # fmt: skip


def small_table(**options):
    rows = [
        entry(row, column, 0.1 * (i + 1) + 0.01 * j, 0.1 * (i + 1) if column != "ours" else None)
        for i, row in enumerate(["pima", "heart", "sonar"])
        for j, column in enumerate(["bagging", "forest", "ours"])
    ]
    return table(rows, summary=["Bagging has the lowest error."], **options)


def experiment(*tables, done=10, total=10, failed=0, **facts):
    known = {
        "experiment": "hiss-table2", "title": "Table 2 of a paper", "scale": "quick", "seed": 0,
        "cells": {"total": total, "done": done, "failed": failed}, "tables": list(tables),
        "results": "results.sqlite", "report": None, "finished": done == total,
    }  # fmt: skip
    return msgspec.convert(known | facts, RunDocument)


def large_experiment(n_tables=10, n_rows=50, n_columns=10):
    """As large as all ten reproductions with the paper's whole protocols."""
    draw = random.Random(0)  # noqa: S311
    note = "The paper's data are not to be had; a dataset of the same name stands in for them."
    tables = []
    for number in range(n_tables):
        rows = [
            entry(f"dataset number {i}", f"method number {j}", draw.random(), draw.random(),
                  error=draw.random() / 10, note=note)
            for i in range(n_rows)
            for j in range(n_columns)
        ]  # fmt: skip
        tables.append(table(rows, name=f"table-{number}", notes=[note] * 5))
    return experiment(*tables)


def total_of(decision):
    """The baseline and all contributions together."""
    return decision.baseline + sum(each.contribution for each in decision.contributions)
