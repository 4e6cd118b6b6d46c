// Runs in the audio thread and passes blocks of the microphone to the page.
class Capture extends AudioWorkletProcessor {
  #block = new Float32Array(0);

  /** @param {Float32Array[][]} inputs */
  process([[channel]]) {
    if (!channel) return true;
    const joined = new Float32Array(this.#block.length + channel.length);
    joined.set(this.#block);
    joined.set(channel, this.#block.length);
    this.#block = joined;
    if (joined.length >= 512) {
      // joined to send fewer messages
      this.port.postMessage(joined, [joined.buffer]);
      this.#block = new Float32Array(0);
    }
    return true;
  }
}
registerProcessor('capture', Capture);
