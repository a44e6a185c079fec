// Bits, counters and slots on a canvas.

const STAMP_BITS = 8;
const GENERATION_BITS = 128;
const LINE_BITS = 512;
// The kinds whose keys have all their bits in one line, and how long it is.
const LINES = {
  blocked: LINE_BITS,
  guarded: LINE_BITS,
  scalable: LINE_BITS,
  windowed: LINE_BITS,
  "split-block": LINE_BITS / 2,
};

// The parts of a filter that have keys in them: others hold its state.
function shownParts(about) {
  const all = about.parts.map(([bits, ones], part) => ({ part, bits, ones }));
  const first = { scalable: 1, cuckoo: 1, windowed: 1, ribbon: 1 }[about.kind] ?? 0;
  const last = about.kind === "guarded" ? 1 : all.length;
  return all.slice(first, last).filter(({ bits }) => bits > 0);
}

// A number of up to 32 bits.
function numberAt(bytes, first, width) {
  let value = 0;
  for (let i = 0; i < width; i++) {
    const bit = first + i;
    value += ((bytes[bit >> 3] >> (bit & 7)) & 1) * 2 ** i;
  }
  return value;
}

function cellText(value, width, unit) {
  if (unit === "slot") {
    return value === 0 ? "·" : value.toString(16).padStart(Math.ceil(width / 4), "0");
  }
  return value === 0 ? "·" : String(value);
}

// How large cells are, and how many stand in a row.
function measured(cells, width, unit, room, { small, lines }) {
  const digits = width === 1 ? 1 : unit === "slot" ? Math.ceil(width / 4) : Math.ceil(width * 0.302);
  const plain = small ? 8 : cells <= 64 ? 34 : cells <= 600 ? 16 : cells <= 2500 ? 11 : 7;
  const size = width === 1 ? plain : Math.max(cells <= 64 ? 34 : 18, 8 + 7 * digits);
  const fitting = Math.max(1, Math.floor(room / size));
  // The lines of a kind that has them begin at the left.
  const columns = lines || fitting < 8 ? 2 ** Math.floor(Math.log2(fitting)) : fitting - (fitting % 8);
  return { size, columns: Math.min(columns, 128, Math.max(8, cells)) };
}

class Picture {
  constructor(holder, { small = false, said = null } = {}) {
    this.holder = holder;
    this.small = small;
    this.said = said;
    this.boards = [];
    new ResizeObserver(() => this.draw()).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // Shows a filter and the places of a key; `until` is how many steps of them.
  show(engine, filter, answer, { at = null, done = Infinity } = {}) {
    const about = engine.about(filter);
    const parts = shownParts(about);
    this.about = about;
    this.boards = parts.map(({ part, bits }) => {
      const width = about.width ?? 1;
      return {
        part,
        width,
        cells: Math.floor(bits / width),
        bytes: engine.part(filter, part),
        marks: new Map(),
        spans: [],
      };
    });
    let step = 0;
    for (const layer of answer?.layers ?? []) {
      const board = this.boards.find(({ part }) => part === layer.part);
      for (const [, firstBit, text] of layer.places) {
        if (board) {
          mark(board, layer, firstBit, BigInt(text), step < done, step === at);
        }
        step++;
      }
    }
    this.draw();
  }

  draw() {
    const room = this.holder.clientWidth;
    if (room === 0) {
      return;
    }
    while (this.holder.children.length > this.boards.length) {
      this.holder.lastElementChild.remove();
    }
    this.boards.forEach((board, index) => {
      let figure = this.holder.children[index];
      if (!figure) {
        figure = make("figure", { class: "board" }, make("figcaption"), make("canvas", { role: "img" }));
        this.holder.append(figure);
        for (const name of ["pointermove", "pointerdown"]) {
          figure.lastElementChild.addEventListener(name, (event) => this.point(event, index));
        }
      }
      const [caption, canvas] = figure.children;
      caption.textContent = this.caption(board);
      canvas.setAttribute("aria-label", this.spoken(board));
      this.paint(board, canvas, room);
    });
  }

  caption(board) {
    const [bits, ones] = this.about.parts[board.part];
    const layers = this.boards.length > 1 ? words("layer", { number: board.part }) + ": " : "";
    return layers + words("board", { bits: count(bits), ones: count(ones), share: percent(ones / bits) });
  }

  spoken(board) {
    const marked = [...board.marks].filter(([, { seen }]) => seen);
    const said = marked.slice(0, 24).map(([cell, { value }]) => `${cell}: ${value}`);
    return `${this.caption(board)} ${said.length ? words("spoken places", { places: said.join(", ") }) : ""}`;
  }

  paint(board, canvas, room) {
    const { size, columns } = measured(board.cells, board.width, this.unit(), room, {
      small: this.small,
      lines: LINES[this.about.kind] || this.about.kind === "ribbon",
    });
    const rows = Math.ceil(board.cells / columns);
    board.size = size;
    board.columns = columns;
    const ratio = devicePixelRatio || 1;
    canvas.style.width = `${columns * size + 2}px`;
    canvas.style.height = `${rows * size + 2}px`;
    canvas.width = Math.round((columns * size + 2) * ratio);
    canvas.height = Math.round((rows * size + 2) * ratio);
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.scale(ratio, ratio);
    pen.translate(1, 1);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = `${Math.max(9, Math.min(size * 0.42, 15))}px ui-monospace, monospace`;
    const gap = size > 12 ? 2 : 1;
    for (let cell = 0; cell < board.cells; cell++) {
      const value = numberAt(board.bytes, cell * board.width, board.width);
      const x = (cell % columns) * size;
      const y = Math.floor(cell / columns) * size;
      const { stamp, age } = this.generation(cell);
      pen.globalAlpha = stamp ? 0.25 : 1 - 0.24 * age;
      pen.fillStyle = value === 0 ? colour("zero") : stamp ? colour("faint") : colour("one");
      pen.fillRect(x, y, size - gap, size - gap);
      if (board.width > 1 || size >= 30) {
        pen.fillStyle = value === 0 ? colour("faint") : colour("on-one");
        pen.fillText(
          board.width > 1 ? cellText(value, board.width, this.unit()) : String(value),
          x + size / 2 - gap / 2,
          y + size / 2 + (size >= 30 ? 3 : 0),
        );
      }
    }
    pen.globalAlpha = 1;
    if (size >= 30) {
      this.number(board, pen, colour);
    }
    this.outline(board, pen, colour);
  }

  // Which cell each is, in its corner.
  number({ cells, bytes, width, size, columns }, pen, colour) {
    pen.font = "9px ui-monospace, monospace";
    pen.textAlign = "left";
    for (let cell = 0; cell < cells; cell++) {
      pen.fillStyle = numberAt(bytes, cell * width, width) === 0 ? colour("faint") : colour("on-one");
      pen.fillText(String(cell), (cell % columns) * size + 4, Math.floor(cell / columns) * size + 8);
    }
  }

  // The windows, lines and cells of the key.
  outline(board, pen, colour) {
    const { size, columns } = board;
    const line = LINES[this.about.kind];
    const seen = [...board.marks].filter(([, { seen }]) => seen);
    if (line && seen.length) {
      const first = Math.floor(seen[0][0] / line) * line;
      pen.strokeStyle = colour("key");
      pen.lineWidth = 1.5;
      pen.strokeRect(
        -0.5,
        Math.floor(first / columns) * size - 1,
        columns * size,
        Math.ceil(line / columns) * size + 1,
      );
    }
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour("window");
    for (const { from, to } of board.spans) {
      for (let row = Math.floor(from / columns); row <= Math.floor((to - 1) / columns); row++) {
        const start = Math.max(from, row * columns) - row * columns;
        const end = Math.min(to, (row + 1) * columns) - row * columns;
        pen.strokeRect(start * size - 0.5, row * size - 0.5, (end - start) * size - 0.5, size - 0.5);
      }
    }
    for (const [cell, { fits, now, other }] of seen) {
      const x = (cell % columns) * size;
      const y = Math.floor(cell / columns) * size;
      pen.lineWidth = now ? 4 : size > 12 ? 2.5 : 1.5;
      pen.strokeStyle = fits ? colour("key") : other ? colour("window") : colour("no");
      pen.strokeRect(x, y, size - 2, size - 2);
      if (!fits && size > 12 && board.width === 1) {
        // Not by colour alone.
        pen.beginPath();
        pen.moveTo(x + 2, y + 2);
        pen.lineTo(x + size - 4, y + size - 4);
        pen.stroke();
      }
    }
  }

  unit() {
    return { counting: "counter", spectral: "counter", spatial: "cell" }[this.about.kind] ?? "slot";
  }

  // How many generations ago the bits here were set, in a window; and whether they are its stamp.
  generation(cell) {
    if (this.about.kind !== "windowed") {
      return { stamp: false, age: 0 };
    }
    const slot = Math.floor((cell % LINE_BITS) / GENERATION_BITS);
    const age = (((this.about.generation - slot) % 4) + 4) % 4;
    return { stamp: cell % GENERATION_BITS >= GENERATION_BITS - STAMP_BITS, age };
  }

  // Says what is under the pointer or the finger, and which keys have set it.
  point(event, index) {
    const { part, size, columns, width, cells, bytes } = this.boards[index];
    const column = Math.floor(event.offsetX / size);
    const cell = Math.floor(event.offsetY / size) * columns + column;
    if (!this.said || column >= columns || cell >= cells) {
      return;
    }
    const value = numberAt(bytes, cell * width, width);
    const unit = words(`unit ${width === 1 ? "bit" : this.unit()}`);
    const by = [...(this.owners?.get(`${part}:${cell}`) ?? [])];
    const place = words("place is", { unit, number: count(cell), value });
    this.said.textContent = by.length ? words("place by", { place, keys: by.slice(0, 12).join(", ") }) : place;
  }
}

// Marks the cells of one place. Of a window, those that count.
function mark(board, layer, firstBit, value, seen, now) {
  const {
    needed: [rule, needed],
    width,
    stride,
    unit,
  } = layer;
  if (unit === "window") {
    if (seen) {
      board.spans.push({ from: firstBit, to: firstBit + width });
    }
    for (let i = 0; i < width; i++) {
      if ((BigInt(needed) >> BigInt(i)) & 1n && (rule === "ones" || (value >> BigInt(i)) & 1n)) {
        const bit = (value >> BigInt(i)) & 1n;
        board.marks.set(firstBit + i, { seen, now, value: bit, fits: bit === 1n });
      }
    }
    return;
  }
  const fits = rule === "any" ? value === BigInt(needed) : rule === "sum" ? true : value !== 0n;
  const cells =
    board.width > 1 ? [firstBit / board.width] : Array.from({ length: width }, (_, i) => firstBit + i * stride);
  for (const cell of cells) {
    const before = board.marks.get(cell);
    board.marks.set(cell, { seen: seen || before?.seen, now: now || before?.now, value, fits, other: rule === "any" });
  }
}
