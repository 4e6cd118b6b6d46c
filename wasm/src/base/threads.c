/* Parallel loops. A loop is split into chunks, and each thread has a range of them. Consecutive
 * loops give a thread the same part of an image, which is then in its cache. A thread takes the
 * next chunk of its own range until none is left, and then steals from the end of other ranges. The
 * thread that runs the program takes part, so a loop never waits for a helper that has not started.
 * A range is one atomic word: the loop, the next chunk, and the end. A thread that has taken a
 * chunk may read the rest of the loop's state, which does not change before that chunk is done. */
#include "base/threads.h"

#include <stdatomic.h>
#ifdef __wasm__
typedef int native; /* the host starts threads, which call rush_pool_help */
#else
#include <pthread.h>
#include <sched.h>
typedef struct native {
  pthread_mutex_t lock;
  pthread_cond_t turned;
  unsigned n; /* number of started threads */
  pthread_t thread[RUSH_MAX_THREADS];
} native;
#endif

#ifndef RUSH_MIN_WORK /* loops with fewer steps stay on their thread */
#ifdef RUSH_FUZZ      /* fuzzed programs are small */
#define RUSH_MIN_WORK 1
#else
#define RUSH_MIN_WORK (24 << 10)
#endif
#endif

enum {
  COUNT_BITS = 20,
  COUNT_MASK = (1 << COUNT_BITS) - 1,
  LONG = 1 << 26, /* maximum steps per item for threads that cannot check for a stop request */
  CHUNK = RUSH_MIN_WORK / 3 + 1, /* minimum steps per chunk */
  CHUNKS = 8,                    /* per thread, if there is enough work; late threads take fewer */
  /* Maximum steps per chunk of small items, between two checks for a stop request. */
  MAX_STEPS = 1 << 19,
#ifdef __wasm__
  PAUSES = 1 << 16, /* polls before a helper sleeps: tens of microseconds */
  LOOK = 1 << 19,   /* pauses between two checks for a stop request: about a millisecond */
#else
  PAUSES = 1 << 12,
  LOOK = 1 << 15,
#endif
};

/* state: loop << 2 * COUNT_BITS | end << COUNT_BITS | next. Each range has its own cache line. */
typedef struct range {
  _Atomic uint64_t state;
  char rest[64 - sizeof(uint64_t)];
} range;

struct rush_pool {
  _Atomic uint32_t turn; /* counts loops; sleeping helpers wait on it */
  _Atomic uint32_t asleep, left, joined;
  /* Counts checks of the waiting main thread since the last chunk was done. A host whose threads
   * may be terminated, such as a page's workers, sees from it that no thread is left to finish the
   * loop. */
  uint32_t waited;
  atomic_bool closed;
  unsigned threads;
  /* The current loop. */
  rush_task *task;
  const void *arg;
  size_t n, grain;
#ifdef RUSH_FUZZ
  uint64_t order;
#endif
  native os;
  range ranges[RUSH_MAX_THREADS];
};

_Static_assert(offsetof(rush_pool, waited) == 16, "js/src/worker/threads.js reads it there");

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* Sleeps while `turn` does not change. */
#ifdef __wasm__

static void sleep_through(rush_pool *p, uint32_t turn) {
  __builtin_wasm_memory_atomic_wait32((int *)&p->turn, (int)turn, -1);
}
static void wake(rush_pool *p) {
  __builtin_wasm_memory_atomic_notify((int *)&p->turn, UINT32_MAX);
}
static void pause_a_bit(unsigned i) {
  (void)i;
}

#else

static void sleep_through(rush_pool *p, uint32_t turn) {
  pthread_mutex_lock(&p->os.lock);
  while (atomic_load(&p->turn) == turn) pthread_cond_wait(&p->os.turned, &p->os.lock);
  pthread_mutex_unlock(&p->os.lock);
}
/* Takes the lock, so that no helper is between its check and its sleep. */
static void wake(rush_pool *p) {
  pthread_mutex_lock(&p->os.lock);
  pthread_cond_broadcast(&p->os.turned);
  pthread_mutex_unlock(&p->os.lock);
}
static void pause_a_bit(unsigned i) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
  if (i % 1024 == 1023) sched_yield();
}

#endif

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Takes up to `some` chunks from the front or, if `behind`, from the end of a range. Returns their
 * number, and sets *chunk to the first. */
static size_t take_of(range *r, size_t some, bool behind, size_t *chunk) {
  uint64_t state = atomic_load(&r->state);
  for (;;) {
    const size_t end = (size_t)(state >> COUNT_BITS & COUNT_MASK);
    const size_t next = (size_t)(state & COUNT_MASK), left = end - next;
    if (left == 0) return 0;
    if (some > left) some = left;
    const uint64_t then = behind ? state - ((uint64_t)some << COUNT_BITS) : state + some;
    if (!atomic_compare_exchange_weak(&r->state, &state, then)) continue;
    *chunk = behind ? end - some : next;
    return some;
  }
}

/* Takes from the thread's own range first, then steals from others. */
static size_t take(rush_pool *p, unsigned who, size_t some, size_t *chunk) {
  size_t taken = take_of(&p->ranges[who], some, false, chunk);
  for (unsigned i = 1; taken == 0 && i < p->threads; i++)
    taken = take_of(&p->ranges[(who + i) % p->threads], some, true, chunk);
  return taken;
}

static size_t run_chunk(rush_pool *p, size_t chunk, unsigned who) {
  const size_t begin = chunk * p->grain;
  const size_t end = p->n - begin < p->grain ? p->n : begin + p->grain;
  p->task(p->arg, begin, end, who);
  return end - begin;
}

void rush_pool_help(rush_pool *p) {
  const unsigned who = atomic_fetch_add(&p->joined, 1) + 1;
  if (who >= p->threads) return;
  for (;;) {
    /* In this order: closing sets `closed` before it changes `turn`, so that a helper that sees the
     * last turn ends, and does not sleep through it. */
    const uint32_t turn = atomic_load(&p->turn);
    if (atomic_load(&p->closed)) return;
    size_t chunk;
    while (take(p, who, 1, &chunk)) {
      run_chunk(p, chunk, who);
      atomic_fetch_sub(&p->left, 1);
    }
    for (unsigned i = 0; i < PAUSES && atomic_load(&p->turn) == turn; i++) pause_a_bit(i);
    if (atomic_load(&p->turn) != turn) continue;
    atomic_fetch_add(&p->asleep, 1);
    sleep_through(p, turn);
    atomic_fetch_sub(&p->asleep, 1);
  }
}

static void announce(rush_pool *p) {
  atomic_fetch_add(&p->turn, 1);
  if (atomic_load(&p->asleep) > 0) wake(p);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static bool serial(rush_ctx *ctx, size_t n, uint64_t work, rush_task *task, const void *arg) {
  if (work > LONG) work = LONG; /* such items check by themselves */
  const size_t grain = work > MAX_STEPS ? 1 : (size_t)(MAX_STEPS / (work + 1)) + 1;
  for (size_t i = 0; i < n; i += grain) {
    const size_t some = n - i < grain ? n - i : grain;
    if (rush_should_stop(ctx, work * some)) return true;
    task(arg, i, i + some, 0);
  }
  return false;
}

/* Waits for the chunks that other threads have taken, and checks for a stop request meanwhile. */
static void wait_for_others(rush_ctx *ctx, rush_pool *p) {
  uint32_t left, before = 0;
  for (unsigned i = 1; (left = atomic_load(&p->left)) > 0; i++) {
    pause_a_bit(i);
    if (i % LOOK > 0) continue;
    p->waited = left == before ? p->waited + 1 : 0;
    before = left;
    (void)rush_poll_should_stop(ctx);
  }
  p->waited = 0;
}

/* Divides the chunks of a new loop among the threads. */
static void give_ranges(rush_pool *p, size_t chunks) {
  atomic_store(&p->left, (uint32_t)chunks);
  const uint64_t loop = (atomic_load(&p->ranges[0].state) >> 2 * COUNT_BITS) + 1;
  for (unsigned i = 0; i < p->threads; i++)
    atomic_store(&p->ranges[i].state, loop << 2 * COUNT_BITS |
                                          (uint64_t)(chunks * (i + 1) / p->threads) << COUNT_BITS |
                                          (uint64_t)(chunks * i / p->threads));
}

#ifdef RUSH_FUZZ

/* Runs the first chunks of a loop in a drawn order, each as a drawn thread, and then the rest. */
static bool in_drawn_order(rush_ctx *ctx, rush_pool *p, size_t chunks, uint64_t total) {
  enum { DRAWN = 64 };
  bool done[DRAWN] = {false};
  const size_t drawn = chunks < DRAWN ? chunks : DRAWN;
  for (size_t k = 0; k < chunks; k++) {
    p->order = p->order * 6364136223846793005u + 1442695040888963407u;
    size_t chunk = k < drawn ? (size_t)(p->order >> 33) % drawn : k;
    while (k < drawn && done[chunk]) chunk = (chunk + 1) % drawn;
    if (k < drawn) done[chunk] = true;
    run_chunk(p, chunk, (unsigned)(p->order >> 20) % p->threads);
  }
  return rush_should_stop(ctx, total);
}

void rush_threads_draw_order(rush_ctx *ctx, uint64_t seed) {
  if (ctx->pool) ctx->pool->order = seed | 1;
}

#endif

bool rush_parallel(rush_ctx *ctx, size_t n, uint64_t work, rush_task *task, const void *arg) {
  rush_pool *p = ctx ? ctx->pool : NULL;
  uint64_t total;
  if (RUSH_LIKELY(!p) || n < 2 || work > LONG ||
      __builtin_mul_overflow(work, (uint64_t)n, &total) || total < RUSH_MIN_WORK)
    return serial(ctx, n, work, task, arg);

  size_t chunks =
      total / CHUNK < p->threads * CHUNKS ? (size_t)(total / CHUNK) : p->threads * CHUNKS;
  if (total / MAX_STEPS > chunks)
    chunks = total / MAX_STEPS < COUNT_MASK ? (size_t)(total / MAX_STEPS) : COUNT_MASK;
  if (chunks > n) chunks = n;
  p->grain = (n + chunks - 1) / chunks;
  chunks = (n + p->grain - 1) / p->grain;
  p->n = n;
  p->task = task;
  p->arg = arg;
#ifdef RUSH_FUZZ
  if (p->order) return in_drawn_order(ctx, p, chunks, total);
#endif
  give_ranges(p, chunks);
  announce(p);

  uint64_t counted = 0;
  size_t chunk, skipped;
  bool stopped = ctx->stopped;
  while (!stopped && take(p, 0, 1, &chunk)) {
    const uint64_t done = work * run_chunk(p, chunk, 0);
    atomic_fetch_sub(&p->left, 1);
    counted += done;
    stopped = rush_should_stop(ctx, done);
  }
  while (stopped && (skipped = take(p, 0, SIZE_MAX, &chunk)) > 0)
    atomic_fetch_sub(&p->left, (uint32_t)skipped);
  wait_for_others(ctx, p);
  return rush_should_stop(ctx, total - counted) || stopped;
}

unsigned rush_threads(const rush_ctx *ctx) {
  return ctx && ctx->pool ? ctx->pool->threads : 1;
}

/* ---- The pool -------------------------------------------------------------------------------- */

#ifdef __wasm__

/* A helper may access the pool after it was closed, so it is never freed. An instance has
 * only one. */
static rush_status make(rush_ctx *ctx, rush_pool **out) {
  static rush_pool only;
  (void)ctx;
  only.closed = false;
  *out = &only;
  return RUSH_OK;
}
static void start(rush_pool *p) {
  (void)p;
}
static void end(rush_ctx *ctx, rush_pool *p) {
  (void)ctx, (void)p;
}

#else

static rush_status make(rush_ctx *ctx, rush_pool **out) {
  void *p;
  RUSH_TRY(rush_calloc(ctx, 1, sizeof(rush_pool), &p));
  *out = p;
  return RUSH_OK;
}
static void *help(void *pool) {
  rush_pool_help(pool);
  return NULL;
}
/* If the system starts fewer threads than requested, the pool works with those. */
static void start(rush_pool *p) {
  pthread_mutex_init(&p->os.lock, NULL);
  pthread_cond_init(&p->os.turned, NULL);
  while (p->os.n + 1 < p->threads && pthread_create(&p->os.thread[p->os.n], NULL, help, p) == 0)
    p->os.n++;
}
static void end(rush_ctx *ctx, rush_pool *p) {
  for (unsigned i = 0; i < p->os.n; i++) pthread_join(p->os.thread[i], NULL);
  pthread_cond_destroy(&p->os.turned);
  pthread_mutex_destroy(&p->os.lock);
  rush_release(ctx, p, sizeof *p);
}

#endif

void rush_threads_destroy(rush_ctx *ctx) {
  rush_pool *p = ctx->pool;
  if (!p) return;
  ctx->pool = NULL;
  atomic_store(&p->closed, true);
  atomic_fetch_add(&p->turn, 1);
  wake(p);
  end(ctx, p);
}

rush_status rush_ctx_set_threads(rush_ctx *ctx, unsigned threads) {
  RUSH_CHECK(ctx, threads >= 1 && threads <= RUSH_MAX_THREADS, RUSH_ERR_BAD_ARGUMENT,
             "threads must be between 1 and %d, got %u", RUSH_MAX_THREADS, threads);
  rush_threads_destroy(ctx);
  if (threads == 1) return RUSH_OK;
  RUSH_TRY(make(ctx, &ctx->pool));
  ctx->pool->threads = threads;
  start(ctx->pool);
  return RUSH_OK;
}

rush_pool *rush_ctx_pool(const rush_ctx *ctx) {
  return ctx->pool;
}
