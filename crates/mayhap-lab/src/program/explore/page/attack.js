// Keys that an attacker chooses, and the secret that ends it.

const VICTIM = { kind: "bloom", capacity: 150, rate: 0.01 };
const PER_FRAME = 1;
const TRIES = 20000;
const ASKED = 10000;

// A filter that takes keys from outside, and the copy in which an attacker tries them first.
class Victim {
  constructor(engine, side, secret) {
    this.engine = engine;
    this.side = side;
    this.picture = new Picture(byId(`${side}-picture`), { small: true });
    const keyed = secret ? { scheme: "siphash", secret: drawnSecret() } : {};
    this.filter = engine.make({ ...VICTIM, ...keyed });
    // The attacker knows the algorithm and not the secret: their copy has another one.
    this.copy = engine.make({ ...VICTIM, ...(secret ? { scheme: "siphash", secret: drawnSecret() } : {}) });
    this.next = Math.floor(Math.random() * 1e9);
    this.inserted = 0;
  }

  // The attacker inserts a key whose bits are all fresh in their copy.
  strike() {
    let number = this.engine.forge(this.copy, true, this.next, TRIES);
    if (number < 0) {
      number = this.next + TRIES;
    }
    this.next = number + 1;
    this.engine.insert(this.copy, String(number));
    this.engine.insert(this.filter, String(number));
    this.inserted++;
  }

  // How many of these keys, which nobody inserted, are found.
  wrong() {
    return this.engine.findNumbers(this.filter, RANDOM, ABSENT, 1, ASKED).found / ASKED;
  }

  show() {
    this.picture.show(this.engine, this.filter, null);
    const { stats } = this.engine.about(this.filter);
    this.rate = stats.rate;
    byId(`${this.side}-said`).textContent = words("attack state", {
      keys: this.inserted,
      capacity: VICTIM.capacity,
      ones: percent(stats.ones / stats.bits),
      rate: percent(this.wrong()),
    });
  }

  forget() {
    this.engine.forget(this.filter);
    this.engine.forget(this.copy);
    byId(`${this.side}-picture`).replaceChildren();
  }
}

class Attack {
  constructor(engine) {
    this.engine = engine;
    byId("attack-start").addEventListener("click", () => this.start());
    byId("attack-stop").addEventListener("click", () => this.stop());
  }

  draw() {
    if (!this.sides) {
      this.sides = this.made();
    }
    this.sides.forEach((side) => side.show());
    this.say();
  }

  made() {
    return [new Victim(this.engine, "open", false), new Victim(this.engine, "keyed", true)];
  }

  start() {
    this.sides?.forEach((side) => side.forget());
    this.sides = this.made();
    this.running = true;
    this.done = false;
    this.buttons();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const frame = () => {
      if (!this.running) {
        return;
      }
      for (let i = 0; i < (calm ? 10 : PER_FRAME); i++) {
        this.sides.forEach((side) => side.strike());
      }
      this.done = this.sides[0].inserted >= VICTIM.capacity;
      if (this.done) {
        this.stop();
      }
      if (!calm || this.done) {
        this.draw();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    this.running = false;
    this.buttons();
    this.draw();
  }

  buttons() {
    byId("attack-start").disabled = this.running;
    byId("attack-stop").disabled = !this.running;
  }

  say() {
    const [open, keyed] = this.sides.map((side) => percent(side.wrong()));
    byId("attack-said").textContent = this.done ? words("attack done", { open, keyed }) : "";
  }
}
