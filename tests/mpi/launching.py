"""What the tests of launching share."""
import os
import re

PATIENCE = 60  # seconds; generous, since a loaded machine is slow


def environment(**changes):
    """The environment of this test, not passing on that it may itself run under mpirun or in a batch job."""
    kept = {k: v for k, v in os.environ.items() if not re.match("OMPI_|PMIX_|ORTE_|SLURM_|PMI_|PBS_|RETORT_", k)}
    kept["HWLOC_HIDE_ERRORS"] = "2"
    kept.update(changes)
    return kept


def write_program(path, text):
    """An executable shell script."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\n" + text)
    os.chmod(path, 0o755)
    return path
