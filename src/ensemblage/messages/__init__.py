"""What several packages say to users in the same words; light enough for the command line."""

from ensemblage.messages._names import listing as listing
from ensemblage.messages._names import suggestion as suggestion
from ensemblage.messages._requirements import require as require
from ensemblage.messages._wording import count as count
from ensemblage.messages._wording import listed as listed
