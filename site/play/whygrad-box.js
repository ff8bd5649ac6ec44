// <whygrad-box>: a program in a page, which runs where it stands. For a page of any site:
//   <script src="https://.../play/whygrad-box.js" defer></script>
//   <whygrad-box><pre>import torch ...</pre></whygrad-box>
// It is bundled as a classic script: a module of another site is only loaded if its host allows that in a header.
// Until somebody asks for it, it is text: Python is loaded at the first click.
import { addressOf } from "./share.js";

const HERE = new URL("./", document.currentScript.src).href;

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
    const frame = document.createElement("iframe");
    frame.src = await addressOf(this.source, `${HERE}index.html?embed&run`);
    frame.title = "A Python program that runs in this page";
    frame.allow = "clipboard-write";
    const height = this.getAttribute("height") ?? "36rem";
    frame.style.cssText = `width: 100%; border: 1px solid #8884; border-radius: 8px; height: ${height}`;
    this.replaceChildren(frame);
    frame.focus();
  }
}

customElements.define("whygrad-box", WhygradBox);
