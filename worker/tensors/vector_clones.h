// Loops compiled once for each width of vector registers; the loader picks the widest that the machine has.
#pragma once

// For free functions whose loops the compiler vectorises. All versions give the same bits: nothing is contracted or
// reordered, and IEEE operations do not depend on the width. Sanitizers crash in the resolver that picks a version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RETORT_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETORT_VECTOR_CLONES
#endif
