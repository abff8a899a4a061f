// Browsers start no worker for a page that is opened from the disk. The only worker of the site is its search: here it
// runs in a hidden frame instead, with the methods and events of a worker.
if (location.protocol === "file:") {
  const script = (postMessage, importScripts, url) => `<!doctype html><body>
    <script>postMessage = ${postMessage}; importScripts = ${importScripts}</script>
    <script src="${url}"></script>
  </body>`

  const postToPage = data => parent.postMessage(data, "*")

  const importInOrder = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(resolve => {
    const script = document.createElement("script")
    script.src = url
    script.onload = resolve
    document.body.appendChild(script)
  })), Promise.resolve())

  window.Worker = window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      window.addEventListener("message", event => this.receive(event))
      const page = this.frame.contentDocument
      page.open()
      this.loaded = new Promise(resolve => this.frame.addEventListener("load", resolve))
      page.write(script(postToPage, importInOrder, url))
      page.close()
    }

    receive(event) {
      if (event.source === this.frame.contentWindow) {
        this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      }
    }

    async postMessage(data) {
      await this.loaded
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
