"""The joint feature-subset paper."""

from ensemblage.papers.joint import _tables as _tables
