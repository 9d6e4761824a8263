"""What several packages say to users in the same words; light enough for the command line."""

from ensemblage.messages._doc_link import DOCUMENTATION as DOCUMENTATION
from ensemblage.messages._doc_link import DocLinkMixin as DocLinkMixin
from ensemblage.messages._expectations import DamagedStateError as DamagedStateError
from ensemblage.messages._expectations import expect as expect
from ensemblage.messages._expectations import expect_array as expect_array
from ensemblage.messages._expectations import expect_fitted as expect_fitted
from ensemblage.messages._expectations import expect_values as expect_values
from ensemblage.messages._lazy_door import lazy_door as lazy_door
from ensemblage.messages._prediction_tasks import CLASSIFICATION as CLASSIFICATION
from ensemblage.messages._prediction_tasks import MEASURES as MEASURES
from ensemblage.messages._prediction_tasks import REGRESSION as REGRESSION
from ensemblage.messages._prediction_tasks import TASKS as TASKS
from ensemblage.messages._prediction_tasks import Measure as Measure
from ensemblage.messages._prediction_tasks import Task as Task
from ensemblage.messages._prediction_tasks import TaskName as TaskName
from ensemblage.messages._shared_docs import with_shared as with_shared
from ensemblage.messages._user_warning import warn_user as warn_user
from ensemblage.messages._wording import count as count
from ensemblage.messages._wording import listed as listed
from ensemblage.messages._wording import listing as listing
from ensemblage.messages._wording import no_formula as no_formula
from ensemblage.messages._wording import plain_name as plain_name
from ensemblage.messages._wording import require as require
from ensemblage.messages._wording import suggestion as suggestion
from ensemblage.messages._wording import visible as visible
from ensemblage.messages._wording import write_number as write_number
