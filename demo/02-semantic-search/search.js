// A semantic index: sentences as unit vectors, ranked by their dot product with the query's.

import { batch } from './tokenizer.js';

const WIDTH = 384;

export class SemanticIndex {
  /**
   * @param {{run: (inputs: any) => Promise<Record<string, any>>}} model
   * @param {(text: string) => number[]} tokenize
   */
  constructor(model, tokenize) {
    this.model = model;
    this.tokenize = tokenize;
    /** @type {string[]} */
    this.sentences = [];
    this.vectors = new Float32Array(0);
  }

  /** Returns the vectors of some texts, in order. @param {string[]} texts @returns {Promise<Float32Array>} */
  async embed(texts) {
    const { embedding } = await this.model.run(batch(texts.map(this.tokenize)));
    return embedding.data;
  }

  /**
   * Adds sentences, eight at a time. Sentences of similar length share a batch, because a batch is as wide
   * as its longest member.
   * @param {string[]} sentences @param {(done: number) => void | Promise<void>} [onProgress]
   */
  async add(sentences, onProgress) {
    const order = sentences
      .map((text, i) => ({ i, length: this.tokenize(text).length }))
      .sort((a, b) => a.length - b.length);
    const vectors = new Float32Array(sentences.length * WIDTH);
    for (let at = 0; at < order.length; at += 8) {
      const part = order.slice(at, at + 8);
      const embedded = await this.embed(part.map(({ i }) => sentences[i]));
      part.forEach(({ i }, row) => vectors.set(embedded.subarray(row * WIDTH, (row + 1) * WIDTH), i * WIDTH));
      await onProgress?.(at + part.length);
    }
    const all = new Float32Array(this.vectors.length + vectors.length);
    all.set(this.vectors);
    all.set(vectors, this.vectors.length);
    this.sentences = [...this.sentences, ...sentences];
    this.vectors = all;
  }

  /** Returns the nearest sentences. @param {string} query @param {number} [count] */
  async search(query, count = 10) {
    const vector = await this.embed([query]);
    const scores = this.sentences.map((text, i) => {
      let score = 0;
      for (let k = 0; k < WIDTH; k++) score += vector[k] * this.vectors[i * WIDTH + k];
      return { text, score };
    });
    return scores.sort((a, b) => b.score - a.score).slice(0, count);
  }
}
