// The search runs in a worker, which browsers refuse to pages that were opened from the file system.
// There it runs in a hidden frame of the page instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inner = this.#frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.#loaded = new Promise((loaded, failed) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: url, onload: loaded, onerror: failed });
        inner.document.body.append(script);
      });
    }

    async postMessage(data) {
      await this.#loaded;
      const inner = this.#frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
