// The two Nodes that run these tests: the oldest that is supported, and a current one (current-node.test.js).

import { realpathSync } from 'node:fs';

/** The current one; ./dev names it. */
export const current = process.env.RUSH_NODE_CURRENT;

/** Why what both binaries are for is left to the current Node, which has both; false in it, and where there is none. */
export const leftToCurrent =
  current && realpathSync(current) !== realpathSync(process.execPath)
    ? 'the current Node runs it, on both binaries: $RUSH_NODE_CURRENT --test FILE'
    : false;

/** Why what no Node has a part in is not run again; false in the first. */
export const ranBefore = process.env.RUSH_SECOND_NODE
  ? 'it is the same in every Node, and was run in the first'
  : false;

/**
 * What a short program is started with here, many hundred times: at its end Node 20 waits for what it still compiles,
 * which once in some ten thousand times waits for Node to collect garbage.
 */
export const ending = ['--no-concurrent-recompilation'];
