// Handles Ctrl-C in a process with Python.
#pragma once

namespace rush {

// As rush_poll_fn: whether a signal's handler, KeyboardInterrupt for Ctrl-C, raised an exception.
// It is raised in Python again, in the calling thread, as soon as that runs a line. Asked from
// where Python's lock may be held or not.
bool interrupted_in_python(void *);

}  // namespace rush
