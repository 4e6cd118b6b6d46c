#include "run/diff.h"

#include <algorithm>
#include <cstdio>

#include "base/counted.h"
#include "run/compare.h"
#include "run/runtime_values.h"
#include "rushlight/trace.h"

namespace rush {

namespace {

void tolerances_of(const Trace &trace, double *rtol, double *atol) {
  double r = 0, a = 0;
  auto widen = [&](const Const &value) {
    double value_r, value_a;
    default_tolerance(value, false, &value_r, &value_a);
    r = std::max(r, value_r);
    a = std::max(a, value_a);
  };
  if (trace.result) widen(*trace.result);
  for (const Traced &node : trace.nodes)
    for (const Const &value : node.results) widen(value);
  if (*rtol < 0) *rtol = r;
  if (*atol < 0) *atol = a;
}

// Converts a trace for the runtime. Values that it cannot represent are not compared.
class Items {
 public:
  Items(const Trace &trace, RuntimeValues *values) {
    values_.reserve(2 * trace.nodes.size());
    for (const Traced &node : trace.nodes) {
      const std::vector<rush_value> &results = make_values(node.results, values);
      const std::vector<rush_value> &exact = make_values(node.exact, values);
      items_.push_back({node.handle, results.data(), results.size(),
                        exact.size() == results.size() ? exact.data() : nullptr});
    }
  }
  const std::vector<rush_traced> &list() const { return items_; }

 private:
  const std::vector<rush_value> &make_values(const std::vector<Const> &from,
                                             RuntimeValues *values) {
    std::vector<rush_value> &out = values_.emplace_back();
    try {
      for (const Const &value : from) out.push_back(values->make(value));
    } catch (const std::invalid_argument &) {
      out.clear();
    } catch (const RuntimeError &e) {
      if (e.status == RUSH_ERR_NO_MEMORY) throw;
      out.clear();
    }
    return out;
  }

  std::vector<std::vector<rush_value>> values_;
  std::vector<rush_traced> items_;
};

// Returns the result of a comparison; `failure` is the message of a run that failed.
Divergence ended(NativeSession &session, const std::string &failure) {
  rush_trace_report report;
  const rush_status status = rush_session_trace_end(session.get(), &report);
  Divergence out;
  if (status == RUSH_ERR_MISMATCH)
    out.where = rush_ctx_error(session.ctx());
  else
    session.check(status);
  if (out.where.empty()) out.where = failure;
  out.agree = out.where.empty();
  out.compared = report.compared;
  out.unpaired = report.unpaired;
  out.max_abs = report.max_abs;
  out.max_rel = report.max_rel;
  return out;
}

// Runs the method and compares with the trace.
Divergence run_beside(NativeSession &session, size_t method, const std::vector<Const> &args,
                      const Trace &trace, double rtol, double atol, Const *result) {
  RuntimeValues values(session.ctx(), session.get());
  const Items items(trace, &values);
  session.check(
      rush_session_trace(session.get(), items.list().data(), items.list().size(), rtol, atol));
  std::string failure;
  try {
    *result = session.run(method, args);
  } catch (const RuntimeError &e) {
    failure = e.what();
  }
  return ended(session, failure);
}

}  // namespace

Divergence diff(NativeSession &session, size_t method, const std::vector<Const> &args,
                const Trace &trace, double rtol, double atol) {
  const bool by_rule = rtol < 0 && atol < 0;
  tolerances_of(trace, &rtol, &atol);
  session.reset();
  session.manual_seed(RUSH_TEST_SEED);
  Const result;
  Divergence out = run_beside(session, method, args, trace, rtol, atol, &result);
  if (!out.agree || !trace.result) return out;
  bool unstable = false;
  std::vector<Measure> measures =
      measures_of(*trace.result, trace.exact ? &*trace.exact : nullptr, false, &unstable);
  for (Measure &m : measures) m.rtol = rtol, m.atol = atol;
  const Difference last =
      compare(result, *trace.result, rtol, atol, "the result", by_rule ? &measures : nullptr);
  out.agree = last.ok;
  out.where = last.where;
  return out;
}

Divergence diff_test(NativeSession &session, size_t test) {
  session.check(rush_session_trace_test(session.get(), test));
  const rush_status status = rush_session_step(session.get(), 0);
  const std::string failure = status == RUSH_OK ? "" : rush_ctx_error(session.ctx());
  return ended(session, failure);
}

std::string to_string(const Divergence &d) {
  char line[200];
  std::snprintf(
      line, sizeof line, "%s with PyTorch's, max abs %.3g, max rel %.3g; %llu %s no counterpart\n",
      (counted(d.compared, "value") + (d.compared == 1 ? " agrees" : " agree")).c_str(), d.max_abs,
      d.max_rel, static_cast<unsigned long long>(d.unpaired), d.unpaired == 1 ? "has" : "have");
  return line + (d.agree ? std::string() : "then they part: " + d.where + "\n");
}

}  // namespace rush
