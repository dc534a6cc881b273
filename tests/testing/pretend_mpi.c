/* A plug-in without MPI behind it: PRETENDED_MPI is what it says of itself. */
#include <stdio.h>

#include "cluster/mpi/retort_mpi.h"

static void describe(char* text, size_t room) { snprintf(text, room, "%s", PRETENDED_MPI); }

const RetortMpi retort_mpi = {.interface = PRETENDED_INTERFACE, .describe = describe};
