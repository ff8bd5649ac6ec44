// Tabs, as the keyboard and a screen reader expect them.

export class Tabs {
  constructor(list, chosen) {
    this.tabs = [...list.querySelectorAll("[role=tab]")];
    this.chosen = chosen;
    for (const tab of this.tabs) tab.addEventListener("click", () => this.choose(tab.getAttribute("aria-controls")));
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const at = this.tabs.indexOf(document.activeElement),
        next = this.tabs[(at + step + this.tabs.length) % this.tabs.length];
      this.choose(next.getAttribute("aria-controls"));
      next.focus();
    });
  }

  choose(name) {
    for (const tab of this.tabs) {
      const isChosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
    this.chosen(name);
  }
}
