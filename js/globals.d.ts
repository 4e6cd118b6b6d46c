// What the types of this package name and a project's own `lib` may lack: WebAssembly in Node, Symbol.dispose before
// TypeScript 5.2, and all of the web where there is neither "dom" nor @types/node. Where the project has them, these add nothing.

interface AbortSignal {}
interface Blob {}
interface MediaStream {}
interface ReadableStream<R = any> {}
interface Response {}
interface URL {}
interface Worker {}

declare namespace WebAssembly {
  interface Memory {}
  interface Module {}
}

interface Disposable {
  [Symbol.dispose](): void;
}
interface SymbolConstructor {
  readonly dispose: unique symbol;
}
