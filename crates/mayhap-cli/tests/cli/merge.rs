use crate::env::TestEnv;

#[test]
fn unions_have_all_keys_and_intersections_the_common_ones() {
    let env = TestEnv::new();
    env.filter("a", 1000, 1e-9, "only a\nboth\n");
    env.filter("b", 1000, 1e-9, "only b\nboth\n");
    let keys = "only a\nonly b\nboth\nneither\n";

    env.ok("merge or a b");
    env.ok("merge --intersection and a b");

    let check = |filter: &str| env.fed(&format!("check {filter}"), keys).code(0);
    check("or").stdout("only a\nonly b\nboth\n");
    check("and").stdout("both\n");
    // The output may be one of the inputs.
    env.ok("merge a a b");
    check("a").stdout("only a\nonly b\nboth\n");
}

/// `merge a b` once replaced `a` by `b`, and `convert f notes.txt` a text by a filter.
#[test]
fn merge_and_convert_replace_only_what_they_are_told_to() {
    let env = TestEnv::new();
    env.filter("a", 1000, 1e-9, "a\n");
    env.filter("b", 1000, 1e-9, "b\n");
    env.write("precious.txt", "text\n");
    let before = env.read("a");
    let knows = |filter: &str, keys: &str| {
        env.gives(&format!("check {filter}"), "a\nb\n", keys);
    };

    for words in [
        "merge a b",
        "merge precious.txt a b",
        "convert b a --to native",
        "convert a precious.txt --to native",
    ] {
        env.fails(words, &["is there already", "hint: --force replaces it"]);
    }
    env.fails("merge a b", &["mayhap merge OUT OUT IN"]);
    assert_eq!(env.read("a"), before);
    assert_eq!(env.read("precious.txt"), b"text\n");

    // What is named as an input is meant, also by another name.
    env.ok("convert a a --to native");
    env.ok("merge a ./a b");
    knows("a", "a\nb\n");
    env.ok("merge --force a b");
    knows("a", "b\n");
    env.ok("convert a precious.txt --to native -f");
    knows("precious.txt", "b\n");
}

#[test]
fn merge_keeps_labels() {
    let env = TestEnv::new();
    let new = |name: &str, label: &str| {
        let words = env.mayhap("new -n100 -p0.01 --created-by crawler");
        words.args(&[name, "--label", label]).run().code(0);
    };
    let texts = |name: &str| {
        let info = env.info(name);
        let text = |what: &str| info[what].as_str().unwrap_or_default().to_owned();
        (text("label"), text("created_by"))
    };
    let said = |label: &str, by: &str| (label.to_owned(), by.to_owned());
    new("a", "March");
    new("b", "April");
    new("c", "March");
    new("none", "");

    let merge = |words: &str| env.mayhap("merge").args(words).run();
    merge("same a c none").code(0);
    assert_eq!(texts("same"), said("March", "crawler"));
    merge("both a b c").code(0);
    assert_eq!(texts("both"), said("March, April", "crawler"));
    merge("stated a b --label spring --created-by me").code(0);
    assert_eq!(texts("stated"), said("spring", "me"));
    // The output stays what it was.
    merge("b a b").code(0);
    assert_eq!(texts("b"), said("April", "crawler"));

    new("long", &"x".repeat(250));
    merge("out a long").fails_with(&["257 bytes", "at most 255", "--label TEXT"]);
    assert!(!env.path("out").exists());
}
