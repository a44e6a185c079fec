//! Every control of the page works, by mouse and by keyboard.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Opened, open};

/// Helper functions for the scripts below.
const HELPERS: &str = r##"
    const at = (id) => document.getElementById(id);
    const set = (id, value, event = "change") => { at(id).value = value; at(id).dispatchEvent(new Event(event, { bubbles: true })); };
    const click = (id) => { if (at(id).disabled || at(id).offsetParent === null) throw new Error(`${id} cannot be clicked`); at(id).click(); };
    const ask = (key) => { set("key", key, "input"); return at("answer").className.split(" ")[1]; };
    const insert = (key) => { set("key", key, "input"); click("insert"); return at("answer").className.split(" ")[1]; };
"##;

impl Opened {
    /// Runs a script that may use the helpers.
    fn play(&mut self, body: &str) -> Value {
        self.browser.run(&format!("{HELPERS} {body}"))
    }
}

/// Returns whether a value is a text that has these words.
fn has(value: &Value, words: &str) -> bool {
    value.as_str().is_some_and(|text| text.contains(words))
}

#[test]
fn keys_are_inserted_looked_up_and_drawn_in_every_kind() {
    let Some(mut opened) = open(1280) else { return };
    let kinds = opened
        .browser
        .run("return [...document.getElementById('kind').options].map((option) => option.value)");
    let kinds = kinds.as_array().expect("a list");
    let expected = mayhap::Kind::ALL.iter().map(|kind| kind.name());
    let expected: Vec<&str> = expected.chain(["bitmap"]).collect();
    assert_eq!(json!(kinds), json!(expected));
    for kind in kinds {
        let kind = kind.as_str().expect("a name");
        let (key, other) = if kind == "bitmap" {
            ("7", "8")
        } else {
            ("ann", "bob")
        };
        let seen = opened.play(&format!(
            r##"
            set("kind", "{kind}");
            click("clear");
            const before = ask("{key}");
            const empty = document.querySelector("#picture canvas")?.toDataURL();
            const inserted = insert("{key}");
            const canvas = document.querySelector("#picture canvas");
            const changed = canvas.toDataURL() !== empty && canvas.width > 100;
            const steps = at("steps").children.length;
            const found = ask("{key}");
            const absent = ask("{other}");
            ask("{key}");
            const second = at("second").hidden ? null : (set("key", "{other}", "input"), click("second"), at("answer").className);
            const removed = at("remove").hidden ? null : (set("key", "{key}", "input"), click("remove"), ask("{key}"));
            const trouble = at("trouble").hidden;
            return {{ before, inserted, changed, steps, found, absent, second, removed, trouble, label: canvas.getAttribute("aria-label") }};
            "##
        ));
        assert_eq!(seen["before"], "no", "{kind}: {seen}");
        assert_eq!(seen["inserted"], "fresh", "{kind}: {seen}");
        assert_eq!(seen["found"], "mayhap", "{kind}: {seen}");
        assert_eq!(seen["absent"], "no", "{kind}: {seen}");
        assert_eq!(seen["trouble"], true, "{kind}: {seen}");
        assert_eq!(seen["changed"], true, "{kind}: {seen}");
        assert!(seen["steps"].as_u64() >= Some(3), "{kind}: {seen}");
        let removes = ["counting", "cuckoo", "spectral", "bitmap"].contains(&kind);
        assert_eq!(
            seen["removed"],
            if removes { json!("no") } else { Value::Null },
            "{kind}"
        );
        assert!(has(&seen["label"], "bits"), "{kind}");
    }
    opened.assert_quiet();
}

#[test]
fn presets_show_the_figures_of_the_posts_and_links_bring_them_back() {
    let Some(mut opened) = open(1280) else { return };
    let seen = opened.play(r##"
        const presets = () => [...document.querySelectorAll("#presets button")];
        const preset = (index) => {
            presets()[index].click();
            return { answer: at("answer").className, why: at("why").textContent, facts: at("facts").textContent, keys: at("inserted").textContent, steps: at("steps").textContent };
        };
        const all = presets().map((_, index) => preset(index));
        preset(2);
        click("link");
        return { all, hash: location.hash };
        "##);
    let all = seen["all"].as_array().expect("a list");
    assert_eq!(all.len(), 8);
    // Bits 1, 3, 4 and 5 are those of two other keys.
    assert_eq!(all[2]["answer"], "answer mayhap");
    assert_eq!(
        all[2]["why"],
        "It was never inserted. Other keys have filled its places: hello, xyz."
    );
    assert!(has(&all[2]["steps"], "1 3 4 5"));
    // One URL, at 8, 1, 6 and 13.
    assert_eq!(all[3]["answer"], "answer mayhap");
    assert!(has(&all[3]["steps"], "8 1 6 13"));
    // The algorithm of the post, in 8 bits with 2 hashes: a real false positive.
    assert_eq!(all[4]["answer"], "answer mayhap");
    assert!(
        all[5]["facts"]
            .as_str()
            .is_some_and(|facts| facts.ends_with("2 3 4 5 7"))
    );
    // 1000 has set 0 and 2, 2000 has set 4 and 7; 3000 needs 4 and 5.
    assert_eq!(all[1]["answer"], "answer no");
    assert!(has(&all[1]["steps"], "4 5"));
    assert!(
        all[1]["why"]
            .as_str()
            .is_some_and(|why| why.contains("bit 5 is 0") || why.contains("Bit 5 is 0")),
        "{}",
        all[1]
    );

    opened.go_to(seen["hash"].as_str().expect("text"));
    let again = opened.play(r##"return { key: at("key").value, answer: at("answer").className, keys: at("inserted").textContent }"##);
    assert_eq!(
        again,
        json!({ "key": "sadj", "answer": "answer mayhap", "keys": "helloxyz" })
    );

    // A malformed link does no harm, or is explained.
    opened.go_to("#kind=none&capacity=-5&bits=x&deed=&deed=%00&lang=xx");
    let refused = opened.play(r##"return at("trouble").textContent"##);
    assert!(has(&refused, "none"), "{refused}");
    opened.assert_quiet();
}

#[test]
fn steps_generations_many_keys_and_exact_sizes_work() {
    let Some(mut opened) = open(1280) else { return };
    let seen = opened.play(r##"
        insert("ann");
        const all = at("steps").children.length;
        click("next"); click("next");
        const second = [...at("steps").children].findIndex((step) => step.hasAttribute("aria-current"));
        click("back");
        const first = [...at("steps").children].findIndex((step) => step.hasAttribute("aria-current"));
        click("play");
        const played = at("where").textContent;
        click("many");
        const many = at("inserted").children.length;
        document.querySelector("#inserted button").click();
        const chip = [at("key").value, at("answer").className];
        click("clear");
        const cleared = at("inserted").children.length;
        set("kind", "windowed");
        insert("ann");
        const generations = [];
        for (let i = 0; i < 5; i++) { generations.push(ask("ann")); click("rotate"); }
        set("kind", "bloom");
        set("bits", "8"); set("hashes", "2");
        const shape = at("summary").textContent;
        const hidden = document.querySelector(".by-rate").hidden;
        set("scheme", "siphash");
        const keyed = at("summary").textContent;
        set("bits", ""); set("capacity", "50"); set("rate", "0.1");
        const rated = at("summary").textContent;
        set("kind", "scalable"); set("capacity", "20"); set("rate", "0.01"); click("clear");
        for (let i = 0; i < 4; i++) click("many");
        return { all, first, second, played, many, chip, cleared, generations, shape, hidden, keyed, rated, boards: document.querySelectorAll("#picture canvas").length };
        "##);
    assert!(seen["all"].as_u64() >= Some(8), "{seen}");
    assert_eq!((&seen["first"], &seen["second"]), (&json!(0), &json!(1)));
    assert_eq!(seen["played"], format!("Step {0} of {0}", seen["all"]));
    assert_eq!((&seen["many"], &seen["cleared"]), (&json!(11), &json!(1)));
    assert_eq!(seen["chip"], json!(["ann", "answer mayhap"]));
    // Four generations in the window, then it is forgotten.
    assert_eq!(
        seen["generations"],
        json!(["mayhap", "mayhap", "mayhap", "mayhap", "no"])
    );
    assert!(
        seen["shape"]
            .as_str()
            .is_some_and(|shape| shape.ends_with("8 bits, 2 hashes")),
        "{seen}"
    );
    assert_eq!(seen["hidden"], true);
    assert!(has(&seen["keyed"], "siphash"), "{seen}");
    assert!(seen["boards"].as_u64() > Some(1), "{seen}");
    opened.assert_quiet();
}

#[test]
fn steps_play_by_themselves_where_motion_is_welcome() {
    let Some(mut opened) = open(1280) else { return };
    let moving =
        json!({ "features": [{ "name": "prefers-reduced-motion", "value": "no-preference" }] });
    opened.browser.call("Emulation.setEmulatedMedia", moving);
    let seen = opened.play(r##"
        click("play");
        const began = [at("where").textContent, at("play").getAttribute("aria-pressed")];
        while (at("play").getAttribute("aria-pressed") === "true") await new Promise((later) => setTimeout(later, 50));
        const ended = at("where").textContent;
        click("play");
        click("play");
        return { began, ended, stopped: at("play").getAttribute("aria-pressed") };
        "##);
    assert_eq!(seen["began"], json!(["Step 1 of 3", "true"]));
    assert_eq!(seen["ended"], "Step 3 of 3");
    assert_eq!(seen["stopped"], "false");
    opened.assert_quiet();
}

#[test]
fn everything_is_reached_and_used_by_keyboard() {
    let Some(mut opened) = open(1280) else { return };
    opened.play(r##"at("key").focus(); at("key").select(); return 1"##);
    opened.browser.type_text("typed key");
    let typed = opened.play(r##"return [at("key").value, at("answer").className]"##);
    assert_eq!(typed, json!(["typed key", "answer no"]));
    opened.browser.press("Tab");
    opened.browser.press(" ");
    let pressed = opened.play(r##"return [document.activeElement.id, at("answer").className, at("inserted").textContent]"##);
    assert_eq!(pressed, json!(["insert", "answer fresh", "typed key"]));
    opened.play(r##"at("key").focus(); return 1"##);
    opened.browser.press("Enter");
    let asked = opened.play(r##"return at("answer").className"##);
    assert_eq!(asked, "answer mayhap");

    // The names of the controls for a screen reader.
    let tree = opened
        .browser
        .call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("a list");
    let controls = [
        "button",
        "textbox",
        "combobox",
        "slider",
        "checkbox",
        "spinbutton",
        "link",
        "image",
    ];
    let mut named = 0;
    for node in nodes {
        let role = node["role"]["value"].as_str().unwrap_or("");
        if controls.contains(&role) && node["ignored"] != true {
            let name = node["name"]["value"].as_str().unwrap_or("");
            assert!(!name.trim().is_empty(), "{node}");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
    opened.assert_quiet();
}

#[test]
fn sliders_draw_curves_in_both_languages_and_on_a_phone() {
    for width in [1280, 390] {
        let Some(mut opened) = open(width) else {
            return;
        };
        let seen = opened.play(r##"
            const sized = [at("sized").textContent];
            set("n", "8", "input"); sized.push(at("sized").textContent);
            set("p", "-4", "input"); sized.push(at("sized").textContent);
            set("k", "3", "input"); sized.push(at("sized").textContent);
            const best = at("best").checked;
            click("best"); sized.push(at("sized").textContent);
            const charts = [...document.querySelectorAll("#sizes svg")].map((svg) => [svg.getBoundingClientRect().height > 100, svg.getAttribute("aria-label").length > 20]);
            const wide = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
            const overflow = [wide()];
            const english = [at("insert").textContent, document.documentElement.lang];
            click("chinese");
            overflow.push(wide());
            const empty = [...document.querySelectorAll("[data-t]")].filter((element) => element.textContent.trim() === "").map((element) => element.dataset.t);
            const holes = /\{\w+\}|undefined|NaN/.exec(document.body.innerText);
            const chinese = [at("insert").textContent, document.documentElement.lang, document.title];
            insert("键");
            const said = at("verdict").textContent;
            click("english");
            return { sized, best, charts, overflow, english, chinese, empty, holes, said };
            "##);
        let sized = seen["sized"].as_array().expect("a list");
        assert!(has(&sized[0], "1.44 times that"), "{seen}");
        assert!(has(&sized[0], "6.64 bits per key"), "{seen}");
        let distinct = sized
            .iter()
            .map(Value::to_string)
            .collect::<std::collections::BTreeSet<_>>();
        assert_eq!(
            distinct.len(),
            4,
            "all but the last change the text: {seen}"
        );
        assert_eq!((&seen["best"], &sized[4]), (&json!(false), &sized[2]));
        assert_eq!(
            seen["charts"],
            json!([[true, true], [true, true], [true, true]]),
            "{width}"
        );
        assert_eq!(seen["overflow"], json!([0, 0]), "{width}");
        assert_eq!(seen["english"], json!(["Insert", "en"]));
        assert_eq!(
            seen["chinese"],
            json!(["插入", "zh-Hans", "Mayhap：看得见的布隆过滤器"])
        );
        assert_eq!(seen["said"], "“键”已插入，而且肯定是新的。");
        assert_eq!((&seen["empty"], &seen["holes"]), (&json!([]), &Value::Null));
        opened.assert_quiet();
    }
}

#[test]
fn refusals_of_the_library_are_explained_in_chinese() {
    let Some(mut opened) = open(1280) else { return };
    let seen = opened.play(
        r##"
        const refused = () => at("trouble").hidden ? "" : at("trouble").textContent;
        const english = (set("kind", "bitmap"), insert("x"), refused());
        click("chinese");
        const said = {};
        insert("x"); said.numbers = refused();
        insert("5000"); said.position = refused();
        set("kind", "cascade"); click("clear");
        insert("ann"); said.nothing = refused();
        click("second"); said.overlap = refused();
        set("kind", "shifting-multiplicity"); click("clear");
        for (let i = 0; i < 58; i++) insert("ann");
        said.times = refused();
        return { english, said };
        "##,
    );
    assert_eq!(
        seen["english"],
        "That does not work: the keys of a bitmap are whole numbers"
    );
    assert_eq!(seen["said"]["nothing"], "");
    for (name, sentence, detail) in [
        ("numbers", "位图的键是整数。", "the keys of a bitmap are"),
        ("position", "位图里没有这一位", "5000"),
        ("overlap", "一个键不能同时在两个集合里。", "1"),
        ("times", "这个键的次数超出了过滤器能记录的范围。", "58"),
    ] {
        let said = seen["said"][name].as_str().unwrap_or("");
        assert!(said.starts_with(&format!("这样不行：{sentence}")), "{seen}");
        assert!(said.ends_with('）') && said.contains(detail), "{seen}");
    }
    let missing = opened.browser.run(&format!(
        "return {}.filter((name) => !CHINESE[`refused ${{name}}`])",
        json!(mayhap_explore::Refusal::NAMES)
    ));
    assert_eq!(missing, json!([]));

    // A malformed link, in a Chinese page.
    for (fragment, sentence) in [
        ("kind=none", "没有叫这个名字的种类或哈希。"),
        ("kind=bloom&scheme=siphash&secret=12", "密钥不对"),
        ("kind=blocked&scheme=guava64", "这种过滤器做不到。"),
        (
            "kind=blocked&capacity=20&rate=1.5",
            "误判率必须在 0 和 1 之间",
        ),
        ("kind=bloom&bits=8&hashes=0", "哈希个数超出了允许的范围。"),
    ] {
        opened.go_to(&format!("#{fragment}&lang=zh"));
        let said = opened.play(r##"return at("trouble").textContent"##);
        assert!(
            said.as_str()
                .is_some_and(|said| said.starts_with(&format!("这样不行：{sentence}"))),
            "{fragment}: {said}"
        );
    }
    opened.assert_quiet();
}

#[test]
fn experiments_run_beside_the_page_with_the_figures_of_the_library() {
    let Some(mut opened) = open(1280) else { return };
    let seen = opened.play(r##"
        set("scale", "0.01");
        const cards = () => [...document.querySelectorAll("#experiments .card")];
        const { sections } = await ready;
        const runs = sections.find((section) => section.results);
        for (const card of cards()) card.querySelector("button").click();
        const busy = cards().every((card) => card.querySelector("button").disabled);
        await runs.helper.last;
        while (runs.results.size < cards().length) await new Promise((later) => setTimeout(later, 20));
        return { busy, results: Object.fromEntries(runs.results), texts: cards().map((card) => card.innerText) };
        "##);
    assert_eq!(seen["busy"], true);
    // The same keys in the same filter, with the library itself.
    let mut filter = mayhap::Kind::Bloom
        .plan(100_000, 0.01)
        .and_then(|plan| plan.hashed_by(mayhap::Scheme::Guava64))
        .and_then(|plan| mayhap::AnyFilter::new(&plan))
        .expect("valid");
    for number in 0..100_000_u32 {
        filter.insert(&number).expect("inserts");
    }
    let wrong = (100_000..110_000_u32)
        .filter(|number| filter.contains(number))
        .count();
    let results = &seen["results"];
    assert_eq!(results["guava"]["found"], json!(wrong), "{results}");
    for (name, rate) in [("uuid", 0.03), ("uniform", 0.03), ("guava", 0.01)] {
        let result = &results[name];
        let [found, asked] =
            ["found", "asked"].map(|field| result[field].as_f64().expect("a number"));
        // 10 000 to 100 000 lookups: six standard deviations are at most 0.006.
        assert!((found / asked - rate).abs() < 0.006, "{name}: {result}");
    }
    for name in ["even", "guava", "uuid", "uniform", "salted"] {
        assert_eq!(results[name]["missed"], 0, "{name}");
    }
    opened.assert_quiet();
}

#[test]
fn an_attack_fills_a_filter_and_a_secret_ends_it() {
    let Some(mut opened) = open(1280) else { return };
    let seen = opened.play(r##"
        const { sections } = await ready;
        const attack = sections.find((section) => section.sides);
        click("attack-start");
        while (attack.sides[0].inserted < 20) await new Promise(requestAnimationFrame);
        click("attack-stop");
        const stopped = [attack.sides[0].inserted, at("attack-start").disabled];
        click("attack-start");
        while (!attack.done) await new Promise(requestAnimationFrame);
        return { stopped, rates: attack.sides.map((side) => side.wrong()), said: at("attack-said").textContent };
        "##);
    let rates: Vec<f64> = seen["rates"]
        .as_array()
        .expect("two")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    // Every bit is a fresh one: (nk/m)^k is 7 % where 1 % was promised.
    assert!(rates[0] > 0.04, "{seen}");
    assert!(rates[1] < 0.025, "{seen}");
    assert_eq!(seen["stopped"][1], false);
    assert!(has(&seen["said"], "1 %"), "{seen}");
    opened.assert_quiet();
}

#[test]
fn a_file_is_measured_in_the_page_and_nothing_can_leave_it() {
    let Some(mut opened) = open(1280) else { return };
    let file = opened.folder.path().join("keys.txt");
    let lines: String = (0..20_000).map(|i| format!("line {}\n", i / 2)).collect();
    fs::write(&file, &lines).expect("written");
    opened.browser.choose_file("#file", &file);
    let wait = r##"
        const { sections } = await ready;
        const own = sections.find((section) => "codes" in section);
        while (!own.result) await new Promise((later) => setTimeout(later, 20));
        return { result: own.result, said: at("own-said").textContent };
    "##;
    let seen = opened.play(wait);
    let native = native_measure(lines.as_bytes());
    for (field, expected) in native.as_object().expect("an object") {
        assert_eq!(&seen["result"][field], expected, "{field}");
    }
    assert!(
        seen["said"]
            .as_str()
            .is_some_and(|said| said.starts_with("keys.txt: 20,000 lines.")),
        "{seen}"
    );
    let other = opened.play(&format!(r##"set("own-rate", "0.5"); {wait}"##));
    assert!(
        other["result"]["wrong"].as_u64() > seen["result"]["wrong"].as_u64(),
        "{other}"
    );
    let dropped = opened.play(&format!(
        r##"
        const files = new DataTransfer();
        files.items.add(new File(["a\nb\n\nc\na\n"], "dropped.txt"));
        const drag = (name) => at("drop").dispatchEvent(new DragEvent(name, {{ dataTransfer: files, bubbles: true, cancelable: true }}));
        drag("dragover");
        const over = at("drop").className;
        drag("drop");
        const later = await (async () => {{ {wait} }})();
        return {{ ...later, over }};
        "##
    ));
    assert_eq!(dropped["over"], "drop over");
    assert_eq!(dropped["result"]["lines"], 4, "{dropped}");
    assert!(
        dropped["said"]
            .as_str()
            .is_some_and(|said| said.starts_with("dropped.txt")),
        "{dropped}"
    );
    opened.assert_quiet();

    // Whatever a script requests, the browser refuses.
    let refused = opened.browser.run(
        r##"
        let violated = 0;
        document.addEventListener("securitypolicyviolation", () => violated++);
        const tried = await fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused");
        new Image().src = "http://127.0.0.1:9/x.png";
        while (violated < 2) await new Promise((later) => setTimeout(later, 20));
        return tried;
        "##,
    );
    assert_eq!(refused, "refused");
}

/// Measures the rate on the same lines natively.
fn native_measure(text: &[u8]) -> Value {
    let measured = mayhap_explore::own::measure(text, mayhap::Kind::Blocked, 0.01).expect("valid");
    assert_eq!(measured.missed, 0);
    json!({
        "lines": measured.lines, "inserted": measured.inserted, "asked": measured.asked,
        "wrong": measured.wrong, "missed": measured.missed, "bits": measured.bits,
    })
}

/// Draws the pictures again. Run it by name when they should change: `cargo test -p mayhap-lab --test lab --
/// --ignored`.
#[test]
#[ignore = "writes the pictures of docs/guide.md"]
fn the_pictures_of_the_guide_are_drawn_by_the_page() {
    let Some(mut opened) = open(1280) else { return };
    let keys: String = (1..=20).map(|i| format!("&deed=1key+{i}")).collect();
    let hello = "kind=bitmap&capacity=16&alias=hello&deed=1hello&deed=1xyz";
    for (name, fragment) in [
        ("inserted", format!("{hello}&key=")),
        ("false", format!("{hello}&key=sadj")),
        ("blocked", format!("kind=blocked&key=key+7{keys}")),
        (
            "sort",
            "kind=bitmap&capacity=8&deed=14&deed=17&deed=12&deed=15&deed=13&key=".to_string(),
        ),
    ] {
        opened.go_to(&format!("#{fragment}"));
        let drawn = opened
            .browser
            .run("return document.querySelector('#picture canvas').toDataURL().split(',')[1]");
        let image = format!("../../docs/images/guide-{name}.png");
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(fs::File::create(image).expect("docs/images is there"))
            .spawn()
            .expect("base64 runs");
        let mut input = decoder.stdin.take().expect("a pipe");
        let text = drawn.as_str().expect("a picture");
        input.write_all(text.as_bytes()).expect("it reads all");
        drop(input);
        assert!(decoder.wait().expect("it ends").success());
    }
}
