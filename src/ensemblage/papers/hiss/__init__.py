"""The HISS paper."""

from ensemblage.papers.hiss import _hiss_errors as _hiss_errors
