"""The HISS paper."""

from ensemblage.papers.hiss import _errors as _errors
