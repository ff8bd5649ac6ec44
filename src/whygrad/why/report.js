"use strict";
// Draws the graph of the report. graph_layout.py has laid out every box with its inner boxes closed; opening a box moves its
// neighbours apart here, and only visible items are painted. Data is inserted into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const DASHES = { zero: [2, 4], nan: [9, 3, 2, 3], cut: [6, 5], frozen: [1, 4], elsewhere: [10, 4] };
  const BADGES = { zero: "0", nan: "NaN", cut: "cut", frozen: "frozen" };
  const HEAD = 26, PAD = 14;

  // Answers and source.

  // Of more answers than this, only the chosen one shows its text.
  const MAX_UNFOLDED = 3;
  const folding = data.answers.length > MAX_UNFOLDED;
  byId("answers").classList.toggle("folding", folding);

  function pick(number, follow) {
    for (const item of document.querySelectorAll(".answer")) item.classList.remove("lit");
    for (const mark of document.querySelectorAll("mark.lit")) mark.classList.remove("lit");
    for (const button of document.querySelectorAll(".pick")) {
      const chosen = String(Number(button.dataset.answer) === number);
      button.setAttribute("aria-pressed", chosen);
      if (folding) button.setAttribute("aria-expanded", chosen);
    }
    if (number === null) { if (drawing) drawing.light([]); return; }
    const item = byId(`answer-${number + 1}`);
    if (!item) return;
    item.classList.add("lit");
    if (follow) item.scrollIntoView({ block: "nearest" });
    const marks = [...document.querySelectorAll("mark")].filter((m) => m.dataset.answers.split(" ").includes(String(number)));
    for (const mark of marks) mark.classList.add("lit");
    const shown = marks.find((m) => m.classList.contains("cause")) || marks[0];
    if (shown) scrollSourceTo(shown);
    const drawn = data.answers[number];
    if (drawing) {
      if (drawn) { choose(drawn[0]); drawing.light(drawn[1]); } else drawing.light([]);
    }
  }

  function pickAndAddress(number, follow) {
    pick(number, follow);
    try { history.replaceState(null, "", `#answer-${number + 1}`); } catch { /* a file may have no history */ }
  }

  // Scrolls the source only: in a narrow window, where it stands below the answers, these stay in sight.
  function scrollSourceTo(mark) {
    const source = byId("source"), at = mark.getBoundingClientRect(), frame = source.getBoundingClientRect();
    source.scrollTop += at.top - frame.top - (frame.height - at.height) / 2;
    if (at.right > frame.right) source.scrollLeft += at.right - frame.right + 20;
  }

  function fromAddress() {
    const found = /^#answer-(\d+)$/.exec(location.hash);
    if (found && Number(found[1]) <= data.answers.length) pick(Number(found[1]) - 1, true);
  }

  for (const button of document.querySelectorAll(".pick"))
    button.addEventListener("click", () => pickAndAddress(Number(button.dataset.answer), false));
  for (const mark of document.querySelectorAll("mark"))
    mark.addEventListener("click", () => pickAndAddress(Number(mark.dataset.answers.split(" ")[0]), true));

  for (const button of document.querySelectorAll(".copy"))
    button.addEventListener("click", async () => {
      const copied = await copy(button.dataset.copy);
      button.textContent = copied ? "copied" : "not copied";
      byId("status").textContent = copied ? "The fix is copied." : "The browser did not allow to copy.";
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });

  async function copy(text) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed for a file in some browsers */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    try { return document.execCommand("copy"); } catch { return false; } finally { area.remove(); }
  }

  // Sizes and colours of the page.

  new ResizeObserver(() => {
    const head = document.querySelector("header"), sticks = getComputedStyle(head).position === "sticky";
    document.documentElement.style.setProperty("--head", `${sticks ? head.offsetHeight : 0}px`);
  }).observe(document.querySelector("header"));

  // The colours chosen by hand are remembered; without a choice they follow the system.
  const theme = { dark: byId("dark"), media: byId("dark").media, button: byId("theme"), system: matchMedia("(prefers-color-scheme: dark)") };

  function remembered(value) {
    try {
      if (value) localStorage.setItem("whygrad-theme", value);
      return localStorage.getItem("whygrad-theme");
    } catch { return null; }  // a file may have no storage
  }

  function isDark() { return theme.choice ? theme.choice === "dark" : theme.system.matches; }

  function setColours() {
    const chosen = theme.printing ? "light" : theme.choice;
    theme.dark.media = { light: "not all", dark: "screen" }[chosen] || theme.media;
    theme.button.textContent = isDark() ? "light" : "dark";
    theme.button.setAttribute("aria-label", `Switch to ${theme.button.textContent} colours`);
    if (drawing) drawing.recolour();
  }

  theme.button.addEventListener("click", () => {
    theme.choice = isDark() ? "light" : "dark";
    remembered(theme.choice);
    setColours();
  });
  theme.system.addEventListener("change", setColours);
  addEventListener("beforeprint", () => { theme.printing = true; setColours(); });
  addEventListener("afterprint", () => { theme.printing = false; setColours(); });

  // The table of layers: a click on a heading sorts by its column, another one turns the order round.
  for (const button of document.querySelectorAll("[data-sort]"))
    button.addEventListener("click", () => {
      const head = button.parentElement, body = head.closest("table").tBodies[0], column = Number(button.dataset.sort);
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending", sign = order === "ascending" ? 1 : -1;
      for (const other of head.parentElement.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const key = (row) => column ? Number(row.cells[column].dataset.key) : row.cells[0].textContent;
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => sign * (column ? a - b : a.localeCompare(b, undefined, { numeric: true })));
      body.append(...rows.map((row) => row[1]));
    });

  // One backward pass: open boxes and coordinates.

  class Scene {
    constructor(picture) {
      this.p = picture;
      this.open = new Set([0]);
      this.children = picture.boxes.map(() => []);
      picture.spots.forEach((spot, n) => this.children[spot[2]].push(n));
      for (const children of this.children) children.sort((a, b) => this.at(a, 3) - this.at(b, 3) || this.at(a, 4) - this.at(b, 4));
      this.spotOfBox = new Map();
      picture.spots.forEach((spot, n) => { if (spot[1] >= 0) this.spotOfBox.set(spot[1], n); });
      const norms = picture.edges.map((e) => e[3]).filter((x) => typeof x === "number" && x > 0).map(Math.log10);
      this.low = norms.reduce((a, b) => Math.min(a, b), Infinity);
      this.high = norms.reduce((a, b) => Math.max(a, b), -Infinity);
      this.boxStates = this.worstStates();
    }

    // Open as many boxes as are readable in an area of this size.
    openWhatFits(w, h) {
      for (const most of [70, 40, 25, 12, 1]) {
        this.open = new Set([0]);
        this.openSome(most);
        this.settle();
        if (Math.min(w / this.size.w, h / this.size.h) >= 0.62) break;
      }
    }

    at(spot, field) { return this.p.spots[spot][field]; }

    // A closed box has the most severe state of its items.
    worstStates() {
      const order = ["nan", "cut", "zero", "flows", "frozen", "elsewhere", "nothing", "unknown"].map((s) => data.states.findIndex((x) => x[0] === s));
      const rank = new Map(order.map((s, i) => [s, i]));
      const worst = this.p.boxes.map(() => order[order.length - 1]);
      this.p.spots.forEach((spot) => {
        if (spot[0] < 0) return;
        const state = this.p.items[spot[0]][3];
        for (let box = spot[2]; box >= 0; box = this.p.boxes[box][2])
          if (rank.get(state) < rank.get(worst[box])) worst[box] = state;
      });
      return worst;
    }

    openSome(most) {
      let shown = this.children[0].length;
      const queue = this.children[0].filter((n) => this.at(n, 1) >= 0);
      const alone = queue.length === 1;  // the whole model: closed it would show nothing
      while (queue.length) {
        const spot = queue.shift(), box = this.at(spot, 1);
        if (!(alone && this.at(spot, 2) === 0) && shown + this.children[box].length > most) continue;
        this.open.add(box);
        shown += this.children[box].length;
        queue.push(...this.children[box].filter((n) => this.at(n, 1) >= 0));
      }
    }

    openAll(yes) { this.open = new Set(yes ? this.p.boxes.keys() : [0]); }

    settle() {
      const sizes = new Map(), places = new Map();
      const deepest = [...this.open].sort((a, b) => b - a);  // a box has a higher number than its parent
      for (const box of deepest) {
        let y = 0, i = 0, left = Infinity, right = -Infinity, bottom = 0;
        const children = this.children[box];
        while (i < children.length) {
          const layer = this.at(children[i], 3);
          // An open box grows to both sides of its central path and pushes its neighbours away.
          const grown = (spot) => {
            const size = sizes.get(this.at(spot, 1)), half = this.at(spot, 6) / 2;
            return size ? [Math.max(0, size.spine - half), Math.max(0, size.w - size.spine - half)] : [0, 0];
          };
          let end = i, taller = 0, moved = 0;
          for (; end < children.length && this.at(children[end], 3) === layer; end++) {
            const size = sizes.get(this.at(children[end], 1));
            if (size) taller = Math.max(taller, size.h - this.p.height);
            moved -= grown(children[end])[0];
          }
          for (; i < end; i++) {
            const spot = children[i], size = sizes.get(this.at(spot, 1)), closed = this.at(spot, 6);
            const w = size ? size.w : closed, h = size ? size.h : this.p.height;
            moved += grown(spot)[0];
            const x = this.at(spot, 4) + closed / 2 + moved - (size ? size.spine : closed / 2);
            moved += grown(spot)[1];
            places.set(spot, { x, y: this.at(spot, 5) + y, w, h });
            left = Math.min(left, x); right = Math.max(right, x + w); bottom = Math.max(bottom, this.at(spot, 5) + y + h);
          }
          y += taller;
        }
        for (const spot of children) places.get(spot).x -= left;
        const first = places.get(children[0]), inner = sizes.get(this.at(children[0], 1));
        const spine = first.x + (inner ? inner.spine : first.w / 2) + PAD;
        if (box) sizes.set(box, { w: Math.max(right - left + 2 * PAD, 90), h: bottom + HEAD + PAD, spine });
        else this.size = { w: right - left, h: bottom };
      }
      // Absolute coordinates of visible items; an item in a closed box is represented by the box.
      this.shown = [];
      this.place = new Array(this.p.spots.length).fill(null);
      const stack = [[0, 0, 0]];
      while (stack.length) {
        const [box, dx, dy] = stack.pop();
        for (const spot of this.children[box]) {
          const at = places.get(spot), inner = this.at(spot, 1), open = inner >= 0 && this.open.has(inner);
          const shown = { spot, x: at.x + dx, y: at.y + dy, w: at.w, h: at.h, open };
          this.place[spot] = shown;
          this.shown.push(shown);
          if (open) stack.push([inner, shown.x + PAD, shown.y + HEAD]);
        }
      }
      const merged = new Map();
      for (const edge of this.p.edges) {
        const a = this.visible(edge[0]), b = this.visible(edge[1]);
        if (a === b) continue;
        const key = a * this.p.spots.length + b, norm = typeof edge[3] === "number" ? edge[3] : 0;
        const old = merged.get(key);
        if (!old) merged.set(key, { a, b, state: edge[2], norm, count: 1, passes: this.passes(a, b) });
        else {
          old.count++;
          if (norm > old.norm) old.norm = norm;
          if (edge[2] < old.state || data.states[edge[2]][0] === "nan") old.state = edge[2];
        }
      }
      this.edges = [...merged.values()];
    }

    // True if an edge skips a layer between its ends in their common box.
    passes(a, b) {
      const above = new Map();
      for (let spot = a; ; spot = this.spotOfBox.get(this.at(spot, 2))) {
        above.set(this.at(spot, 2), spot);
        if (!this.at(spot, 2)) break;
      }
      while (!above.has(this.at(b, 2))) b = this.spotOfBox.get(this.at(b, 2));
      return this.at(b, 3) - this.at(above.get(this.at(b, 2)), 3) > 1;
    }

    visible(spot) {
      let found = spot;
      for (let box = this.at(spot, 2); box > 0; box = this.p.boxes[box][2])
        if (!this.open.has(box)) found = this.spotOfBox.get(box);
      return found;
    }

    thickness(norm) {
      if (!(norm > 0)) return 1.2;
      return 1.2 + 6.3 * (Math.log10(norm) - this.low) / Math.max(this.high - this.low, 1);
    }

    stateOf(spot) {
      const item = this.at(spot, 0);
      return data.states[item >= 0 ? this.p.items[item][3] : this.boxStates[this.at(spot, 1)]][0];
    }

    texts(spot) {
      const item = this.at(spot, 0);
      if (item >= 0) return [this.p.items[item][1], this.p.items[item][2]];
      const box = this.p.boxes[this.at(spot, 1)];
      return [box[1] ? `${box[0]} ${box[1]}` : box[0], `${box[5]} items`];
    }

    // The lines of an item's tooltip, each [class, text].
    about(spot) {
      const item = this.at(spot, 0), [first, second] = this.texts(spot);
      const lines = [["name", first]];
      if (item < 0) {
        lines.push(["", `a module with ${second}; ${this.open.has(this.at(spot, 1)) ? "open" : "closed"}`]);
        return lines;
      }
      const [kind, , , state, place, formula, shape, stats, detail] = this.p.items[item];
      const where = this.p.places[place];
      if (where) lines.push(["at", `${where[0]}:${where[1]}  ${where[2]}`]);
      if (shape) lines.push(["", `${kind === "op" ? "result" : "leaf"} of shape (${shape.join(", ")})`]);
      lines.push(["", data.states[state][1]]);
      if (stats) lines.push(["", `|g| = ${stats[0]}, largest ${stats[1]}, ${stats[2]} of ${stats[4]} zero`
        + (stats[3] ? `, ${stats[3]} not finite` : "")]);
      if (detail) lines.push(["", detail]);
      for (const line of this.p.formulas[formula]) lines.push(["formula", line]);
      return lines;
    }
  }

  // The canvas.

  class Drawing {
    constructor() {
      this.canvas = byId("canvas");
      this.map = byId("map");
      this.scenes = data.pictures.map(() => null);
      this.lit = new Set();
      this.focus = -1;
      this.hover = -1;
      this.listen();
      this.colours();
      this.show(0);
    }

    colours() {
      const style = getComputedStyle(document.documentElement);
      this.c = {};
      for (const name of ["page", "panel", "ink", "soft", "faint", "item", "accent", ...data.states.map((s) => s[0])])
        this.c[name] = style.getPropertyValue(`--${name}`).trim();
      this.fonts = { sans: style.getPropertyValue("--sans"), mono: style.getPropertyValue("--mono") };
    }

    recolour() {
      this.colours();
      this.mapDrawn = false;
      this.draw();  // at once: a page may be printed before the next frame
    }

    // Draw anew for the size that the canvas has now.
    begin() {
      this.scenes = [];
      this.show(this.number);
    }

    show(number) {
      this.number = number;
      if (!this.scenes[number]) {
        this.scenes[number] = new Scene(data.pictures[number]);
        this.scenes[number].openWhatFits(this.size().w - 40, this.size().h - 40);
      }
      this.scene = this.scenes[number];
      this.mapDrawn = false;
      this.lit = new Set();
      this.focus = this.hover = -1;
      byId("note").textContent = this.scene.p.note;
      for (const table of document.querySelectorAll("#leaves table")) table.hidden = Number(table.dataset.picture) !== number;
      this.table(0);
      this.fit();
    }

    changed() { this.scene.settle(); this.mapDrawn = false; this.paint(); }

    size() { return { w: this.canvas.clientWidth - this.map.clientWidth, h: this.canvas.clientHeight }; }

    fit() {
      const { w, h } = this.size(), all = this.scene.size;
      const whole = Math.min((w - 40) / Math.max(all.w, 1), (h - 40) / Math.max(all.h, 1), 1.25);
      const k = whole >= 0.5 ? whole : Math.max(whole, Math.min(0.8, (w - 40) / Math.max(all.w, 1)));  // otherwise show its top
      this.view = { k, x: (w - all.w * k) / 2, y: k === whole ? (h - all.h * k) / 2 : 20 };
      this.paint();
    }

    light(items) {
      const wanted = new Set(items), scene = this.scene;
      this.lit = new Set();
      scene.p.spots.forEach((spot, n) => { if (wanted.has(spot[0])) this.lit.add(n); });
      if (this.lit.size && this.lit.size <= 300)
        for (const spot of this.lit)
          for (let box = scene.at(spot, 2); box > 0; box = scene.p.boxes[box][2]) scene.open.add(box);
      scene.settle();
      this.mapDrawn = false;
      if (this.lit.size) this.reveal([...this.lit].map((n) => scene.place[scene.visible(n)]));
      this.paint();
    }

    reveal(places) {
      const { w, h } = this.size();
      let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
      for (const at of places) {
        left = Math.min(left, at.x); top = Math.min(top, at.y);
        right = Math.max(right, at.x + at.w); bottom = Math.max(bottom, at.y + at.h);
      }
      const k = Math.max(Math.min((w - 60) / (right - left), (h - 60) / (bottom - top), 1.2), 0.5);
      this.view = { k, x: w / 2 - (left + right) / 2 * k, y: h / 2 - (top + bottom) / 2 * k };
      if ((bottom - top) * k > h - 20) this.view.y = h - 40 - bottom * k;  // show the lower end, the tensor of the answer
    }

    paint() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }

    resize(canvas) {
      const scale = window.devicePixelRatio || 1, w = Math.round(canvas.clientWidth * scale), h = Math.round(canvas.clientHeight * scale);
      if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
      const to = canvas.getContext("2d");
      to.setTransform(scale, 0, 0, scale, 0, 0);
      to.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
      return to;
    }

    draw() {
      const to = this.resize(this.canvas), { k, x: dx, y: dy } = this.view, scene = this.scene;
      const { w, h } = { w: this.canvas.clientWidth, h: this.canvas.clientHeight };
      const sight = { left: -dx / k, top: -dy / k, right: (w - dx) / k, bottom: (h - dy) / k };
      const inSight = (at) => at.x < sight.right && at.x + at.w > sight.left && at.y < sight.bottom && at.y + at.h > sight.top;
      const litShown = new Set([...this.lit].map((n) => scene.visible(n)));
      const dim = litShown.size > 0;
      to.translate(dx, dy);
      to.scale(k, k);
      for (const at of scene.shown) if (at.open && inSight(at)) this.drawOpen(to, at);
      this.drawEdges(to, sight, litShown, dim);
      to.globalAlpha = 1;
      let count = 0;
      for (const at of scene.shown) {
        if (at.open || !inSight(at)) continue;
        to.globalAlpha = dim && !litShown.has(at.spot) ? 0.3 : 1;
        this.drawSpot(to, at, k);
        count++;
      }
      to.globalAlpha = 1;
      this.drawMap(sight);
      this.canvas.dataset.drawn = count;  // for tests
    }

    drawOpen(to, at) {
      to.fillStyle = this.c.page;
      to.strokeStyle = this.focus === at.spot ? this.c.accent : this.c.faint;
      to.lineWidth = this.focus === at.spot ? 2.5 : 1.2;
      to.beginPath(); to.roundRect(at.x, at.y, at.w, at.h, 7); to.fill(); to.stroke();
      to.fillStyle = this.c.soft;
      to.font = `600 11.5px ${this.fonts.sans}`;
      to.textAlign = "left";
      to.fillText(`− ${this.scene.texts(at.spot)[0]}`, at.x + 10, at.y + 17);
    }

    drawEdges(to, sight, lit, dim) {
      // Edges with the same style are one path, so that ten thousand edges take a few strokes.
      const looks = new Map(), scene = this.scene, far = this.view.k < 0.2;
      for (const edge of scene.edges) {
        const a = scene.place[edge.a], b = scene.place[edge.b];
        const x1 = a.x + a.w / 2, y1 = a.y + a.h, x2 = b.x + b.w / 2, y2 = b.y;
        if (Math.max(x1, x2) < sight.left - 60 || Math.min(x1, x2) > sight.right + 60 || Math.max(y1, y2) < sight.top
          || Math.min(y1, y2) > sight.bottom) continue;
        const bright = !dim || (lit.has(edge.a) && lit.has(edge.b));
        const state = data.states[edge.state][0], width = Math.round(scene.thickness(edge.norm) * 2) / 2;
        const key = `${state}/${width}/${bright}`;
        let look = looks.get(key);
        if (!look) looks.set(key, look = { path: new Path2D(), state, width, bright });
        look.path.moveTo(x1, y1);
        const middle = (y1 + y2) / 2, bow = edge.passes && Math.abs(x1 - x2) < 90 ? -(Math.max(a.w, b.w) / 2 + 48) : 0;
        if (far) look.path.lineTo(x2, y2);
        else look.path.bezierCurveTo(x1 + bow, middle, x2 + bow, middle, x2, y2);
      }
      to.lineCap = "round";
      for (const look of looks.values()) {
        to.globalAlpha = look.bright ? 0.85 : 0.16;
        to.strokeStyle = this.c[look.state];
        to.lineWidth = look.width;
        to.setLineDash(DASHES[look.state] || []);
        to.stroke(look.path);
      }
      to.setLineDash([]);
    }

    drawSpot(to, at, k) {
      const scene = this.scene, item = scene.at(at.spot, 0), state = scene.stateOf(at.spot);
      const kind = item >= 0 ? scene.p.items[item][0] : "box", marked = this.focus === at.spot || this.hover === at.spot;
      if (k < 0.16) { to.fillStyle = this.c[state]; to.fillRect(at.x, at.y, at.w, at.h); return; }
      to.fillStyle = kind === "box" ? this.c.page : this.c.item;
      to.strokeStyle = marked ? this.c.accent : this.c[state];
      to.lineWidth = marked ? 3 : kind === "leaf" ? 2 : 1.4;
      to.setLineDash(kind === "cut" ? [5, 4] : []);
      to.beginPath();
      to.roundRect(at.x, at.y, at.w, at.h, kind === "leaf" ? at.h / 2 : kind === "box" ? 7 : 4);
      to.fill(); to.stroke();
      to.setLineDash([]);
      if (kind === "box") { to.beginPath(); to.roundRect(at.x + 3, at.y + 3, at.w - 6, at.h - 6, 4); to.lineWidth = .7; to.stroke(); }
      if (k < 0.4) return;
      const [first, second] = scene.texts(at.spot), middle = at.x + at.w / 2;
      to.textAlign = "center";
      to.fillStyle = this.c.ink;
      to.font = `${kind === "box" ? "600 " : ""}12.5px ${this.fonts.sans}`;
      to.fillText(clip(to, kind === "box" ? `+ ${first}` : first, at.w - 14, kind === "leaf"), middle, at.y + (second ? 17 : 23));
      to.fillStyle = this.c.soft;
      to.font = `10px ${this.fonts.mono}`;
      to.fillText(clip(to, second, at.w - 12), middle, at.y + 30);
      if (BADGES[state] && kind !== "cut") {
        to.font = `700 9.5px ${this.fonts.sans}`;
        const w = to.measureText(BADGES[state]).width + 9;
        to.fillStyle = this.c[state];
        to.beginPath(); to.roundRect(at.x + at.w - w + 5, at.y - 7, w, 14, 7); to.fill();
        to.fillStyle = this.c.panel;
        to.fillText(BADGES[state], at.x + at.w - w / 2 + 5, at.y + 3.5);
      }
    }

    drawMap(sight) {
      const whole = sight.left <= 0 && sight.top <= 0 && sight.right >= this.scene.size.w && sight.bottom >= this.scene.size.h;
      this.map.style.visibility = whole ? "hidden" : "visible";
      if (whole) return;
      const canvas = this.map, all = this.scene.size, scale = Math.min((canvas.clientWidth - 6) / all.w, (canvas.clientHeight - 6) / all.h);
      const sy = Math.max(scale, Math.min((canvas.clientHeight - 6) / all.h, scale * 400));
      this.mapScale = sy;
      if (!this.mapDrawn || this.mapHeight !== canvas.clientHeight) {
        const picture = this.mapPicture = document.createElement("canvas");
        const real = window.devicePixelRatio || 1;
        picture.width = canvas.clientWidth * real; picture.height = canvas.clientHeight * real;
        const to = picture.getContext("2d");
        to.scale(real, real);
        const sx = (canvas.clientWidth - 6) / all.w;
        for (const at of this.scene.shown) {
          if (at.open) continue;
          to.fillStyle = this.c[this.scene.stateOf(at.spot)];
          to.fillRect(3 + at.x * sx, 3 + at.y * sy, Math.max(at.w * sx, 1), Math.max(at.h * sy, .6));
        }
        this.mapDrawn = true;
        this.mapHeight = canvas.clientHeight;
      }
      const to = this.resize(canvas);
      to.drawImage(this.mapPicture, 0, 0, canvas.clientWidth, canvas.clientHeight);
      to.strokeStyle = this.c.accent;
      to.lineWidth = 1.5;
      const top = Math.max(3 + sight.top * sy, 1), bottom = Math.min(3 + sight.bottom * sy, canvas.clientHeight - 1);
      to.strokeRect(1.5, top, canvas.clientWidth - 3, Math.max(bottom - top, 3));
    }

    find(x, y) {
      const { k, x: dx, y: dy } = this.view, px = (x - dx) / k, py = (y - dy) / k;
      let found = -1;
      for (const at of this.scene.shown)
        if (px >= at.x && px <= at.x + at.w && py >= at.y && py <= at.y + (at.open ? HEAD : at.h)) found = at.spot;
      return found;
    }

    zoom(factor, x, y) {
      const { w, h } = this.size(), cx = x ?? w / 2, cy = y ?? h / 2;
      const k = Math.min(Math.max(this.view.k * factor, 0.004), 4), ratio = k / this.view.k;
      this.view = { k, x: cx - (cx - this.view.x) * ratio, y: cy - (cy - this.view.y) * ratio };
      this.paint();
    }

    toggle(spot) {
      const box = this.scene.at(spot, 1);
      if (box < 0) return;
      const before = this.scene.place[spot], at = { x: before.x * this.view.k + this.view.x, y: before.y * this.view.k + this.view.y };
      if (this.scene.open.has(box)) this.scene.open.delete(box); else this.scene.open.add(box);
      this.changed();
      const after = this.scene.place[spot];
      this.view.x = at.x - after.x * this.view.k;
      this.view.y = at.y - after.y * this.view.k;
      this.tell(spot);
    }

    tell(spot) {
      const where = byId("detail");
      where.textContent = spot < 0 ? "" : this.scene.about(spot).map((line) => line[1]).join("  ·  ");
    }

    tip(spot, x, y) {
      const tip = byId("tip");
      tip.hidden = spot < 0;
      if (spot < 0) return;
      tip.replaceChildren(...this.scene.about(spot).map(([kind, text]) => {
        const line = document.createElement(kind === "name" ? "b" : "div");
        if (kind && kind !== "name") line.className = kind;
        line.textContent = text;
        return line;
      }));
      const { w, h } = this.size();
      tip.style.left = `${Math.max(4, Math.min(x + 14, w - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y + 18 + tip.offsetHeight > h ? Math.max(4, y - tip.offsetHeight - 12) : y + 18}px`;
    }

    // Keyboard: from item to item along the edges and within a layer.
    step(key) {
      const scene = this.scene, edges = scene.edges;
      if (this.focus < 0 || !scene.place[this.focus]) {
        this.focus = scene.shown.reduce((best, at) => at.y < scene.place[best].y ? at.spot : best, scene.shown[0].spot);
      } else if (key === "ArrowDown" || key === "ArrowUp") {
        const down = key === "ArrowDown", here = scene.place[this.focus];
        let next = edges.filter((e) => (down ? e.a : e.b) === this.focus).sort((a, b) => b.norm - a.norm).map((e) => down ? e.b : e.a);
        if (!next.length) {
          const box = scene.at(this.focus, 1);
          if (down && box >= 0 && scene.open.has(box)) next = [scene.children[box][0]];
          else if (!down && scene.at(this.focus, 2) > 0) next = [scene.spotOfBox.get(scene.at(this.focus, 2))];
          else next = scene.shown.filter((at) => down ? at.y > here.y : at.y < here.y)
            .sort((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y)).map((at) => at.spot);
        }
        if (next.length) this.focus = next[0];
      } else {
        const here = scene.place[this.focus], right = key === "ArrowRight";
        const near = scene.shown.filter((at) => at.spot !== this.focus && Math.abs(at.y - here.y) < 1 && (right ? at.x > here.x : at.x < here.x))
          .sort((a, b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x));
        if (near.length) this.focus = near[0].spot;
      }
      this.look();
    }

    look() {
      const at = this.scene.place[this.focus], { w, h } = this.size(), k = this.view.k;
      if (k < 0.4) this.view.k = 0.8;
      const x = at.x * this.view.k + this.view.x, y = at.y * this.view.k + this.view.y;
      if (x < 20 || x + at.w * this.view.k > w - 20) this.view.x = w / 2 - (at.x + at.w / 2) * this.view.k;
      if (y < 20 || y + at.h * this.view.k > h - 20) this.view.y = h / 2 - (at.y + at.h / 2) * this.view.k;
      this.tell(this.focus);
      this.paint();
    }

    search(text) {
      const wanted = text.trim().toLowerCase(), scene = this.scene;
      if (!wanted) return;
      const match = (n) => {
        const item = scene.at(n, 0);
        if (item < 0) return scene.texts(n)[0].toLowerCase().includes(wanted);
        const where = scene.p.places[scene.p.items[item][4]];
        return scene.p.items[item][1].toLowerCase().includes(wanted) || (where && where[2].toLowerCase().includes(wanted));
      };
      const count = scene.p.spots.length;
      for (let i = 1; i <= count; i++) {
        const n = (this.focus + i + count) % count;
        if (!match(n)) continue;
        for (let box = scene.at(n, 2); box > 0; box = scene.p.boxes[box][2]) scene.open.add(box);
        this.focus = n;
        this.changed();
        this.look();
        return;
      }
      byId("detail").textContent = `nothing called "${text}" here`;
    }

    table(from) {
      const step = 200, scene = this.scene, items = scene.p.items, holder = byId("table");
      const table = document.createElement("table"), head = table.createTHead().insertRow();
      for (const title of ["operation", "where", "gradient", "norm", "result"]) {
        const cell = document.createElement("th");
        cell.scope = "col"; cell.textContent = title;
        head.append(cell);
      }
      const body = table.createTBody();
      const ops = items.filter((item) => item[0] !== "leaf");
      for (const item of ops.slice(from, from + step)) {
        const row = body.insertRow(), where = scene.p.places[item[4]];
        const cells = [item[1], where ? `${where[0]}:${where[1]}  ${where[2]}` : "", data.states[item[3]][1],
          item[7] ? item[7][0] : "", item[6] ? `(${item[6].join(", ")})` : ""];
        cells.forEach((text, i) => { const cell = row.insertCell(); cell.textContent = text; if (i === 2) cell.className = data.states[item[3]][0]; });
      }
      const pages = document.createElement("p");
      pages.append(`${Math.min(from + 1, ops.length)} to ${Math.min(from + step, ops.length)} of ${ops.length} `);
      for (const [text, to] of [["earlier", from - step], ["later", from + step]]) {
        if (to < 0 || to >= ops.length) continue;
        const button = document.createElement("button");
        button.type = "button"; button.textContent = text;
        button.addEventListener("click", () => this.table(to));
        pages.append(button, " ");
      }
      holder.replaceChildren(pages, table);
    }

    listen() {
      const canvas = this.canvas;
      let drag = null;
      canvas.addEventListener("pointerdown", (e) => {
        drag = { x: e.offsetX, y: e.offsetY, moved: false };
        canvas.setPointerCapture(e.pointerId);
      });
      canvas.addEventListener("pointermove", (e) => {
        if (drag) {
          if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3 || drag.moved) {
            this.view.x += e.offsetX - drag.x; this.view.y += e.offsetY - drag.y;
            drag = { x: e.offsetX, y: e.offsetY, moved: true };
            this.tip(-1);
            this.paint();
          }
          return;
        }
        const spot = this.find(e.offsetX, e.offsetY);
        if (spot !== this.hover) { this.hover = spot; this.paint(); tellLine(this.scene, spot); }
        this.tip(spot, e.offsetX, e.offsetY);
      });
      canvas.addEventListener("pointerup", (e) => {
        if (drag && !drag.moved) {
          const spot = this.find(e.offsetX, e.offsetY);
          this.focus = spot;
          this.tell(spot);
          if (spot >= 0) this.toggle(spot);
          this.paint();
        }
        drag = null;
      });
      canvas.addEventListener("pointerleave", () => { this.hover = -1; this.tip(-1); this.paint(); tellLine(this.scene, -1); });
      canvas.addEventListener("wheel", (e) => {
        e.preventDefault();
        if (e.shiftKey) { this.view.x -= e.deltaY; this.paint(); }
        else this.zoom(Math.exp(-Math.max(-60, Math.min(60, e.deltaY)) * 0.004), e.offsetX, e.offsetY);
      }, { passive: false });
      canvas.addEventListener("keydown", (e) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        if (e.key.startsWith("Arrow")) this.step(e.key);
        else if (e.key === "Enter" || e.key === " ") { if (this.focus >= 0) this.toggle(this.focus); }
        else if (e.key === "+" || e.key === "=") this.zoom(1.25);
        else if (e.key === "-") this.zoom(0.8);
        else if (e.key === "0") this.fit();
        else if (e.key === "Escape") { this.focus = -1; this.tell(-1); pick(null); }
        else return;
        e.preventDefault();
      });
      const jump = (e) => {
        if (e.type === "pointermove" && !e.buttons) return;
        this.view.y = this.size().h / 2 - (e.offsetY - 3) / this.mapScale * this.view.k;
        this.paint();
      };
      this.map.addEventListener("pointerdown", jump);
      this.map.addEventListener("pointermove", jump);
      const actions = {
        in: () => this.zoom(1.25), out: () => this.zoom(0.8), fit: () => this.fit(),
        open: () => { this.scene.openAll(true); this.changed(); this.fit(); },
        close: () => { this.scene.openAll(false); this.changed(); this.fit(); },
        large: (button) => {
          const large = byId("right").classList.toggle("large");
          button.setAttribute("aria-pressed", String(large));
          this.fit();
        },
      };
      for (const button of document.querySelectorAll("[data-do]"))
        button.addEventListener("click", () => actions[button.dataset.do](button));
      byId("which").addEventListener("change", (e) => this.show(Number(e.target.value)));
      byId("find").addEventListener("keydown", (e) => { if (e.key === "Enter") this.search(e.target.value); });
      new ResizeObserver(() => this.paint()).observe(canvas);
    }
  }

  // Cut a text to the available width; a leaf's name at its start, because its end is the most specific.
  function clip(to, text, width, keepEnd) {
    const whole = to.measureText(text).width;
    if (whole <= width) return text;
    const cut = (length) => keepEnd ? `…${text.slice(text.length - length)}` : `${text.slice(0, length)}…`;
    let length = Math.max(1, Math.floor(text.length * width / whole));
    while (length > 1 && to.measureText(cut(length)).width > width) length--;
    return cut(length);
  }

  function legend() {
    const shown = new Set(data.pictures.flatMap((p) => [...p.items.map((i) => i[3]), ...p.edges.map((e) => e[2])]));
    data.states.forEach(([name, meaning], n) => {
      if (!shown.has(n)) return;
      const entry = document.createElement("span"), ns = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(ns, "svg"), line = document.createElementNS(ns, "path");
      line.setAttribute("d", "M1 4h24");
      line.setAttribute("style", `stroke:var(--${name});stroke-width:3;stroke-dasharray:${(DASHES[name] || []).join(" ")}`);
      svg.append(line);
      entry.append(svg, meaning);
      byId("legend").append(entry);
    });
  }

  function choose(number) {
    if (drawing.number === number) return;
    byId("which").value = String(number);
    drawing.show(number);
  }

  // Within the playground a node lights its line of the editor, and a line its nodes.
  function tellLine(scene, spot) {
    if (parent === window) return;
    const item = spot >= 0 ? scene.p.items[scene.at(spot, 0)] : null, where = item && scene.p.places[item[4]];
    parent.postMessage({ line: where ? where[1] : 0 }, "*");
  }

  function lightLine(line) {
    const { items, places } = drawing.scene.p;
    drawing.light(items.flatMap((item, n) => places[item[4]] && places[item[4]][1] === line ? [n] : []));
  }

  const drawing = data.pictures.length ? new Drawing() : null;
  if (drawing) legend();
  window.whygradDrawing = drawing;  // for tests
  addEventListener("hashchange", fromAddress);
  addEventListener("message", (e) => {
    if (!drawing || e.source !== parent || parent === window) return;
    if (e.data.line) lightLine(e.data.line); else drawing.begin();
  });
  theme.choice = remembered();
  theme.button.hidden = false;
  setColours();
  // The page opens at the first cause, unless its address names another place.
  if (location.hash) fromAddress(); else if (data.answers.length) pick(0, false);
})();
