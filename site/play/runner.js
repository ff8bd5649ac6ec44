// Python in workers. A spare one stands ready, so that Stop costs no time.

export class Runner {
  // `listeners`: progress(text), output(text, kind), result(result), died(text), idle().
  constructor(listeners, { spare = true } = {}) {
    this.listeners = listeners;
    this.wantsSpare = spare;
    this.spare = null;
    this.busy = false;
    this.current = this.start();
  }

  start() {
    const worker = new Worker("worker.js", { type: "module" });
    const held = { worker, ready: null };
    held.ready = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) resolve(data.ready);
        else if (data.failed) reject(new Error(data.failed));
        else if (held === this.current) this.hear(data);
      };
      worker.onerror = (event) => reject(new Error(event.message || "the worker could not be loaded"));
    });
    held.ready.catch((error) => {
      if (held !== this.current) return;
      this.busy = false;
      this.listeners.died(`Python could not be loaded: ${error.message}`);
    });
    return held;
  }

  hear(data) {
    if (data.progress) this.listeners.progress(data.progress);
    if (data.text !== undefined) this.listeners.output(data.text, data.kind);
    if (data.result) {
      this.busy = false;
      this.listeners.result(data.result);
      this.keepSpare();
    }
    if (data.died) {
      this.replace();
      this.listeners.died(data.died);
    }
  }

  keepSpare() {
    if (this.wantsSpare) this.spare ??= this.start();
  }

  run(source) {
    this.busy = true;
    this.current ??= this.start();
    this.current.worker.postMessage({ source });
  }

  // End the program that runs.
  stop() {
    if (this.busy) this.replace();
  }

  replace() {
    this.current.worker.terminate();
    this.current = this.spare ?? this.start();
    this.spare = null;
    this.busy = false;
    this.current.ready.then(
      () => this.keepSpare(),
      () => {},
    );
  }

  // Give memory back until the next run.
  rest() {
    if (this.busy || !this.current) return;
    this.current.worker.terminate();
    this.current = null;
  }
}
