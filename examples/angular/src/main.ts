import { Component, provideZonelessChangeDetection, signal, type OnDestroy } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { load } from 'rushlight';
import type { Gate } from 'rushlight/gate.rush';

@Component({
  selector: 'app-root',
  template: `
    <label>Four numbers <input value="1 2 3 4" #numbers (input)="run(numbers.value)" /></label>
    <output>{{ answer() }}</output>
  `,
})
class App implements OnDestroy {
  readonly answer = signal('…');
  readonly #model = load<Gate>('gate.rush', { worker: true, cache: 'auto' });

  constructor() {
    void this.run('1 2 3 4');
  }

  async run(text: string) {
    try {
      const model = await this.#model;
      const { y } = await model.run({ x: [text.trim().split(/\s+/).map(Number)] });
      this.answer.set([...y.data].map((v) => v.toFixed(1)).join(' '));
    } catch (e) {
      this.answer.set(e instanceof Error ? e.message : String(e));
    }
  }

  ngOnDestroy() {
    void this.#model.then((model) => model.dispose());
  }
}

void bootstrapApplication(App, { providers: [provideZonelessChangeDetection()] });
