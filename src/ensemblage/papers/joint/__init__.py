"""The joint feature-subset paper."""

from ensemblage.papers.joint import _joint_figure1 as _joint_figure1
from ensemblage.papers.joint import _joint_figure2 as _joint_figure2
from ensemblage.papers.joint import _joint_table2 as _joint_table2
