#include "quantize/quantize.h"

namespace rush {

Const run_batch(NativeSession *session, const Batch &batch) {
  try {
    return session->run(0, batch.args);
  } catch (const RuntimeError &e) {
    RuntimeError named(e.status, batch.name + ": " + e.what());
    named.op = e.op, named.source = e.source;
    throw named;
  }
}

}  // namespace rush
