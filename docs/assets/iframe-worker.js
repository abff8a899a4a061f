// A worker in a hidden frame: browsers start no real one for pages that are opened from the disk. The search is the
// only worker of the site. The names of the methods and events are those of the Web Workers API.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inner = this.frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source !== inner) return
        this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
      this.loaded = new Promise(resolve => inner.addEventListener("load", resolve))
      const page = inner.document
      page.open()
      page.write(`<script>
        postMessage = data => parent.postMessage(data, "*")
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(resolve => {
          const script = document.createElement("script")
          script.src = url
          script.onload = resolve
          document.body.appendChild(script)
        })), Promise.resolve())
      <\/script><body><script src="${url}"><\/script></body>`)
      page.close()
      inner.addEventListener("load", () => this.resolveLoad && this.resolveLoad())
    }

    postMessage(data) {
      this.loaded.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }))
      })
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
