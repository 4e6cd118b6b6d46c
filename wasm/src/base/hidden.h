/* Memory that nobody may touch, where AddressSanitizer watches; where MemorySanitizer does, memory whose old
 * bytes nobody may read; elsewhere nothing. */
#ifndef RUSH_HIDDEN_H
#define RUSH_HIDDEN_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define RUSH_HIDES 1
#elif __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define RUSH_FORGETS 1
#endif
#endif

#ifdef RUSH_HIDES
#define RUSH_HIDE(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define RUSH_SHOW(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
/* A function that may read what is hidden. */
#define RUSH_SEES_HIDDEN __attribute__((no_sanitize("address"), noinline))
#elif defined(RUSH_FORGETS)
#define RUSH_ANY(at, bytes) __msan_unpoison(at, bytes)
#define RUSH_HIDE(at, bytes) __msan_allocated_memory(at, bytes)
#define RUSH_SHOW(at, bytes) __msan_allocated_memory(at, bytes)
#else
#define RUSH_HIDE(at, bytes) ((void)(at), (void)(bytes))
#define RUSH_SHOW(at, bytes) ((void)(at), (void)(bytes))
#endif
/* Memory in which whatever lies there is multiplied by zeros. */
#ifndef RUSH_ANY
#define RUSH_ANY(at, bytes) ((void)(at), (void)(bytes))
#endif

#endif
