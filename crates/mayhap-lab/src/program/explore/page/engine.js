"use strict";
// The filters: numbers and bytes in, numbers, bytes and JSON out.

// What the library refuses: its reason, in English, and the name of it.
function refusal({ error, name }) {
  return Object.assign(new Error(error), { reason: name });
}

class Engine {
  static async start(module) {
    const instance = await WebAssembly.instantiate(module, {});
    return new Engine(instance.exports);
  }

  constructor(calls) {
    this.calls = calls;
  }

  write(bytes) {
    const at = this.calls.input(bytes.length);
    new Uint8Array(this.calls.memory.buffer, at, bytes.length).set(bytes);
  }

  key(text) {
    this.write(typeof text === "string" ? new TextEncoder().encode(text) : text);
  }

  bytes() {
    const at = this.calls.output();
    return new Uint8Array(this.calls.memory.buffer, at, this.calls.output_length()).slice();
  }

  json() {
    const value = JSON.parse(new TextDecoder().decode(this.bytes()));
    if (value.error) {
      throw refusal(value);
    }
    return value;
  }

  // An answer, or the reason why there is none.
  answered(code) {
    if (code < 0) {
      this.json();
    }
    return code;
  }

  names() {
    this.calls.names();
    return this.json();
  }

  make({ kind, scheme = "-", secret = "-", capacity = 1, rate = 0.01, bits = 0, hashes = 0 }) {
    this.key(`${kind} ${scheme || "-"} ${secret || "-"}`);
    return this.answered(this.calls.make(capacity, rate, bits, hashes));
  }

  forget(filter) {
    this.calls.forget(filter);
  }

  insert(filter, key, label = 1) {
    this.key(key);
    return this.answered(this.calls.insert(filter, label)) === 1;
  }

  contains(filter, key) {
    this.key(key);
    return this.answered(this.calls.contains(filter)) === 1;
  }

  remove(filter, key) {
    this.key(key);
    return this.answered(this.calls.remove(filter)) === 1;
  }

  rotate(filter) {
    this.answered(this.calls.rotate(filter));
  }

  answer(filter, key) {
    this.key(key);
    this.calls.answer(filter);
    return this.json();
  }

  about(filter) {
    this.calls.about(filter);
    return this.json();
  }

  part(filter, part) {
    this.calls.part(filter, part);
    return this.bytes();
  }

  insertNumbers(filter, form, first, step, count) {
    return this.calls.insert_numbers(filter, form, first, step, count);
  }

  findNumbers(filter, form, first, step, count) {
    const found = this.calls.find_numbers(filter, form, first, step, count);
    return { found, first: found < 0 ? [] : this.json() };
  }

  forge(filter, fresh, first, tries) {
    return this.calls.forge(filter, fresh ? 1 : 0, first, tries);
  }

  measure(bytes, kind, rate) {
    this.write(bytes);
    this.calls.measure(kind, rate);
    return this.json();
  }

  plan(capacity, rate) {
    this.calls.plan_for(capacity, rate);
    return this.json();
  }

  rateAt(bits, hashes, keys) {
    return this.calls.rate_at(bits, hashes, keys);
  }
}
