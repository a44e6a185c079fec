// The first section: a filter, a key, and what becomes of it.

const RATES = [0.5, 0.1, 0.05, 0.03, 0.01, 0.001, 0.0001];
// The kinds that a second button is for, and what it does.
const SECONDS = {
  "shifting-association": "second set",
  cascade: "second excluded",
  guarded: "second listed",
  spatial: "second area",
};
const REMOVES = ["counting", "cuckoo", "spectral", "bitmap"];
const MOST_KEYS = 500;

// What the page shows, all of which is in its link.
function fresh() {
  return {
    kind: "blocked",
    scheme: "-",
    secret: "-",
    capacity: 20,
    rate: 0.01,
    bits: 0,
    hashes: 0,
    deeds: [],
    key: "hello",
    alias: null,
  };
}

// Filters of the posts that began this. Three of them give positions to their keys by hand.
const PRESETS = [
  { name: "preset blocked", change: { kind: "blocked" } },
  {
    name: "preset eight",
    change: { kind: "bitmap", capacity: 8, alias: "eight", deeds: ["11000", "12000"], key: "3000" },
  },
  {
    name: "preset hello",
    change: { kind: "bitmap", capacity: 16, alias: "hello", deeds: ["1hello", "1xyz"], key: "sadj" },
  },
  {
    name: "preset four",
    change: { kind: "bitmap", capacity: 16, alias: "four", deeds: ["1url"], key: "url" },
  },
  {
    name: "preset murmur",
    change: { kind: "bloom", scheme: "murmur", bits: 8, hashes: 2, deeds: ["1hello", "1xyz"], key: "sadj" },
  },
  { name: "preset sort", change: { kind: "bitmap", capacity: 8, deeds: ["14", "17", "12", "15", "13"], key: "4" } },
  {
    name: "preset three",
    change: { kind: "bloom", scheme: "three-hash", bits: 64, hashes: 3, deeds: ["1hello", "1xyz"], key: "sadj" },
  },
  {
    name: "preset guava",
    change: { kind: "bloom", scheme: "guava64", bits: 64, hashes: 4, deeds: ["1hello", "1xyz"], key: "sadj" },
  },
];
const ALIASES = {
  eight: { 1000: "0 2", 2000: "4 7", 3000: "4 5" },
  hello: { hello: "1 2 3 4", xyz: "2 3 4 5", sadj: "1 3 4 5" },
  four: { url: "8 1 6 13" },
};

class Keys {
  constructor(engine, picture) {
    this.engine = engine;
    this.picture = picture;
    this.state = fresh();
    this.filter = null;
    this.step = Infinity;
  }

  start() {
    const { kinds, schemes } = this.engine.names();
    this.kinds = kinds.map(([name]) => name).concat("bitmap");
    this.schemes = schemes.map(([name]) => name);
    const change = (id, read) => byId(id).addEventListener("change", () => this.change(read(byId(id).value)));
    change("kind", (kind) => ({
      kind,
      scheme: "-",
      secret: "-",
      bits: 0,
      hashes: 0,
      alias: null,
      deeds: kind === "bitmap" ? [] : this.plainDeeds(),
    }));
    change("scheme", (scheme) => ({ scheme, secret: scheme === "siphash" ? drawnSecret() : "-" }));
    change("capacity", (capacity) => ({
      capacity: Math.min(1000, Math.max(1, Math.round(Number(capacity)) || 1)),
      deeds: this.state.deeds,
    }));
    change("rate", (rate) => ({ rate: Number(rate) }));
    change("bits", (bits) => ({
      bits: Math.min(20000, Math.max(0, Math.round(Number(bits)) || 0)),
      hashes: this.state.hashes || 2,
    }));
    change("hashes", (hashes) => ({
      hashes: Math.min(30, Math.max(0, Math.round(Number(hashes)) || 0)),
      bits: this.state.bits || 64,
    }));
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.look();
    });
    byId("key").addEventListener("input", () => this.look());
    byId("insert").addEventListener("click", () => this.insert("1"));
    byId("second").addEventListener("click", () => this.insert("2"));
    byId("remove").addEventListener("click", () => this.remove());
    byId("rotate").addEventListener("click", () => this.rotate());
    byId("clear").addEventListener("click", () => this.change({ deeds: [] }));
    byId("many").addEventListener("click", () => this.many());
    byId("back").addEventListener("click", () => this.go(-1));
    byId("next").addEventListener("click", () => this.go(1));
    byId("play").addEventListener("click", () => this.play());
    byId("link").addEventListener("click", () => this.link());
    addEventListener("hashchange", () => this.open());
    this.open();
  }

  // Deeds that any kind can do again.
  plainDeeds() {
    return this.state.kind === "bitmap"
      ? []
      : this.state.deeds.filter((deed) => /^[1-9]/.test(deed)).map((deed) => `1${deed.slice(1)}`);
  }

  // Reads the state from the address, if it has one.
  open() {
    const text = location.hash.slice(1);
    if (!text.includes("=")) {
      if (this.filter === null) {
        this.change({});
      }
      return;
    }
    const given = new URLSearchParams(text);
    const state = fresh();
    for (const name of ["kind", "scheme", "secret", "alias", "key"]) {
      state[name] = given.get(name) ?? state[name];
    }
    for (const name of ["capacity", "rate", "bits", "hashes"]) {
      const number = Number(given.get(name) ?? state[name]);
      state[name] = Number.isFinite(number) && number >= 0 ? number : state[name];
    }
    state.capacity = Math.min(1000, Math.max(1, Math.round(state.capacity)));
    state.bits = Math.min(20000, Math.round(state.bits));
    state.deeds = given
      .getAll("deed")
      .filter((deed) => /^[1-9>-]/.test(deed))
      .slice(0, MOST_KEYS);
    if (given.get("lang")) {
      speak(given.get("lang"));
      document.dispatchEvent(new Event("spoken"));
    }
    this.state = state;
    this.rebuild();
  }

  address() {
    const given = new URLSearchParams();
    const usual = fresh();
    for (const name of ["kind", "scheme", "secret", "capacity", "rate", "bits", "hashes", "alias", "key"]) {
      if (this.state[name] !== usual[name]) {
        given.set(name, this.state[name]);
      }
    }
    for (const deed of this.state.deeds) {
      given.append("deed", deed);
    }
    given.set("lang", language);
    return `${location.href.split("#")[0]}#${given}`;
  }

  async link() {
    const address = this.address();
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      byId("linked").textContent = words("linked");
    } catch {
      byId("linked").textContent = words("link shown");
    }
  }

  change(change) {
    this.state = { ...this.state, ...change };
    this.rebuild();
  }

  // Makes the filter again and does every deed.
  rebuild() {
    if (this.filter !== null) {
      this.engine.forget(this.filter);
      this.filter = null;
    }
    this.pause();
    this.controls();
    const made = this.attempt(() => {
      this.filter = this.engine.make(this.state);
    });
    // Without a filter there is nothing to ask.
    for (const control of document.querySelectorAll("#ask button, #ask input, .stepper button")) {
      control.disabled = !made;
    }
    if (!made) {
      return;
    }
    trouble(null);
    this.owners = new Map();
    this.inserted = new Map();
    const { deeds } = this.state;
    this.state.deeds = [];
    for (const deed of deeds) {
      this.attempt(() => this.deed(deed));
    }
    byId("key").value = this.state.key;
    this.look();
  }

  attempt(work) {
    try {
      work();
      return true;
    } catch (error) {
      trouble(error);
      return false;
    }
  }

  // The bytes of a key: a post gives the positions of some.
  bytes(key) {
    return ALIASES[this.state.alias]?.[key] ?? key;
  }

  answer(key) {
    return this.engine.answer(this.filter, this.bytes(key));
  }

  deed(deed) {
    const [what, key] = [deed[0], deed.slice(1)];
    if (what === ">") {
      this.engine.rotate(this.filter);
    } else if (what === "-") {
      this.engine.remove(this.filter, this.bytes(key));
      this.inserted.delete(key);
    } else {
      this.engine.insert(this.filter, this.bytes(key), Number(what));
      this.inserted.set(key, what);
      const cell = this.engine.about(this.filter).width ?? 1;
      for (const { part, places, width, stride, needed, unit } of this.answer(key).layers) {
        for (const [, firstBit] of places) {
          for (const bit of ownedBits(firstBit, width, stride, needed, unit)) {
            const at = `${part}:${Math.floor(bit / cell)}`;
            this.owners.set(at, (this.owners.get(at) ?? new Set()).add(key));
          }
        }
      }
    }
    this.state.deeds.push(deed);
  }

  insert(label) {
    const key = byId("key").value;
    this.state.key = key;
    const before = this.answer(key);
    if (!this.attempt(() => this.deed(label + key))) {
      return;
    }
    trouble(null);
    this.explain(key, this.answer(key), { before, label });
  }

  remove() {
    const key = byId("key").value;
    let removed = false;
    const before = this.answer(key);
    if (
      this.attempt(() => {
        removed = before.found;
        this.deed(`-${key}`);
      })
    ) {
      this.explain(key, this.answer(key), { before, removed });
    }
  }

  rotate() {
    this.deed(">");
    this.look();
  }

  many() {
    const left = MOST_KEYS - this.state.deeds.length;
    for (let i = 0; i < Math.min(10, left); i++) {
      const number =
        this.state.kind === "bitmap"
          ? Math.floor(Math.random() * this.state.capacity)
          : `${words("drawn key")} ${Math.floor(Math.random() * 1e6)}`;
      this.attempt(() => this.deed(`1${number}`));
    }
    this.look();
  }

  look() {
    this.state.key = byId("key").value;
    if (this.filter !== null) {
      this.explain(this.state.key, this.answer(this.state.key), {});
    }
  }

  explain(key, answer, happened) {
    this.now = { key, answer, happened };
    this.steps = stepsOf(this, key, answer, happened);
    this.step = Infinity;
    this.refresh();
  }

  go(by) {
    this.pause();
    const last = this.steps.length - 1;
    const from = this.step === Infinity ? (by > 0 ? -1 : last + 1) : this.step;
    this.step = Math.min(last, Math.max(0, from + by));
    this.refresh();
  }

  play() {
    if (this.timer) {
      this.pause();
      return;
    }
    // Readers who prefer little motion get all steps at once.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.step = this.steps.length - 1;
      this.refresh();
      return;
    }
    this.step = -1;
    const tick = () => {
      this.step++;
      if (this.step >= this.steps.length - 1) {
        this.pause();
      }
      this.refresh();
    };
    this.timer = setInterval(tick, 900);
    byId("play").setAttribute("aria-pressed", "true");
    tick();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").setAttribute("aria-pressed", "false");
  }

  refresh() {
    const { key, answer, happened } = this.now;
    const said = verdictOf(this, key, answer, happened);
    byId("answer").className = `answer ${said.mood}`;
    byId("verdict").textContent = said.verdict;
    byId("why").textContent = said.why;
    const shown = this.step === Infinity ? this.steps.length : this.step;
    const list = byId("steps");
    list.replaceChildren(
      ...this.steps.map(({ text }, index) => {
        const classes = [index > shown ? "later" : "", text.startsWith("“") ? "quoted" : ""].join(" ").trim();
        const item = make("li", classes ? { class: classes } : {}, text);
        if (index === shown) {
          item.setAttribute("aria-current", "step");
        }
        return item;
      }),
    );
    // Within the list alone: the page stays where its reader is.
    const current = list.querySelector("[aria-current]");
    list.scrollTop = current ? current.offsetTop - list.offsetTop - list.clientHeight / 2 : 0;
    byId("where").textContent =
      this.step === Infinity
        ? words("steps all", { count: this.steps.length })
        : words("steps at", { at: this.step + 1, count: this.steps.length });
    const place = this.steps[shown]?.place ?? null;
    const done =
      this.step === Infinity
        ? Infinity
        : this.steps.slice(0, shown + 1).reduce((most, { through }) => Math.max(most, through ?? 0), 0);
    this.picture.owners = this.owners;
    this.picture.show(this.engine, this.filter, answer, { at: place, done });
    this.facts();
  }

  facts() {
    const about = this.engine.about(this.filter);
    const { stats } = about;
    const keys = byId("inserted");
    keys.replaceChildren(
      ...[...this.inserted].map(([key, label]) => {
        const chip = make("button", { type: "button" }, label === "1" ? key : `${key} (${label})`);
        chip.addEventListener("click", () => {
          byId("key").value = key;
          this.look();
        });
        return make("li", {}, chip);
      }),
    );
    if (this.inserted.size === 0) {
      keys.append(make("li", { class: "note" }, words("none yet")));
    }
    byId("facts").textContent = stats
      ? words("facts", {
          ones: count(stats.ones),
          bits: count(stats.bits),
          rate: percent(stats.rate),
          keys: stats.keys === null ? "?" : count(Math.round(stats.keys)),
        })
      : sortedWords(this);
    byId("summary").textContent =
      `${named("kind", about.kind)}${about.kind === "bitmap" ? "" : ` · ${about.scheme} · ${words("shape", { bits: count(about.bits), hashes: about.hashes })}`}`;
  }

  controls() {
    const { state } = this;
    options(
      "kind",
      this.kinds.map((kind) => [kind, named("kind", kind)]),
      state.kind,
    );
    const native = ["-", "rapidhash-protected", "siphash"];
    const schemes =
      state.kind === "bloom"
        ? ["-", ...this.schemes.filter((name) => name !== "rapidhash")]
        : state.kind === "split-block" || state.kind === "bitmap"
          ? ["-"]
          : native;
    options(
      "scheme",
      schemes.map((name) => [name, name === "-" ? words("usual scheme") : named("scheme", name)]),
      state.scheme,
    );
    options(
      "rate",
      RATES.map((rate) => [rate, percent(rate)]),
      state.rate,
    );
    byId("capacity").value = state.capacity;
    byId("bits").value = state.bits || "";
    byId("hashes").value = state.hashes || "";
    const exact = state.kind === "bloom";
    document.querySelectorAll(".by-shape").forEach((element) => {
      element.hidden = !exact;
    });
    document.querySelectorAll(".by-rate").forEach((element) => {
      element.hidden = exact && state.bits > 0;
    });
    const bitmap = state.kind === "bitmap";
    byId("rate").parentElement.hidden ||= bitmap;
    byId("scheme").parentElement.hidden = bitmap || state.kind === "split-block";
    byId("capacity").previousElementSibling.textContent = words(bitmap ? "bits" : "capacity");
    const second = SECONDS[state.kind];
    byId("second").hidden = !second;
    byId("second").textContent = second ? words(second) : "";
    byId("remove").hidden = !REMOVES.includes(state.kind);
    byId("rotate").hidden = state.kind !== "windowed";
    byId("presets").replaceChildren(
      ...PRESETS.map(({ name, change }) => {
        const button = make("button", { type: "button" }, words(name));
        button.addEventListener("click", () => this.change({ ...fresh(), ...change }));
        return button;
      }),
    );
  }
}

// The bits of a place that an insert may have set.
function ownedBits(firstBit, width, stride, [rule, needed], unit) {
  const all = Array.from({ length: width }, (_, i) => i);
  const mine = unit === "window" && rule === "ones" ? all.filter((i) => (BigInt(needed) >> BigInt(i)) & 1n) : all;
  return mine.map((i) => firstBit + i * stride);
}

function sortedWords(keys) {
  // With positions that a post gives, the ones are not the keys.
  if (keys.state.alias) {
    return "";
  }
  const bytes = keys.engine.part(keys.filter, 0);
  const [[bits]] = keys.engine.about(keys.filter).parts;
  const ones = Array.from({ length: bits }, (_, i) => i).filter((i) => numberAt(bytes, i, 1) === 1);
  return words("sorted", { numbers: ones.join(" ") || "–" });
}

function drawnSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
