// Every pass rewrites a graph in place and returns whether it changed anything. A second run right
// after it changes nothing. A pass does not change what it does not match.
#pragma once

#include <functional>

#include "ir/program.h"

namespace rush {

// Replaces the operators that only torch.export and make_fx use: `view_copy` becomes a view and a
// copy, a number in place of a tensor becomes a Scalar operator or a tensor, `sym_size` becomes a
// size, and attention of a certain kernel becomes attention. Notes for compilers are dropped.
bool canonicalize(Graph &graph);

// Drops casts that only inform the type checker. A value that is never read becomes None.
bool drop_casts(Graph &graph);

// Drops operators that return their first argument at inference: dropout, detach, `to` without
// effect.
bool drop_identities(Graph &graph);

// f(x, out=y) becomes rush::copy_out(y, f(x)).
bool split_out(Graph &graph);

// x.f_(y) of a form that the runtime lacks becomes rush::copy_in_place(x, f(x, y)).
bool split_in_place(Graph &graph);

// Lists and tuples of constants that nobody writes become constants.
bool fold_containers(Graph &graph);

// Folds a batch norm in evaluation mode into the weight and bias of the convolution before it, if
// all parameters are constant.
bool fold_batch_norm(Graph &graph);

// Convolutions of float32 with constant parameters become rush::conv, which includes a preceding
// zero padding and a following clamp. Weights become channels-last, as kernels need them.
bool fuse_conv(Graph &graph);

// Does the same for linear, addmm, matmul and mm with a constant matrix, and a following bias and
// clamp.
bool fuse_linear(Graph &graph);

// Does the same for wanted weights [out, in] of float16 and bfloat16, without a bias or a clamp
// that follows. Quantizing reads rush::linear. Other such layers keep PyTorch's rounding.
using IsWanted = std::function<bool(const Node &, const Const &weight)>;
bool fuse_linear_of_halves(Graph &graph, const IsWanted &is_wanted);

// Fuses squeeze-and-excitation: rush::conv of an input times the scale of its channels becomes
// rush::scaled_conv. It runs after quantizing, which matches the two separately.
bool fuse_scale(Graph &graph);

// A concatenation to an attribute whose value the result replaces becomes rush::grow, which leaves
// room for the next one.
bool grow_cat(Graph &graph);

// Attention over keys and values whose heads expand() and reshape() repeat becomes
// rush::repeated_attention, which does not copy them.
bool fuse_attention(Graph &graph);

// cat([-x[.., n:], x[.., :n]], dim) of rotary positions becomes rush::rotate_half.
bool fuse_rotary(Graph &graph);

// x * rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) of float32 becomes rush::rms_norm.
bool fuse_rms_norm(Graph &graph);

// Drops trailing arguments that equal their default. An operator that the runtime lacks keeps them,
// as libtorch prints some defaults incorrectly in a schema (`int[] x=[0, 0]` as 0).
bool trim_defaults(Graph &graph);

// Drops unused nodes without a side effect.
bool drop_dead(Graph &graph);

// Rolls up a loop that tracing has unrolled: iterations of the same nodes become a loop again.
bool reroll_loops(Graph &graph);

// An attribute that no method writes becomes a constant.
bool freeze_attributes(Program &program);

// A constant tensor that the program writes in place becomes an attribute, as PyTorch keeps its
// state.
bool keep_written_constants(Program &program);

// Tensors without a name are named "constant.0", ..., so that tools can return them.
bool name_constants(Program &program);

}  // namespace rush
