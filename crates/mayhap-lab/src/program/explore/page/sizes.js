// Sliders and curves: how large, how many hashes, and what it costs beside other ways.

const CHART = { width: 460, height: 250, left: 58, right: 22, top: 12, bottom: 34 };
// A hash set keeps a hash of 8 bytes in a table that is half full; a crawler's addresses have 56 bytes on average.
const SET_BITS = 8 * 8 * 2;
const TEXT_BITS = 8 * 56 + SET_BITS;
const BITMAP_BITS = 2 ** 32;

class Sizes {
  constructor(engine) {
    this.engine = engine;
    for (const id of ["n", "p", "k"]) {
      byId(id).addEventListener("input", () => {
        if (id === "k") {
          byId("best").checked = false;
        }
        this.draw();
      });
    }
    byId("best").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(byId("memory"));
  }

  draw() {
    const keys = rounded(10 ** Number(byId("n").value));
    const rate = Number((10 ** Number(byId("p").value)).toPrecision(2));
    const plan = this.engine.plan(keys, rate);
    if (byId("best").checked) {
      byId("k").value = plan.hashes;
    }
    const hashes = Number(byId("k").value);
    const at = this.engine.rateAt(plan.bits, hashes, keys);
    byId("n-shown").textContent = count(keys);
    byId("p-shown").textContent = percent(rate);
    byId("k-shown").textContent = hashes;
    byId("n").setAttribute("aria-valuetext", count(keys));
    byId("p").setAttribute("aria-valuetext", percent(rate));
    byId("sized").textContent = words("sized", {
      bits: count(plan.bits),
      size: size(plan.bits),
      per: (plan.bits / keys).toFixed(2),
      hashes,
      at: percent(at),
      best: plan.best.toFixed(2),
      bound: (plan.bound / keys).toFixed(2),
      times: (plan.bits / plan.bound).toFixed(2),
      overhead: plan.overhead.toFixed(2),
    });
    this.byKeys(plan, hashes, keys, rate);
    this.byHashes(plan, hashes, keys);
    this.memory(plan, keys);
  }

  byKeys(plan, hashes, keys, rate) {
    const points = [];
    for (let i = 1; i <= 80; i++) {
      const load = i / 40;
      points.push([load, this.engine.rateAt(plan.bits, hashes, Math.max(1, keys * load))]);
    }
    const chart = axes(
      0,
      2,
      [0, 0.5, 1, 1.5, 2].map((load) => [load, `${load * 100} %`]),
      points.map(([, value]) => value),
    );
    const at = this.engine.rateAt(plan.bits, hashes, keys);
    byId("chart-keys").innerHTML = drawn(
      chart,
      points,
      words("chart keys said", { at: percent(at), rate: percent(rate) }),
      `<line class="bound" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${chart.y(rate)}" y2="${chart.y(rate)}"/>${dot(chart, 1, at)}`,
      words("axis load"),
    );
  }

  byHashes(plan, hashes, keys) {
    const points = [];
    for (let k = 1; k <= 30; k++) {
      points.push([k, this.engine.rateAt(plan.bits, k, keys)]);
    }
    const chart = axes(
      1,
      30,
      [1, 5, 10, 15, 20, 25, 30].map((k) => [k, k]),
      points.map(([, value]) => value),
    );
    const best = chart.x(Math.min(30, Math.max(1, plan.best)));
    byId("chart-hashes").innerHTML = drawn(
      chart,
      points,
      words("chart hashes said", { best: plan.best.toFixed(2) }),
      `<line class="bound" x1="${best}" x2="${best}" y1="${CHART.top}" y2="${CHART.height - CHART.bottom}"/>${dot(chart, hashes, this.engine.rateAt(plan.bits, hashes, keys))}`,
      words("axis hashes"),
    );
  }

  memory(plan, keys) {
    const kinds = new Map(plan.kinds);
    const rows = [["bound", plan.bound, "other"]];
    for (const kind of ["ribbon", "fuse", "bloom", "blocked", "cuckoo", "scalable", "windowed", "counting"]) {
      if (kinds.has(kind)) {
        rows.push([kind, kinds.get(kind), kind === "bloom" ? "chosen" : ""]);
      }
    }
    rows.push(
      ["bitmap32", BITMAP_BITS, "other"],
      ["hashset", keys * SET_BITS, "other"],
      ["textset", keys * TEXT_BITS, "other"],
    );
    const room = Math.max(300, byId("memory").clientWidth);
    const [names, height] = [Math.min(250, room * 0.42), 26];
    const most = Math.log10(Math.max(...rows.map(([, bits]) => bits)) + 1);
    const least = Math.log10(Math.min(...rows.map(([, bits]) => bits))) - 0.5;
    const bar = (bits) => Math.max(2, ((Math.log10(bits) - least) / (most - least)) * (room - names - 92));
    const lines = rows.map(([name, bits, look], index) => {
      const called = words(`memory ${name}`);
      return `<text class="name" x="${names - 8}" y="${index * height + 17}" text-anchor="end">${called}</text><rect class="bar ${look}" x="${names}" y="${index * height + 4}" width="${bar(bits)}" height="${height - 8}" rx="3"/><text x="${names + bar(bits) + 6}" y="${index * height + 17}">${size(bits)}</text>`;
    });
    byId("memory").innerHTML =
      `<svg viewBox="0 0 ${room} ${rows.length * height}" role="img" aria-label="${words("chart memory")}: ${rows.map(([name, bits]) => `${words(`memory ${name}`)} ${size(bits)}`).join(", ")}">${lines.join("")}</svg>`;
  }
}

// Two digits are enough for a slider.
function rounded(number) {
  return Math.max(1, Math.round(Number(number.toPrecision(2))));
}

// Places on a chart whose second axis is a logarithm.
function axes(from, to, ticks, values) {
  const low = Math.max(1e-12, Math.min(...values.filter((value) => value > 0)));
  const [least, most] = [Math.floor(Math.log10(low)), 0];
  const x = (value) => CHART.left + ((value - from) / (to - from)) * (CHART.width - CHART.left - CHART.right);
  const y = (value) =>
    CHART.top +
    ((most - Math.max(least, Math.log10(Math.max(value, 1e-12)))) / (most - least || 1)) *
      (CHART.height - CHART.top - CHART.bottom);
  return { x, y, ticks, least, most };
}

function dot(chart, x, y) {
  return `<circle class="here" cx="${chart.x(x)}" cy="${chart.y(y)}" r="6"/>`;
}

function drawn(chart, points, said, more, below) {
  const bottom = CHART.height - CHART.bottom;
  const lines = [];
  const step = Math.max(1, Math.ceil((chart.most - chart.least) / 6));
  for (let power = chart.most; power >= chart.least; power -= step) {
    const y = chart.y(10 ** power);
    lines.push(
      `<line class="axis" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y}" y2="${y}"/><text x="${CHART.left - 6}" y="${y + 4}" text-anchor="end">${power < -4 ? `10<tspan dy="-4" font-size="9">${power}</tspan>` : percent(10 ** power)}</text>`,
    );
  }
  for (const [value, text] of chart.ticks) {
    lines.push(`<text x="${chart.x(value)}" y="${bottom + 16}" text-anchor="middle">${text}</text>`);
  }
  lines.push(
    `<text x="${(CHART.left + CHART.width) / 2}" y="${CHART.height - 2}" text-anchor="middle">${below}</text>`,
  );
  const path = points
    .map(([x, y], index) => `${index ? "L" : "M"}${chart.x(x).toFixed(1)} ${chart.y(y).toFixed(1)}`)
    .join("");
  return `<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${said}">${lines.join("")}<path class="curve" d="${path}"/>${more}</svg>`;
}
