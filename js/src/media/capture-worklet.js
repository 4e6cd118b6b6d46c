// Runs in the audio thread: a ring of the newest samples of a microphone. It sends a block when the page asks for one,
// so that a page that is busy gets no messages.

/**
 * AudioWorkletGlobalScope has this class, which the types of the DOM lack.
 * @type {{ new (): { port: MessagePort } }}
 */
const Processor = /** @type {never} */ (Reflect.get(globalThis, 'AudioWorkletProcessor'));

class Capture extends Processor {
  /** The ring, and the numbers of samples that were written, sent, lost and asked for. @type {Float32Array} */
  #ring;
  #written = 0;
  #sent = 0;
  #lost = 0;
  #asked = 0;
  #open = true;

  /** @param {{ processorOptions: { room: number } }} options */
  constructor({ processorOptions: { room } }) {
    super();
    this.#ring = new Float32Array(room);
    this.port.onmessage = ({ data }) => {
      this.#asked = data;
      this.#open = data > 0;
      this.#answer();
    };
  }

  /** @param {Float32Array[][]} inputs @returns {boolean} whether to go on */
  process(inputs) {
    const channel = inputs[0]?.[0];
    if (channel) this.#write(channel);
    this.#answer();
    return this.#open;
  }

  /** Writes samples over the oldest ones. @param {Float32Array} samples */
  #write(samples) {
    const room = this.#ring.length;
    for (let i = 0; i < samples.length; i++)
      this.#ring[(this.#written + i) % room] = /** @type {number} */ (samples[i]);
    this.#written += samples.length;
    const over = this.#written - room - this.#sent;
    if (over <= 0) return;
    this.#lost += over;
    this.#sent += over;
  }

  /** Sends a block if the page waits for one, and the ring has its samples. */
  #answer() {
    if (!this.#asked || this.#written - this.#sent < this.#asked) return;
    const from = this.#sent;
    const samples = Float32Array.from(
      { length: this.#asked },
      (_, i) => /** @type {number} */ (this.#ring[(from + i) % this.#ring.length]),
    );
    this.#sent += this.#asked;
    this.#asked = 0;
    this.port.postMessage({ samples, lost: this.#lost }, [samples.buffer]);
  }
}

/** @type {(name: string, processor: typeof Capture) => void} */ (Reflect.get(globalThis, 'registerProcessor'))(
  'rushlight-capture',
  Capture,
);
