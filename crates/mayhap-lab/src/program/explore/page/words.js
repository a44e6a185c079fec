// Which language the page speaks.

const LANGUAGES = { en: ENGLISH, zh: CHINESE };
let language = "en";

// The sentence of this name, with its holes filled.
function words(name, holes = {}) {
  const sentence = LANGUAGES[language][name] ?? ENGLISH[name];
  if (sentence === undefined) {
    throw new Error(`no words for ${name}`);
  }
  return sentence.replace(/\{(\w+)\}/g, (_, hole) => holes[hole]);
}

// What a name of the library is called here; the name itself where there is no other word.
function named(group, name) {
  return LANGUAGES[language][`${group} ${name}`] ?? ENGLISH[`${group} ${name}`] ?? name;
}

function speak(chosen) {
  language = LANGUAGES[chosen] ? chosen : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  document.title = words("title");
  for (const element of document.querySelectorAll("[data-t]")) {
    element.textContent = words(element.dataset.t);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", words(element.dataset.label));
  }
  for (const element of document.querySelectorAll("[data-hint]")) {
    element.placeholder = words(element.dataset.hint);
  }
}

function spoken() {
  const first = (navigator.languages ?? [navigator.language])[0] ?? "en";
  return first.toLowerCase().startsWith("zh") ? "zh" : "en";
}

// Numbers as readers of the language have them.
function count(number) {
  return new Intl.NumberFormat(document.documentElement.lang).format(number);
}

function percent(share) {
  if (share === null || !Number.isFinite(share)) {
    return "–";
  }
  if (share > 0 && share < 1e-6) {
    const [digits, power] = share.toExponential(1).split("e-");
    return `${digits} × 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  }
  return new Intl.NumberFormat(document.documentElement.lang, { style: "percent", maximumSignificantDigits: 3 }).format(
    share,
  );
}

function size(bits) {
  const bytes = bits / 8;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  const value = bytes / 1000 ** power;
  return `${count(Number(value.toPrecision(3)))} ${units[power]}`;
}

// The element with this id, which has to be there.
function byId(id) {
  const element = document.getElementById(id);
  if (!element) {
    throw new Error(`no element ${id}`);
  }
  return element;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Fills a list of choices.
function options(id, choices, chosen) {
  const select = byId(id);
  select.replaceChildren(
    ...choices.map(([value, text]) => {
      const option = make("option", { value }, text);
      option.selected = String(value) === String(chosen);
      return option;
    }),
  );
}

// What went wrong. The library says it in English, with numbers; in other languages a sentence for it comes first.
function explained(error) {
  const sentence = LANGUAGES[language][`refused ${error.reason}`];
  return sentence ? words("refused", { sentence, detail: error.message }) : error.message;
}

// Says what went wrong, or takes it back.
function trouble(error) {
  byId("trouble").hidden = !error;
  byId("trouble").textContent = error ? words("trouble", { text: explained(error) }) : "";
}
