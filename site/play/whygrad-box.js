// <whygrad-box>: a program in a page, which runs where it stands. Needs no build step:
//   <script type="module" src="https://.../play/whygrad-box.js"></script>
//   <whygrad-box><pre>import torch ...</pre></whygrad-box>
// Until somebody asks for it, it is text: Python is loaded at the first click.
const HERE = new URL("./", import.meta.url).href;

class WhygradBox extends HTMLElement {
  connectedCallback() {
    if (this.button) return;
    this.source = (this.querySelector("pre") ?? this).textContent.replace(/^\n/, "");
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "whygrad-run";
    this.button.textContent = "▶ Run and explain";
    this.button.addEventListener("click", () => this.open());
    this.append(this.button);
  }

  async open() {
    const { addressOf } = await import(`${HERE}share.js`);
    const frame = document.createElement("iframe");
    frame.src = await addressOf(this.source, `${HERE}index.html?embed&run`);
    frame.title = "A Python program that runs in this page";
    frame.allow = "clipboard-write";
    const height = this.getAttribute("height") ?? "36rem";
    frame.style.cssText = `width: 100%; border: 1px solid #8884; border-radius: 8px; height: ${height}`;
    this.replaceChildren(frame);
  }
}

customElements.define("whygrad-box", WhygradBox);
