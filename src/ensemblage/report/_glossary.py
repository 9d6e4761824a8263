"""Terms that reports use, with a definition each."""

from __future__ import annotations

import re
from html import unescape

GLOSSARY = {
    "ablation": "The score without a group of members, compared with the score of all members.",
    "accuracy": "Share of rows whose class is predicted correctly.",
    "anchor": "A member of an ensemble that is fitted on all rows.",
    "AUC": "Area under the ROC curve: the probability that a row of a class gets a higher score "
    "than a row of another class; 0.5 is chance, 1 is perfect.",
    "balanced accuracy": "Mean over the classes of the share of rows that are predicted correctly.",
    "baseline": "The prediction before the columns or members contribute to it.",
    "bootstrap frequency": "Share of bootstrap samples, drawn with replacement, in which an arc is "
    "found.",
    "Brier score": "Mean squared difference between the predicted probability and the outcome, "
    "0 or 1; less is better.",
    "calibration": "Agreement of predicted probabilities or values with what is observed.",
    "calibration error": "Mean absolute difference between confidence and accuracy over bins of "
    "rows, weighted by their sizes; 0 is perfect.",
    "calibration intercept": "What has to be added to the predicted log-odds so that they agree "
    "with the observed rate; 0 is ideal.",
    "calibration slope": "Factor by which the predicted log-odds have to be multiplied; 1 is "
    "ideal, below 1 the model is overconfident.",
    "coefficient": "Change of the prediction, or of the log-odds, per unit of a feature.",
    "confidence": "The probability that a model gives to the class it predicts.",
    "confidence interval": "Range that covers the true value of an estimate with the stated "
    "probability.",
    "contribution": "What a column or a member adds to the prediction of a row; the baseline and "
    "all contributions add up to the total.",
    "coverage": "Share of rows whose true value lies in the prediction interval or set.",
    "critical difference": "Least difference of two mean ranks that is significant.",
    "cross-validation": "Each fold of the rows is predicted by a model fitted on the other folds.",
    "F1": "Harmonic mean of precision and recall.",
    "fusion": "Rule that combines the predictions of the members.",
    "gate": "Fusion whose weights depend on the row, as in a mixture of experts.",
    "Holm's correction": "Adjustment of several tests so that the probability of any false "
    "positive keeps the stated level.",
    "integrated gradient": "Contribution of a column as the integral of the prediction's gradient "
    "between a reference row and this row.",
    "leave-source-out": "Each source is predicted by a model fitted on the other sources, as if it "
    "were new.",
    "log loss": "Mean negative log probability of the observed class or value; less is better.",
    "log-odds": "Logarithm of p / (1 \N{MINUS SIGN} p) for a probability p; 0 is a probability of "
    "50 %.",
    "log score": "Mean negative log density of the observed value; less is better.",
    "MAE": "Mean absolute error, in the unit of the target.",
    "mean rank": "Rank of a method, 1 for the best, averaged over folds or datasets.",
    "member": "One of the models that an ensemble combines.",
    "membership": "Degree, from 0 to 1, to which a row belongs to a stratum.",
    "normalised mutual information": "Agreement of two partitions, from 0 (independent) to 1 "
    "(identical).",
    "out-of-fold": "Predicted by a model that was not fitted on the row.",
    "overconfident": "Having predicted probabilities too close to 0 and 1.",
    "partial dependence": "Mean prediction when all rows have the same value of a column.",
    "partial pooling": "Estimates of small groups are shrunk towards the mean of all groups.",
    "permutation importance": "Loss of performance when the values of a column are shuffled.",
    "prediction interval": "Range that contains a new value with the stated probability.",
    "prediction limit": "Value below which the error at a new source stays with the stated "
    "probability.",
    "prediction set": "Classes that contain the true class with the stated probability.",
    "purity": "Share of rows whose class is the most frequent one of their cluster.",
    "residual": "Observed \N{MINUS SIGN} predicted value.",
    "RMSE": "Root mean squared error, in the unit of the target.",
    "R²": "Share of the target's variance that is explained; 1 is perfect, 0 is the mean alone.",
    "Shapley value": "Contribution of a column to a prediction: its mean over all orders in which "
    "the columns could be changed from the values of another row to those of this one.",
    "shrinkage": "Strength by which a node's prediction is moved towards that of its parent.",
    "source": "Where a row comes from, such as a hospital, a site or a sensor.",
    "source-aware": "Using the source of a row for its prediction.",
    "standard deviation": "Root mean squared difference from the mean.",
    "standard error": "Standard deviation of an estimate, such as a mean over folds.",
    "stratifier": "Method that finds the strata.",
    "stratum": "Subset of similar rows on which a member is fitted; strata may overlap.",
    "temperature scaling": "Division of the log probabilities by a constant that makes a model "
    "better calibrated.",
    "view": "One of the bootstrap samples or subsets of columns on which an inner ensemble votes.",
}
"""A sentence for each term."""
VARIANTS = {
    "cross-validation": "cross-validated",
    "fusion": "fused",
    "stratum": "strata",
}
"""Other forms that the terms have in a text."""
TAG = re.compile(r"<[^>]*>")
BETWEEN = r"[\s\u2010\u2011-]+"
"""Between the parts of a term: spaces or hyphens, also those at which no line ends."""
# the longest first, so that a confidence interval is no occurrence of confidence
TERMS = sorted(GLOSSARY, key=len, reverse=True)


def _pattern(term: str) -> str:
    """Match a term, its plural and its variant; acronyms and names only in their own case."""
    forms = [each for each in (term, VARIANTS.get(term)) if each is not None]
    either = "|".join(BETWEEN.join(map(re.escape, re.split("[ -]", form))) for form in forms)
    return f"({'?i:' if term.islower() else '?:'}(?:{either})s?)"


OCCURRENCE = re.compile(rf"\b(?:{'|'.join(f'({_pattern(term)})' for term in TERMS)})\b")


def glossary_of(page: str) -> dict[str, str]:
    """Give the terms that occur in the text of an HTML page, with their definitions."""
    # a plain string, as methods of markup escape their arguments
    text = unescape(TAG.sub(" ", str(page).replace("<wbr>", "")))
    found = {TERMS[(each.lastindex or 1) - 1] for each in OCCURRENCE.finditer(text)}
    return {term: GLOSSARY[term] for term in GLOSSARY if term in found}
