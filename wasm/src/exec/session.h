/* A session: everything of a model's runs that changes. */
#ifndef RUSH_SESSION_H
#define RUSH_SESSION_H

#include "base/mt19937.h"
#include "model/constant.h"

typedef struct rush_chain rush_chain;

/* Who sees what instructions give. */
typedef struct rush_observer {
  /* The results of an operator, or those of an IF or a LOOP at its end; borrowed. */
  void (*see)(rush_session *s, const rush_code *c, const rush_value *results, uint32_t n);
  /* Drops what the session's `observed` refers to. */
  void (*end)(rush_session *s);
} rush_observer;

struct rush_session {
  rush_ctx *ctx;
  const rush_model *m;
  rush_heap heap;
  rush_value *constants;   /* m->n_constants */
  rush_storage **storages; /* m->n_storages, borrowed ones of the constants */
  rush_value *defaults;    /* m->n_defaults */
  rush_value *attributes;  /* m->n_attributes */
  rush_value *initials;    /* m->n_ports: defaults that a program may write, once one was used */
  rush_value *registers;   /* of the running method */
  uint32_t n_registers;    /* room */
  int64_t *
      iterations; /* per instruction that is a LOOP in progress: iterations done, and the most; that is
                      rush::chain: its rush_chain */
  rush_chain *chains; /* all of them, and what frees them (NULL where there are none) */
  void (*end_chains)(rush_session *s);
  rush_value *args, *results; /* of the instruction at work: m->max_in, m->max_out */
  rush_random own_random, test_random,
      *random; /* the one of the run: its own, or that of a test vector */

  uint64_t step_limit, steps; /* of a run: the most instructions (0: any number), and those done */
  bool running;
  bool stepping; /* an instruction is at work: a print or poll function may not enter the session */
  uint32_t method, pc;
  uint32_t next; /* the instruction after the one at work, which may set it */
  uint32_t
      odd_port; /* the run's first input with a dtype that the export's did not have; or NONE */
  int odd_dtype;
  rush_value result;

  const rush_observer *observer; /* NULL: nobody looks */
  void *observed;                /* the observer's own, */
  size_t observed_bytes;         /* of so many bytes */

  rush_clock_fn clock; /* NULL: no profile */
  void *clock_user;
  struct rush_timing {
    double seconds;
    uint64_t calls;
  } *timings; /* m->n_instrs where a profile was asked for */
};

/* A copy of a constant, made in full: whoever gets it may write it. */
rush_status rush_session_copy(rush_session *s, uint32_t constant, rush_value *out);
/* Drops the values of a run that has ended or is given up. */
void rush_session_clear(rush_session *s);
/* Steps to the end of a run that has begun; BAD_STATE, and no run, where an operator is computed
 * outside. */
rush_status rush_session_finish(rush_session *s);
/* Resolves the arguments of an operator's instruction into s->args and checks them. */
rush_status rush_gather_args(rush_session *s, const rush_code *c, uint32_t *n_args);
/* Drops what instruction `c` was the last to need. */
void rush_drop_after(rush_session *s, const rush_code *c);
/* Registers `out` take over the values. */
void rush_set_results(rush_session *s, const rush_code *c, const rush_value *results);
/* Makes `observer` the one that sees results, with `bytes` zeroed bytes of its own; BAD_STATE where
 * the session has one. */
rush_status rush_observe_with(rush_session *s, const rush_observer *observer, size_t bytes);
/* Nobody looks from now on. */
void rush_observe_end(rush_session *s);

#endif
