// Every pass: rewrites a graph in place and returns whether it changed anything. A second run at
// once changes nothing. What a pass does not match it leaves alone.
#pragma once

#include "ir/program.h"

namespace rush {

// What torch.export and make_fx write in words of their own: `view_copy` becomes a view and a copy, a
// number where a tensor is wanted the operator with a Scalar or a tensor, `sym_size` a size,
// attention with the kernel's name attention; what only tells a compiler something goes.
bool plain_operators(Graph &graph);

// Casts that only inform the type checker go; a value that is never read is None.
bool drop_casts(Graph &graph);

// Operators that give back their first argument at inference: dropout, detach, `to` without effect.
bool drop_identities(Graph &graph);

// f(x, out=y) becomes rush::copy_out(y, f(x)).
bool split_out(Graph &graph);

// x.f_(y) of a form that the runtime lacks becomes rush::copy_in_place(x, f(x, y)).
bool split_in_place(Graph &graph);

// Lists and tuples of constants that nobody writes become constants.
bool fold_containers(Graph &graph);

// A batch norm in evaluation behind a convolution, all of constant parameters, goes into its weight
// and bias.
bool fold_batch_norm(Graph &graph);

// Convolutions of float32 with constant parameters become rush::conv, which takes in a preceding
// zero padding and a following clamp. Weights are arranged for kernels: channels last.
bool fuse_conv(Graph &graph);

// The same for linear, addmm, matmul and mm with a constant matrix, and a following bias and clamp.
bool fuse_linear(Graph &graph);

// Squeeze-and-excitation: rush::conv of an input times the scale of its channels becomes
// rush::scaled_conv. After quantizing, which knows the two alone.
bool fuse_scale(Graph &graph);

// Concatenation to an attribute that the result replaces becomes rush::grow, which leaves room for the next.
bool grow_cat(Graph &graph);

// Trailing arguments that equal their default go. An operator that the runtime lacks keeps them: in
// the schema's text libtorch writes some defaults otherwise than they are, `int[] x=[0, 0]` as 0.
bool trim_defaults(Graph &graph);

// Nodes that nobody needs; never one with a side effect.
bool drop_dead(Graph &graph);

// Many rounds of the same nodes, as tracing unrolls a loop of Python, become a loop.
bool fold_rounds(Graph &graph);

// An attribute that no method writes is a constant.
bool settle_attributes(Program &program);

// A constant tensor that the program writes in place is state: PyTorch keeps what was written.
bool keep_written_constants(Program &program);

// Tensors without a name are called "constant.0", ... so that tools can give them back.
bool name_constants(Program &program);

}  // namespace rush
