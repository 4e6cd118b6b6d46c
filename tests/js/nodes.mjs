// The two Nodes that run these tests: the oldest supported one, and a current one (current-node.test.js).

import { realpathSync } from 'node:fs';

/** The path of the current one, from ./dev. */
export const current = process.env.RUSH_NODE_CURRENT;

/** The reason to skip a test that needs both binaries; false in the current Node, and if there is none. */
export const leftToCurrent =
  current && realpathSync(current) !== realpathSync(process.execPath)
    ? 'the current Node runs it, on both binaries: $RUSH_NODE_CURRENT --test FILE'
    : false;

/** The reason to skip a test whose outcome does not depend on the Node; false in the first Node. */
export const ranBefore = process.env.RUSH_SECOND_NODE
  ? 'it is the same in every Node, and was run in the first'
  : false;

/**
 * Options of Node for short programs, which the tests start many hundred times. When it ends, Node 20 waits for its
 * background compilation, and about once in 10,000 times that waits for a garbage collection.
 */
export const ending = ['--no-concurrent-recompilation'];
