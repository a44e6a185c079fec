// What a filter does with a key, in sentences: each step, and the answer.

// The most steps of one layer; a ribbon has 64 slots.
const MOST_STEPS = 16;

function stepsOf(keys, key, answer, happened) {
  const steps = [];
  const inserts = happened.label !== undefined;
  const about = keys.engine.about(keys.filter);
  const alias = ALIASES[keys.state.alias]?.[key];
  if (alias) {
    steps.push({ text: words("step alias", { key, positions: alias }) });
  } else if (about.kind === "bitmap") {
    steps.push({ text: words("step bitmap", { key }) });
  } else if (answer.hash) {
    steps.push({ text: words("step hash", { key, scheme: about.scheme, hash: answer.hash }) });
  } else {
    steps.push({ text: words("step scheme", { key, scheme: about.scheme, hashes: about.hashes }) });
  }
  if (inserts && about.inserts === "built") {
    steps.push({ text: words("step built") });
  }
  let place = 0;
  for (const [index, layer] of answer.layers.entries()) {
    if (layer.layer) {
      const [name, number] = layer.layer;
      steps.push({ text: words("step layer", { layer: words(`in ${name}`, { number }) }), through: place });
    }
    const before = happened.before?.layers[index];
    const goes = layerSteps(layer, before, inserts, place);
    steps.push(...goes);
    place += layer.places.length;
    const found = layer.hold && about.kind !== "cascade";
    if (found && !inserts && index + 1 < answer.layers.length && answer.found) {
      break;
    }
  }
  const said = verdictOf(keys, key, answer, happened);
  steps.push({ text: said.verdict, through: Infinity });
  return steps;
}

function layerSteps(layer, before, inserts, first) {
  const {
    places,
    needed: [rule, needed],
    unit,
  } = layer;
  if (places.length > MOST_STEPS || rule === "sum") {
    return [{ text: sumWords(layer), place: null, through: first + places.length }];
  }
  const steps = [];
  let common = BigInt(needed);
  const seen = new Set();
  for (const [index, [number, firstBit, text]] of places.entries()) {
    const value = BigInt(text);
    const old = before && before.unit === unit && before.places[index] ? BigInt(before.places[index][2]) : value;
    const at = { place: first + index, through: first + index + 1 };
    const name = { unit: words(`unit ${unit}`), number: count(number) };
    if (unit === "window") {
      common &= value;
      steps.push({ text: windowWords(rule, needed, firstBit, value, common, inserts), ...at });
      const missing = rule === "ones" ? (value & BigInt(needed)) !== BigInt(needed) : common === 0n;
      if (missing && !inserts) {
        break;
      }
      continue;
    }
    if (inserts && rule === "no-zero") {
      const again = seen.has(number);
      seen.add(number);
      const change = again
        ? "step same"
        : old === value
          ? unit === "bit"
            ? "step already"
            : "step stays"
          : "step set";
      steps.push({ text: words(change, { ...name, old, value }), ...at });
      continue;
    }
    if (rule === "any") {
      const fits = value === BigInt(needed);
      steps.push({
        text: words(fits ? "step has" : "step other", {
          ...name,
          value: value.toString(16),
          needed: BigInt(needed).toString(16),
        }),
        ...at,
      });
      if (fits && !inserts) {
        break;
      }
      continue;
    }
    steps.push({ text: words(value === 0n ? "step zero" : "step one", { ...name, value }), ...at });
    if (value === 0n) {
      break;
    }
  }
  return steps;
}

function windowWords(rule, needed, firstBit, value, common, inserts) {
  const wanted = [];
  for (let i = 0; i < 64; i++) {
    if ((BigInt(needed) >> BigInt(i)) & 1n) {
      wanted.push(i);
    }
  }
  if (rule === "ones") {
    const bits = wanted.map((i) => `${count(firstBit + i)}: ${(value >> BigInt(i)) & 1n}`).join(", ");
    return words(inserts ? "step window set" : "step window", { number: count(firstBit), bits });
  }
  const left = wanted.filter((i) => (common >> BigInt(i)) & 1n);
  return words("step common", { number: count(firstBit), left: left.length ? left.join(", ") : "–" });
}

function sumWords({ places, needed: [, needed], hold }) {
  const sum = places.reduce((all, [, , text]) => all ^ BigInt(text), 0n);
  const shown = places.slice(0, 3).map(([number, , text]) => `${count(number)}: ${BigInt(text).toString(16)}`);
  const list =
    places.length > 3 ? words("and more", { list: shown.join(", "), count: places.length - 3 }) : shown.join(", ");
  return words(hold ? "step sum" : "step sum other", {
    list,
    sum: sum.toString(16),
    needed: BigInt(needed).toString(16),
  });
}

// The answer, why it is that, and how certain.
function verdictOf(keys, key, answer, happened) {
  const about = keys.engine.about(keys.filter);
  if (happened.label !== undefined) {
    return insertWords(key, answer, happened, about);
  }
  if (happened.removed !== undefined) {
    const what = happened.removed ? "removed" : "not removed";
    return {
      mood: happened.removed ? "fresh" : "no",
      verdict: words(what, { key }),
      why: words(answer.found ? "removed still" : "removed gone"),
    };
  }
  if (about.kind === "cascade") {
    const known = keys.inserted.has(key);
    return {
      mood: answer.found ? "mayhap" : "no",
      verdict: words(answer.found ? "cascade yes" : "cascade no", { key }),
      why: words(known ? "cascade known" : "cascade unknown"),
    };
  }
  if (!answer.found) {
    return { mood: "no", verdict: words("no", { key }), why: noWords(answer, about) };
  }
  const was = keys.inserted.has(key);
  // A bitmap of numbers is exact; one whose positions a post gives is a filter.
  const exact = about.kind === "bitmap" && !keys.state.alias;
  const [inserted, wrong] = { sum: ["why solved", "why chance"], any: ["why kept", "why same"] }[
    answer.layers[0]?.needed[0]
  ] ?? ["why inserted", "why false"];
  const why = exact ? words("why bitmap") : was ? words(inserted) : words(wrong, { by: blame(keys, answer, about) });
  return {
    mood: "mayhap",
    verdict: words(exact ? "yes" : was ? "mayhap" : "false positive", { key }),
    why: extraWords(answer) + why,
  };
}

function insertWords(key, answer, { before, label }, about) {
  if (about.kind === "guarded" && label === "2") {
    return { mood: "fresh", verdict: words("listed", { key }), why: words("listed why") };
  }
  const fresh = !before.found;
  const why = fresh ? "new why" : "not new why";
  return {
    mood: fresh ? "fresh" : "mayhap",
    verdict: words(fresh ? "new" : "not new", { key }),
    why: extraWords(answer) + words(why),
  };
}

function noWords(answer, about) {
  if (answer.listed) {
    return words("why listed");
  }
  if (about.kind === "bitmap" && answer.layers[0].places.length === 0) {
    return words("why number");
  }
  for (const layer of answer.layers) {
    if (layer.needed[0] !== "no-zero" || layer.layer) {
      continue;
    }
    const zero = layer.places.find(([, , value]) => value === "0");
    if (zero) {
      return words("why zero", { unit: words(`unit ${layer.unit}`), number: count(zero[0]) });
    }
  }
  const kind = {
    fuse: "why sum",
    ribbon: "why sum",
    cuckoo: "why buckets",
    shifting: "why window",
    "shifting-association": "why window",
    "shifting-multiplicity": "why window",
  }[about.kind];
  return words(kind ?? "why layers");
}

// Which keys set the bits of one that was never inserted.
function blame(keys, answer, about) {
  const cell = about.width ?? 1;
  const by = new Set();
  for (const layer of answer.layers.filter(({ hold }) => hold)) {
    for (const [, firstBit] of layer.places) {
      for (const bit of ownedBits(firstBit, layer.width, layer.stride, layer.needed, layer.unit)) {
        for (const owner of keys.owners.get(`${layer.part}:${Math.floor(bit / cell)}`) ?? []) {
          by.add(owner);
        }
      }
    }
  }
  return [...by].slice(0, 12).join(", ") || "?";
}

function extraWords(answer) {
  const parts = [];
  if (answer.count !== undefined) {
    parts.push(words("extra count", { count: count(answer.count) }));
  }
  if (answer.area) {
    parts.push(words("extra area", { area: answer.area }));
  }
  if (answer.regions?.length) {
    parts.push(
      words("extra regions", { regions: answer.regions.map((region) => words(`region ${region}`)).join(words("or")) }),
    );
  }
  return parts.join(" ") + (parts.length ? " " : "");
}
