// The report of a run, in a frame without rights on this page; as a whole, or its drawing alone.
import { element } from "./prose.js";

const DRAWING_ALONE = `<style>header, #answers, #source, main ~ *, #graph h2 { display: none !important }
main { display: block !important; padding: 0 !important } #right { display: block !important }
#graph { min-height: 100vh; border: 0 !important; margin: 0 !important } body { overflow: auto }</style></head>`;

export class ReportFrame {
  constructor(panel, { drawingAlone = false, hover = () => {}, empty = "" }) {
    this.panel = panel;
    this.drawingAlone = drawingAlone;
    this.empty = empty;
    this.waiting = null;
    addEventListener("message", ({ source, data }) => {
      if (this.frame && source === this.frame.contentWindow && typeof data?.line === "number") hover(data.line);
    });
    this.clear();
  }

  clear() {
    this.frame = this.waiting = null;
    this.panel.replaceChildren(element("p", { class: "empty" }, this.empty));
  }

  // The page is made when the panel is looked at.
  set(report) {
    this.waiting = report;
    if (!this.panel.hidden) this.shown();
  }

  shown() {
    if (!this.waiting) return;
    this.frame = element("iframe", { sandbox: "allow-scripts", title: this.drawingAlone ? "Gradient flow" : "Report" });
    this.frame.srcdoc = this.drawingAlone ? this.waiting.replace("</head>", DRAWING_ALONE) : this.waiting;
    this.waiting = null;
    if (this.drawingAlone) this.frame.addEventListener("load", () => this.light(0));
    this.panel.replaceChildren(this.frame);
  }

  light(line) {
    this.frame?.contentWindow?.postMessage({ line }, "*");
  }
}
