// Brings the filters to life and starts every section.

async function unpacked() {
  const text = atob(byId("wasm").textContent.trim());
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function begin() {
  speak(spoken());
  const module = await WebAssembly.compile(await unpacked());
  const engine = await Engine.start(module);
  const helper = new Helper(module);
  const keys = new Keys(engine, new Picture(byId("picture"), { said: byId("pointed") }));
  const sections = [new Sizes(engine), new Runs(helper), new Attack(engine), new Own(helper, engine)];
  const draw = () => {
    byId("english").setAttribute("aria-pressed", language === "en");
    byId("chinese").setAttribute("aria-pressed", language === "zh");
    sections.forEach((section) => section.draw());
  };
  const choose = (chosen) => {
    speak(chosen);
    keys.rebuild();
    draw();
  };
  byId("english").addEventListener("click", () => choose("en"));
  byId("chinese").addEventListener("click", () => choose("zh"));
  document.addEventListener("spoken", draw);
  keys.start();
  draw();
  return { engine, keys, sections };
}

// What the tests wait for.
const ready = begin().catch((error) => {
  const place = byId("trouble");
  place.hidden = false;
  place.textContent = explained(error);
  throw error;
});
