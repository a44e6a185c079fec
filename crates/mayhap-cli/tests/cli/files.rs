use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;

use crate::env::{Outcome, Run, TestEnv, is_root, numbers};

/// The runs that read a file of this name, as a filter `f` or keys.
fn readers(name: &str) -> Vec<String> {
    let verbs = [
        "uniq", "sort", "add f", "check f", "check", "add", "info", "verify",
    ];
    verbs.map(|verb| format!("{verb} {name}")).to_vec()
}

/// The outcome of a run with one line on standard input.
fn one_line(env: &TestEnv, words: &str) -> Outcome {
    let words: Vec<&str> = words.split(' ').collect();
    env.fed(&words, "a\n")
}

#[test]
fn a_missing_file_is_named() {
    let env = TestEnv::new();
    env.filter("f", 100, 0.01, "a\n");
    let before = env.read("f");

    let writers = [
        "uniq --exact missing",
        "merge out f missing",
        "convert missing out --to native",
    ];
    for words in readers("missing").iter().map(String::as_str).chain(writers) {
        let run = one_line(&env, words);
        run.fails_with(&["cannot open missing: no such file or directory"]);
    }
    assert_eq!(env.read("f"), before);
    assert_eq!(env.names(), ["f"]);
}

#[test]
fn a_missing_file_among_others_is_noticed_before_anything_is_printed() {
    let env = TestEnv::new();
    env.write("a", "a\n");
    env.fails("uniq a missing", &["cannot open missing"]);
}

#[test]
fn a_folder_is_no_file() {
    let env = TestEnv::new();
    env.filter("f", 100, 0.01, "a\n");
    fs::create_dir(env.path("folder")).expect("writable");

    let writers = [
        "new folder -n10 -p0.1",
        "new folder -n10 -p0.1 --force",
        "merge folder f",
        "convert f folder --to native",
        "uniq --seen folder",
        "uniq --output folder",
    ];
    for words in readers("folder").iter().map(String::as_str).chain(writers) {
        one_line(&env, words).fails_with(&["folder"]);
    }
    let run = env.shell("mayhap uniq < folder").run();
    run.fails_with(&["standard input: it is a directory"]);
    assert_eq!(env.names(), ["f", "folder"]);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let env = TestEnv::new();
    for words in [
        "new no/f -n10 -p0.1",
        "uniq --seen no/f",
        "uniq --output no/f",
    ] {
        env.fed(words, "a\n")
            .fails_with(&["no/f", "no such file or directory"]);
    }
    assert!(env.names().is_empty());
}

/// The command as the user nobody, out of a copy in a folder that is open to all; `None`, said loudly, where that is
/// not possible.
fn nobody(env: &TestEnv) -> Option<impl Fn() -> Run> {
    let binary = env.path("mayhap");
    fs::copy(env!("CARGO_BIN_EXE_mayhap"), &binary).expect("room for a copy");
    for (name, mode) in [(".", 0o777), ("mayhap", 0o755)] {
        let shown = fs::set_permissions(env.path(name), fs::Permissions::from_mode(mode));
        shown.expect("our own");
    }
    let command = move || {
        let mut run = env.program(&binary);
        run.command.uid(65534).gid(65534);
        run
    };
    let probe = command().arg("--version").command.output();
    if probe.is_ok_and(|output| output.status.success()) {
        return Some(command);
    }
    println!("SKIPPED: nobody cannot run a command here");
    None
}

#[test]
fn an_unreadable_file_is_named() {
    let env = TestEnv::new();
    env.filter("f", 100, 0.01, "a\n");
    env.write("keys", "a\n");
    env.write("locked", "a\n");
    let hide = |name: &str, mode: u32| {
        let hidden = fs::set_permissions(env.path(name), fs::Permissions::from_mode(mode));
        hidden.expect("our own");
    };
    hide("locked", 0o200);
    // Permissions do not bind root.
    let nobody = is_root().then(|| nobody(&env));
    if let Some(None) = nobody {
        return;
    }
    let run = |words: &str| match &nobody {
        Some(Some(command)) => command().args(words).input("a\n").run(),
        _ => env.fed(words, "a\n"),
    };

    for words in [
        "uniq locked",
        "sort locked",
        "add f locked",
        "check f locked",
        "check locked keys",
        "info locked",
        "verify locked",
        "add locked keys",
    ] {
        run(words).fails_with(&["cannot open locked: permission denied"]);
    }
    // A filter that may be read but whose folder takes no new file cannot be replaced.
    let before = env.read("f");
    hide(".", 0o555);
    run("add f keys").fails_with(&["f", "permission denied"]);
    run("check f keys").code(0).stdout("a\n");
    hide(".", 0o755);
    assert_eq!(env.read("f"), before);
}

/// Asserts that a run fails on a disk that is full.
///
/// A limit on the size of files is a disk that is full after that many bytes. The signal that goes with it would end the
/// command; ignored, it is an error of the write, as on a full disk.
fn on_a_full_disk(env: &TestEnv, words: &str) {
    let run = env.shell(&format!("trap '' XFSZ; ulimit -f 8; mayhap {words}"));
    run.run()
        .code(2)
        .says(&["error: cannot write", "file too large"]);
}

#[test]
fn a_full_disk_leaves_the_old_filter_as_it_was() {
    let env = TestEnv::new();
    env.filter("f", 1_000_000, 0.01, "a\n");
    let before = env.read("f");
    env.write("keys", numbers(0..1000));

    for words in [
        "add f keys",
        "merge f f",
        "new f --force -n 2000000 -p 0.01",
        "convert f f --to native",
        "uniq --seen f keys",
        "new g -n 2000000 -p 0.01",
        "merge g f",
        "uniq --seen g keys",
    ] {
        on_a_full_disk(&env, &format!("{words} > /dev/null"));
        assert!(env.read("f") == before, "{words}");
        assert_eq!(env.names(), ["f", "keys"], "{words}");
    }
    env.ok("verify f");
}

#[test]
fn a_full_disk_is_an_error_of_every_output_file() {
    let env = TestEnv::new();
    env.write("lines", numbers(0..50_000));

    for words in [
        "uniq --output out lines",
        "uniq -c --output out lines",
        "uniq lines > out",
    ] {
        on_a_full_disk(&env, words);
    }
}

#[test]
fn a_temporary_copy_that_does_not_fit_is_an_error() {
    let env = TestEnv::new();
    let run = env.shell("trap '' XFSZ; ulimit -f 8; mayhap uniq --exact");
    let run = run.input(numbers(0..50_000)).run();
    run.code(2)
        .stdout("")
        .says(&["cannot keep a copy of standard input", "TMPDIR"]);
}

/// Root's `add` once made every filter root's, and its owner could no longer add.
#[test]
fn a_filter_keeps_its_owner_and_group_where_that_is_possible() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    if !is_root() {
        println!("SKIPPED: only root can give files away");
        return;
    }
    let of = |name: &str| {
        let metadata = fs::metadata(env.path(name)).expect("there");
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    let prepare = |owner: u32, group: u32, mode: u32| {
        chown(env.path("f"), Some(owner), Some(group)).expect("root");
        fs::set_permissions(env.path("f"), fs::Permissions::from_mode(mode)).expect("root");
    };
    prepare(12345, 54321, 0o664);
    env.fed("add --quiet f", "b\n").code(0).silent();
    assert_eq!(of("f"), (12345, 54321, 0o664));

    // Nobody else can: it is said, and the bits of the old group do not go to another one.
    prepare(12345, 54321, 0o664);
    let Some(command) = nobody(&env) else { return };
    let run = command().args("add f").input("c\n");
    run.run()
        .code(0)
        .says(&["warning: f belongs to user 65534 and group 65534 now, not to 12345 and 54321"]);
    assert_eq!(of("f"), (65534, 65534, 0o644));
    env.gives("check -c f", "a\nb\nc\n", "3\n");
}

#[test]
fn a_read_only_filter_is_not_changed_not_even_by_root() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    env.write("keys", "b\n");
    let before = env.read("f");
    let allow = |mode: u32| {
        let allowed = fs::set_permissions(env.path("f"), fs::Permissions::from_mode(mode));
        allowed.expect("our own");
    };
    allow(0o444);

    for words in [
        "add f keys",
        "add --wait f keys",
        "uniq --seen f keys",
        "guard f keys",
        "merge f f f",
        "new --force f -n10 -p0.1",
        "build --force f -p0.1 keys",
        "convert --force f f --to=native",
    ] {
        env.fails(words, &["cannot write f: it is read-only"]);
    }
    assert!(env.read("f") == before);
    assert_eq!(env.names(), ["f", "keys"]);

    allow(0o600);
    env.ok("add f keys");
    assert!(env.read("f") != before);
}

#[test]
fn a_filter_keeps_its_extended_attributes_and_says_that_other_names_keep_the_old_one() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");
    fs::hard_link(env.path("f"), env.path("other")).expect("writable");

    let add = |key: &str| env.fed("add f", key).code(0);
    add("b\n").says(&[
        "f had 2 names",
        "hard links",
        "the others keep the filter as it was",
    ]);
    assert!(env.read("other") == before && env.read("f") != before);
    let again = add("c\n");
    assert!(!again.stderr.contains("hard links"), "{}", again.stderr);

    let large = vec![7; 1000];
    for (name, value) in [("user.origin", &b"crawl 7"[..]), ("user.large", &large)] {
        if let Err(error) = setxattr(env.path("f"), name, value, XattrFlags::empty()) {
            println!("SKIPPED: there are no extended attributes here: {error}");
            return;
        }
    }
    add("d\n");
    env.mayhap("new --force f -n100 -p1e-9").run().code(0);
    for (name, value) in [("user.origin", &b"crawl 7"[..]), ("user.large", &large)] {
        let mut kept = vec![0; 2000];
        let length = getxattr(env.path("f"), name, &mut kept[..]).expect("kept");
        assert_eq!(&kept[..length], value, "{name}");
    }
}

#[test]
fn a_link_to_a_filter_stays_a_link() {
    let env = TestEnv::new();
    env.filter("real", 100, 1e-9, "a\n");
    std::os::unix::fs::symlink("real", env.path("link")).expect("writable");

    env.fed("add link", "b\n").code(0);

    assert!(
        fs::symlink_metadata(env.path("link"))
            .expect("there")
            .is_symlink()
    );
    env.gives("check -c real", "a\nb\n", "2\n");
}

#[test]
fn more_files_than_can_be_open_are_one_input() {
    let env = TestEnv::new();
    let count = 3000;
    env.shell(&format!(
        "mkdir many && cd many && for i in $(seq {count}); do echo $i > $i; done"
    ))
    .run()
    .code(0);
    for (words, head) in [
        ("uniq", ""),
        ("uniq -c", "      1 "),
        ("uniq --exact", ""),
        ("sort", ""),
    ] {
        let script = format!("cd many && ulimit -n 64 && mayhap {words} --quiet $(seq {count})");
        let expected: String = (1..=count).map(|i| format!("{head}{i}\n")).collect();
        env.shell(&script).run().code(0).stdout(expected);
    }
}

#[test]
fn files_that_others_name_like_helpers_stay_as_they_are() {
    // `mayhap new Cargo` once deleted Cargo.lock.
    let env = TestEnv::new();
    env.write("Cargo.lock", "precious");
    env.write("Cargo.saving", "precious");
    env.write("keys", "a\n");

    env.ok("new Cargo -n10 -p0.1");
    env.ok("add Cargo keys");
    env.ok("build --force Cargo -p0.1 keys");
    env.write("yarn.lock", "precious");
    env.fails("add yarn", &["yarn"]);

    assert_eq!(
        env.names(),
        ["Cargo", "Cargo.lock", "Cargo.saving", "keys", "yarn.lock"]
    );
    for name in ["Cargo.lock", "Cargo.saving", "yarn.lock"] {
        assert_eq!(env.read(name), b"precious");
    }
}

#[test]
fn links_in_the_place_of_helpers_are_neither_followed_nor_removed() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    env.write("precious", "kept");
    for helper in [".f.mayhap-lock", ".f.mayhap-saving"] {
        for leads_to in ["precious", "missing"] {
            std::os::unix::fs::symlink(leads_to, env.path(helper)).expect("writable");
            env.fed("add f", "b\n").fails_with(&[helper, "is not ours"]);
            fs::remove_file(env.path(helper)).expect("the link is still there");
        }
    }
    assert_eq!(env.names(), ["f", "precious"]);
    assert_eq!(env.read("precious"), b"kept");
}

#[test]
fn a_filter_with_the_longest_name_there_is_can_be_made_and_changed() {
    let env = TestEnv::new();
    let name = "n".repeat(255);
    env.filter(&name, 100, 1e-9, "a\n");
    env.gives(&format!("uniq --seen {name}"), "a\nb\n", "b\n");
    assert_eq!(env.names(), [name]);
}
