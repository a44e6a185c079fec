// Experiments of the posts, and the reader's own file: long work, beside the page.

const MILLION = 1000000;
const DECIMAL = 0;
const BYTES = 1;
const UUID = 2;
const RANDOM = 3;
// What is looked up after what was inserted: numbers that are never drawn for both.
const ABSENT = 1e12;

// `keys` is how many the post has; `printed` is what it printed.
const EXPERIMENTS = [
  {
    name: "even",
    post: "004",
    keys: 10 * MILLION,
    form: DECIMAL,
    filter: (n) => ({ kind: "bloom", scheme: "murmur", capacity: n, rate: 0.01 }),
    inserts: (n) => [0, 2, n],
    lookups: () => [1, 2, 500],
    printed: "45, 49, 55, 243, 309, 321, 361, 643, 723, 901",
  },
  {
    name: "guava",
    post: "000, 002",
    keys: 10 * MILLION,
    form: BYTES,
    filter: (n) => ({ kind: "bloom", scheme: "guava64", capacity: n, rate: 0.01 }),
    inserts: (n) => [0, 1, n],
    lookups: (n) => [n, 1, n / 10],
  },
  {
    name: "uuid",
    post: "004",
    keys: 10 * MILLION,
    form: UUID,
    filter: (n) => ({ kind: "bloom", scheme: "murmur", capacity: n, rate: 0.03 }),
    inserts: (n) => [0, 1, n],
    lookups: (n) => [ABSENT, 1, n],
    printed: "0.029622",
  },
  {
    name: "uniform",
    post: "004",
    keys: 10 * MILLION,
    form: RANDOM,
    filter: (n) => ({ kind: "bloom", scheme: "murmur", capacity: n, rate: 0.03 }),
    inserts: (n) => [0, 1, n],
    lookups: (n) => [ABSENT, 1, n],
    printed: "0.030034",
  },
  {
    name: "salted",
    post: "003",
    keys: 600000,
    form: DECIMAL,
    filter: (n) => ({ kind: "bloom", scheme: "salted-md5", capacity: n, rate: 0.0001 }),
    inserts: (n) => [0, 1, n],
    lookups: (n) => [ABSENT, 1, n],
    printed: "m = 12118639, k = 14",
  },
];
const SCALES = [0.01, 0.1, 1];

// One piece of work at a time, in a thread of its own.
class Helper {
  constructor(module) {
    const source = new Blob([byId("worker").textContent], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(source));
    this.worker.postMessage({ module });
    this.last = Promise.resolve();
  }

  run(work, progress = () => {}, moved = []) {
    const turn = this.last.then(
      () =>
        new Promise((resolve, reject) => {
          this.worker.onmessage = ({ data }) => {
            if (data.result) {
              resolve(data.result);
            } else if (data.error) {
              reject(refusal(data));
            } else {
              progress(data.progress);
            }
          };
          this.worker.onerror = (event) => reject(new Error(event.message));
          this.worker.postMessage(work, moved);
        }),
    );
    this.last = turn.catch(() => {});
    return turn;
  }
}

class Runs {
  constructor(helper) {
    this.helper = helper;
    this.results = new Map();
    byId("scale").addEventListener("change", () => {
      this.scale = Number(byId("scale").value);
      this.results.clear();
      this.draw();
    });
    this.scale = SCALES[1];
  }

  draw() {
    options(
      "scale",
      SCALES.map((scale) => [scale, words("scale is", { share: percent(scale) })]),
      this.scale,
    );
    byId("experiments").replaceChildren(...EXPERIMENTS.map((experiment) => this.card(experiment)));
  }

  card(experiment) {
    const button = make("button", { type: "button", id: `run-${experiment.name}` }, words("run"));
    const bar = make("progress", { max: 1, value: 0, "aria-label": words("progress") });
    bar.hidden = true;
    const table = make("table", { "aria-live": "polite" });
    const card = make(
      "article",
      { class: "card" },
      make("h3", {}, words(`run ${experiment.name}`)),
      make(
        "p",
        { class: "note" },
        words("from post", { post: experiment.post, keys: count(experiment.keys * this.scale) }),
      ),
      table,
      make("div", { class: "run" }, button, bar),
    );
    this.fill(table, experiment);
    button.addEventListener("click", () => this.start(experiment, button, bar, table));
    return card;
  }

  async start(experiment, button, bar, table) {
    button.disabled = true;
    bar.hidden = false;
    const keys = Math.round(experiment.keys * this.scale);
    const range = ([first, step, count]) => ({ first, step, count: Math.round(count) });
    const work = {
      filter: experiment.filter(keys),
      form: experiment.form,
      inserts: range(experiment.inserts(keys)),
      lookups: range(experiment.lookups(keys)),
    };
    try {
      const result = await this.helper.run(work, (share) => {
        bar.value = share;
      });
      this.results.set(experiment.name, { ...result, keys, asked: work.lookups.count });
    } catch (error) {
      trouble(error);
    }
    button.disabled = false;
    bar.hidden = true;
    this.fill(table, experiment);
  }

  fill(table, experiment) {
    const row = (name, text) => make("tr", {}, make("th", { scope: "row" }, words(name)), make("td", {}, text));
    const rows = [];
    if (experiment.printed) {
      rows.push(row("printed", experiment.printed));
    }
    const result = this.results.get(experiment.name);
    if (result) {
      const list =
        experiment.name === "even"
          ? result.first.join(", ") || "–"
          : words("wrong of", {
              found: count(result.found),
              asked: count(result.asked),
              rate: (result.found / result.asked).toFixed(6),
            });
      rows.push(
        row("measured", list),
        row("filter is", words("shape", { bits: count(result.bits), hashes: result.hashes })),
        row("took", words("seconds", { seconds: result.seconds.toFixed(1) })),
        row("missed", count(result.missed)),
      );
      if (experiment.name === "even" && this.scale < 1) {
        rows.push(row("note", words("even scaled")));
      }
    }
    table.replaceChildren(...rows);
  }
}

// The rate on lines of the reader's own.
class Own {
  constructor(helper, engine) {
    this.helper = helper;
    this.codes = new Map(engine.names().kinds.map(([name, , code]) => [name, code]));
    byId("file").addEventListener("change", () => this.take(byId("file").files[0]));
    const drop = byId("drop");
    for (const name of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop") {
          this.take(event.dataTransfer.files[0]);
        }
      });
    }
    for (const id of ["own-kind", "own-rate"]) {
      byId(id).addEventListener("change", () => this.take(this.file));
    }
  }

  draw() {
    const kinds = ["blocked", "bloom", "split-block", "shifting", "scalable", "cuckoo", "counting"];
    options(
      "own-kind",
      kinds.map((kind) => [kind, named("kind", kind)]),
      byId("own-kind").value || "blocked",
    );
    options(
      "own-rate",
      RATES.map((rate) => [rate, percent(rate)]),
      byId("own-rate").value || 0.01,
    );
    this.show();
  }

  async take(file) {
    if (!file) {
      return;
    }
    this.file = file;
    this.result = null;
    byId("own-said").textContent = words("own reading", { name: file.name });
    try {
      const bytes = await file.arrayBuffer();
      if (bytes.byteLength === 0) {
        throw new Error(words("own empty"));
      }
      const kind = this.codes.get(byId("own-kind").value);
      this.result = await this.helper.run({ bytes, kind, rate: Number(byId("own-rate").value) }, undefined, [bytes]);
      trouble(null);
      this.show();
    } catch (error) {
      byId("own-said").textContent = words("trouble", { text: explained(error) });
    }
  }

  show() {
    const { result, file } = this;
    if (result) {
      byId("own-said").textContent = words("own said", {
        name: file.name,
        lines: count(result.lines),
        inserted: count(result.inserted),
        asked: count(result.asked),
        wrong: count(result.wrong),
        rate: percent(result.asked ? result.wrong / result.asked : null),
        missed: count(result.missed),
        size: size(result.bits),
        seconds: result.seconds.toFixed(1),
      });
    }
  }
}
