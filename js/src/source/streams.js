// Sources for load() from chunks of bytes, and sources that can be read more than once.

import { tagOf } from '../base/platform.js';

/**
 * Returns a stream of these chunks for load().
 * @param {AsyncGenerator<Uint8Array>} chunks
 * @param {string} name for messages
 * @param {() => void} [stop]
 */
export function asResponse(chunks, name, stop) {
  const response = new Response(
    new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (value));
        },
        cancel() {
          stop?.();
          return chunks.return(undefined).then(
            () => {},
            () => {},
          );
        },
      },
      { highWaterMark: 0 },
    ),
  );
  return Object.defineProperty(response, 'url', { value: name });
}

/** Tests whether the bytes of a source can be read more than once. @param {unknown} source */
export const isReadableAgain = (source) => !['Response', 'ReadableStream'].includes(tagOf(source) ?? '');
