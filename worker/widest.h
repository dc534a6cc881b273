// One binary, the widest vector registers of the machine it runs on.
#pragma once

// For free functions whose loops the compiler vectorises. The clones give the same bits: nothing is contracted
// or reordered, and IEEE operations do not depend on the width. Sanitizers do not survive the resolver that
// picks a clone.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RETORT_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETORT_WIDEST
#endif
