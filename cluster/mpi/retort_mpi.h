/* What retort asks of MPI, in C: compiled by a site's own mpicc (README.md beside this file), loaded at run time. So
 * one build of retort runs with Open MPI as with MPICH, whose binary interfaces differ.
 *
 * A function that returns int returns 0, or a code that `explain` puts into words. All calls but `describe` come from
 * the thread that called `open`. */
#ifndef RETORT_MPI_H
#define RETORT_MPI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of RetortMpi. */
#define RETORT_MPI_INTERFACE 1
/* Of `open`, where MPI was initialised before. */
#define RETORT_MPI_TWICE (-2)
/* The name of the one symbol of the library, a RetortMpi. */
#define RETORT_MPI_SYMBOL "retort_mpi"

typedef struct RetortMpi {
  int interface; /* RETORT_MPI_INTERFACE of the library's build; the first member in every version */
  /* Writes which MPI library this is, with its version, ended by a zero byte. Before `open`, too. */
  void (*describe)(char* text, size_t room);
  void (*explain)(int code, char* text, size_t room);
  /* Initialises MPI for calls of one thread. Once in a process: RETORT_MPI_TWICE where MPI was initialised before. */
  int (*open)(int* rank, int* size);
  /* Starts to send `count` bytes, which must stay where they are until `test` says that the transfer is done. */
  int (*send)(int to, const void* bytes, size_t count, void** transfer);
  /* Asks for a message that has been announced. `*message` is NULL where there is none. */
  int (*probe)(int* from, size_t* count, void** message);
  /* Starts to take a message in; `room` is the number of bytes at `bytes`. `message` is used up. */
  int (*receive)(void* message, void* bytes, size_t room, void** transfer);
  int (*enter_barrier)(void** transfer);
  /* `transfer` is used up where `*done` is not 0, and where an error is returned. */
  int (*test)(void* transfer, int* done);
  int (*finalize)(void);
  void (*abort)(int exit_code); /* ends the whole job */
} RetortMpi;

#ifdef __cplusplus
}
#endif
#endif
