// Long work beside the page: experiments and the reader's file.

const BATCH = 100000;

// Inserts numbers, then looks up others; says how far it is.
function experiment(engine, { filter, form, inserts, lookups }, progress) {
  const made = engine.make(filter);
  const all = inserts.count + lookups.count;
  const result = { fresh: 0, found: 0, first: [], missed: 0 };
  for (let done = 0; done < inserts.count; done += BATCH) {
    const count = Math.min(BATCH, inserts.count - done);
    result.fresh += engine.insertNumbers(made, form, inserts.first + done * inserts.step, inserts.step, count);
    progress(done / all);
  }
  for (let done = 0; done < lookups.count; done += BATCH) {
    const count = Math.min(BATCH, lookups.count - done);
    const part = engine.findNumbers(made, form, lookups.first + done * lookups.step, lookups.step, count);
    result.found += part.found;
    if (result.first.length < 100) {
      result.first.push(...part.first);
    }
    progress((inserts.count + done) / all);
  }
  // The promise that is always kept.
  const sample = Math.min(BATCH, inserts.count);
  result.missed = sample - engine.findNumbers(made, form, inserts.first, inserts.step, sample).found;
  const { bits, hashes } = engine.about(made);
  engine.forget(made);
  return { ...result, bits, hashes };
}

let started;

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      started = Engine.start(data.module);
      return;
    }
    const engine = await started;
    const progress = (share) => postMessage({ progress: share });
    const start = performance.now();
    const result = data.bytes
      ? engine.measure(new Uint8Array(data.bytes), data.kind, data.rate)
      : experiment(engine, data, progress);
    postMessage({ result: { ...result, seconds: (performance.now() - start) / 1000 } });
  } catch (error) {
    postMessage({ error: error.message, name: error.reason });
  }
};
