use crate::env::TestEnv;

/// Runs `add` up to where it has the lock: it is locked when it says by whom.
fn locking(env: &TestEnv) -> std::process::Child {
    let child = crate::env::spawn(&mut env.mayhap("add f").command);
    let lock = env.path(".f.mayhap-lock");
    while !std::fs::read(&lock).is_ok_and(|text| !text.is_empty()) {
        std::thread::yield_now();
    }
    child
}

/// Runs `add --wait` while another has the lock, up to where it says that it waits; both are given.
fn waiting(env: &TestEnv) -> [std::process::Child; 2] {
    use std::io::{BufRead as _, BufReader};
    let first = locking(env);
    let mut second = crate::env::spawn(&mut env.mayhap("add f --wait").command);
    // It says no more until it has the lock, so that nothing is buffered and lost.
    let mut stderr = BufReader::new(second.stderr.as_mut().expect("piped"));
    let mut said = String::new();
    stderr.read_line(&mut said).expect("UTF-8");
    assert_eq!(stderr.buffer(), b"");
    let holder = format!(
        "waiting for mayhap (process {}), which writes f\n",
        first.id()
    );
    assert_eq!(said, holder);
    [first, second]
}

#[test]
fn add_waits_for_another_writer_when_told_to() {
    use std::io::Write as _;
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let children = waiting(&env);

    for (mut child, key) in children.into_iter().zip(["b\n", "c\n"]) {
        let mut pipe = child.stdin.take().expect("piped");
        pipe.write_all(key.as_bytes()).expect("it reads");
        drop(pipe);
        let output = crate::env::wait(child, "add");
        assert!(output.status.success(), "{output:?}");
        if key == "c\n" {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                said.starts_with("waited ") && said.contains(" s\n"),
                "{said}"
            );
        }
    }

    env.gives("check f", "a\nb\nc\nd\n", "a\nb\nc\n");
    assert_eq!(env.names(), ["f"]);
}

#[test]
fn a_signal_ends_the_wait() {
    use std::os::unix::process::ExitStatusExt as _;
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let [first, second] = waiting(&env);

    // Not an interrupt: shells make what they start in the background ignore it.
    let id = second.id().to_string();
    env.shell(&format!("kill -TERM {id}")).run().code(0);
    let ended = crate::env::wait(second, "add --wait").status;

    assert_eq!(ended.signal(), Some(15), "{ended}");
    assert!(crate::env::wait(first, "add").status.success());
    assert_eq!(env.names(), ["f"]);
}

#[test]
fn a_filter_in_use_is_not_written_twice() {
    // The second writer would undo what the first one does.
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let mut first = locking(&env);

    let second = env.fed("add f", "c\n");

    second.fails_with(&["f", "hint: another program is writing this file"]);
    // Readers need not wait.
    env.gives("check f", "a\n", "a\n");
    std::io::Write::write_all(&mut first.stdin.take().expect("piped"), b"b\n").expect("it reads");
    assert_eq!(crate::env::wait(first, "add").status.code(), Some(0));
    env.gives("check f", "a\nb\nc\n", "a\nb\n");
    assert_eq!(env.names(), ["f"]);
}
