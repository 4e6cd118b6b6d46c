/* A session: all mutable state of a model's runs. */
#ifndef RUSH_SESSION_H
#define RUSH_SESSION_H

#include "base/mt19937.h"
#include "model/constant.h"

typedef struct rush_chain rush_chain;

/* Observes the results of instructions. */
typedef struct rush_observer {
  /* Gets the borrowed results of an operator, or of an IF or a LOOP at its end. */
  void (*see)(rush_session *s, const rush_code *c, const rush_value *results, uint32_t n);
  /* Drops everything that the session's `observed` refers to. */
  void (*end)(rush_session *s);
} rush_observer;

struct rush_session {
  rush_ctx *ctx;
  const rush_model *m;
  rush_heap heap;
  rush_value *constants;   /* m->n_constants */
  rush_storage **storages; /* m->n_storages borrowed storages of the constants */
  rush_value *defaults;    /* m->n_defaults */
  rush_value *attributes;  /* m->n_attributes */
  rush_value *initials;    /* m->n_ports: mutable defaults, once one was used */
  rush_value *registers;   /* of the current method */
  uint32_t n_registers;    /* capacity */
  /* Per instruction: for an active LOOP, the iterations done and their maximum; for rush::chain,
   * its rush_chain. */
  int64_t *iterations;
  rush_chain *chains; /* all chains, and the function that frees them (or NULL) */
  void (*end_chains)(rush_session *s);
  rush_value *args, *results; /* of the current instruction: m->max_in, m->max_out */
  rush_random own_random, test_random;
  rush_random *random; /* the generator of the run: its own, or that of a test vector */

  /* The maximum number of instructions of a run (0: unlimited), and the number of executed ones. */
  uint64_t step_limit, steps;
  bool running;
  bool shows; /* the results of the current instruction are on their way to memory */
  /* An instruction is running: print and poll functions must not enter the session. */
  bool stepping;
  uint32_t method, pc;
  uint32_t next; /* the instruction after the current one, which may change it */
  /* The first input of the run whose dtype or shape differs from the export's, or NONE; its own. */
  uint32_t odd_port;
  rush_file_hint odd;
  rush_value result;

  const rush_observer *observer; /* NULL if there is none */
  void *observed;                /* the observer's data */
  size_t observed_bytes;         /* its size */

  rush_clock_fn clock; /* NULL if not profiling */
  void *clock_user;
  struct rush_timing {
    double seconds;
    uint64_t calls;
  } *timings; /* m->n_instrs if profiling */
};

/* Creates a deep copy of a constant, which the caller may write. */
rush_status rush_session_copy(rush_session *s, uint32_t constant, rush_value *out);
/* Puts the input that differs from the export's example, if there is one, before the message of a
 * run that failed with this status. */
void rush_note_odd_input(rush_session *s, rush_status status);
/* Fails with BAD_STATE while a step is running. */
rush_status rush_session_not_stepping(const rush_session *s);
/* Between these two, drops end soon after a stop request (rush_drop). */
void rush_session_enter(rush_session *s);
void rush_session_leave(rush_session *s);
/* Drops the values of a run that has ended or is abandoned. */
void rush_session_clear(rush_session *s);
/* Steps to the end of the current run. If the host must compute an operator, fails with BAD_STATE
 * and ends the run. */
rush_status rush_session_finish(rush_session *s);
/* Resolves the arguments of an operator's instruction into s->args and checks them. */
rush_status rush_gather_args(rush_session *s, const rush_code *c, uint32_t *n_args);
/* Drops the registers whose last use is instruction `c`. */
void rush_drop_after(rush_session *s, const rush_code *c);
/* Moves the results to the output registers. */
void rush_set_results(rush_session *s, const rush_code *c, const rush_value *results);
/* Sets the observer of results, with `bytes` zeroed bytes for its data. Fails with BAD_STATE if the
 * session already has one. */
rush_status rush_observe_with(rush_session *s, const rush_observer *observer, size_t bytes);
/* Removes the observer. */
void rush_observe_end(rush_session *s);

#endif
