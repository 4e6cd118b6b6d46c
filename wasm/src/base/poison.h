/* Poisons memory under AddressSanitizer. Under MemorySanitizer, it marks old bytes as
 * uninitialized. Otherwise it does nothing. */
#ifndef RUSH_POISON_H
#define RUSH_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define RUSH_HAS_ASAN 1
#elif __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define RUSH_HAS_MSAN 1
#endif
#endif

#ifdef RUSH_HAS_ASAN
#define RUSH_POISON(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define RUSH_UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
/* Marks a function that may read poisoned memory. */
#define RUSH_READS_POISONED __attribute__((no_sanitize("address"), noinline))
#elif defined(RUSH_HAS_MSAN)
#define RUSH_MARK_INITIALIZED(at, bytes) __msan_unpoison(at, bytes)
#define RUSH_POISON(at, bytes) __msan_allocated_memory(at, bytes)
#define RUSH_UNPOISON(at, bytes) __msan_allocated_memory(at, bytes)
#else
#define RUSH_POISON(at, bytes) ((void)(at), (void)(bytes))
#define RUSH_UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif
/* Marks memory whose contents are multiplied by zeros, so that old bytes do not matter. */
#ifndef RUSH_MARK_INITIALIZED
#define RUSH_MARK_INITIALIZED(at, bytes) ((void)(at), (void)(bytes))
#endif

#endif
