/* libretort_mpi.so: retort_mpi.h over MPI 3.0 or newer. Non-blocking calls only, one tag. */
#include "retort_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kTag = 1 };
/* Codes of our own; those of MPI are above 0. */
enum { kMemory = -1, kThreads = -3, kTooLong = -4 };

static MPI_Comm communicator = MPI_COMM_NULL;

static void copy_line(const char* line, char* text, size_t room) {
  if (room == 0) return;
  snprintf(text, room, "%s", line);
  text[strcspn(text, "\r\n")] = '\0';
}

static void describe(char* text, size_t room) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) version[0] = '\0';
  for (char* tab = version; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
  copy_line(version, text, room);
}

static void explain(int code, char* text, size_t room) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  switch (code) {
    case kMemory:
      copy_line("no memory is left", text, room);
      return;
    case RETORT_MPI_TWICE:
      copy_line("MPI was already initialised in this process", text, room);
      return;
    case kThreads:
      copy_line("this MPI allows no second thread beside the one that uses it", text, room);
      return;
    case kTooLong:
      copy_line("the message has more bytes than MPI counts", text, room);
      return;
    default:
      break;
  }
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) snprintf(words, sizeof words, "MPI error %d", code);
  copy_line(words, text, room);
}

static int open_world(int* rank, int* size) {
  int initialised = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialised);
  if (initialised != 0) return RETORT_MPI_TWICE;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS) return code;
  if (provided < MPI_THREAD_FUNNELED) return kThreads;
  /* Errors come back as codes: the default handler would end the job. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  code = MPI_Comm_rank(communicator, rank);
  return code != MPI_SUCCESS ? code : MPI_Comm_size(communicator, size);
}

/* Keeps the request of a transfer that has begun with `code`. */
static int keep(int code, MPI_Request* request, void** transfer) {
  if (code != MPI_SUCCESS) {
    free(request);
    request = NULL;
  }
  *transfer = request;
  return code;
}

static int start_send(int to, const void* bytes, size_t count, void** transfer) {
  if (count > INT_MAX) return kTooLong;
  MPI_Request* const request = malloc(sizeof *request);
  if (request == NULL) return kMemory;
  return keep(MPI_Isend(bytes, (int)count, MPI_BYTE, to, kTag, communicator, request), request, transfer);
}

static int probe(int* from, size_t* count, void** message) {
  int found = 0, bytes = 0;
  MPI_Message announced = MPI_MESSAGE_NULL;
  MPI_Status status;
  *message = NULL;
  /* Allocated first: a matched message without a place to keep it would be lost. */
  MPI_Message* const kept = malloc(sizeof *kept);
  if (kept == NULL) return kMemory;
  int code = MPI_Improbe(MPI_ANY_SOURCE, kTag, communicator, &found, &announced, &status);
  if (code == MPI_SUCCESS && found != 0) code = MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (code != MPI_SUCCESS || found == 0) {
    free(kept);
    return code;
  }
  *kept = announced;
  *message = kept;
  *from = status.MPI_SOURCE;
  *count = bytes > 0 ? (size_t)bytes : 0;
  return MPI_SUCCESS;
}

static int start_receive(void* message, void* bytes, size_t room, void** transfer) {
  MPI_Message* const announced = message;
  MPI_Request* const request = malloc(sizeof *request);
  int code = request == NULL ? kMemory : room > INT_MAX ? kTooLong : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = MPI_Imrecv(bytes, (int)room, MPI_BYTE, announced, request);
  free(announced);
  return keep(code, request, transfer);
}

static int enter_barrier(void** transfer) {
  MPI_Request* const request = malloc(sizeof *request);
  if (request == NULL) return kMemory;
  return keep(MPI_Ibarrier(communicator, request), request, transfer);
}

static int test(void* transfer, int* done) {
  MPI_Request* const request = transfer;
  *done = 0;
  const int code = MPI_Test(request, done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS || *done != 0) free(request);
  return code;
}

static int finalize(void) {
  const int code = communicator == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Comm_free(&communicator);
  return code != MPI_SUCCESS ? code : MPI_Finalize();
}

static void abort_job(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const RetortMpi retort_mpi;
const RetortMpi retort_mpi = {RETORT_MPI_INTERFACE, describe,      explain, open_world, start_send, probe,
                              start_receive,        enter_barrier, test,    finalize,   abort_job};
