use std::io::Write as _;

use crate::env::{TestEnv, gzip, spawn, wait, zstd};
use crate::oracle::{Random, first};

/// Lines of which many repeat, in several blocks.
fn input() -> Vec<u8> {
    let mut random = Random(5);
    (0..100_000)
        .flat_map(|_| format!("https://example.org/{}\n", random.below(30_000)).into_bytes())
        .collect()
}

#[test]
fn compressed_input_is_read_by_content_from_files_and_pipes() {
    let env = TestEnv::new();
    let input = input();
    let expected = first(&input);
    let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    for (name, packed) in [
        ("gzip", gzip(&input)),
        ("zstd", zstd(&input)),
        (
            "gzip in two members",
            [gzip(&input[..1000]), gzip(&input[1000..])].concat(),
        ),
        (
            "zstd in two frames",
            [zstd(&input[..1000]), zstd(&input[1000..])].concat(),
        ),
        (
            "zstd with a frame to skip",
            [zstd(&input[..1000]), skippable, zstd(&input[1000..])].concat(),
        ),
    ] {
        // The name says nothing: the content does.
        env.write("input.txt", &packed);
        for mode in ["", "--exact", "--memory 64M"] {
            for threads in ["1", "2"] {
                println!("{name} {mode:?} {threads}");
                let run = || {
                    env.mayhap(&format!("uniq --quiet --threads {threads}"))
                        .args(mode)
                };
                run().arg("input.txt").run().code(0).stdout(&expected);
                run().input(&packed).run().code(0).stdout(&expected);
            }
        }
    }
}

#[test]
fn files_of_any_packing_are_one_input() {
    let env = TestEnv::new();
    env.write("a", gzip(b"x\ny"));
    env.write("b", "y\nz\n");
    env.write("c", zstd(b"z\nw\n"));
    env.write("d", gzip(b""));

    let run = env.mayhap("uniq a b c d").run();
    run.code(0).stdout("x\ny\nz\nw\n");
    env.ok("new f -n100 -p1e-9");
    env.ok("add f a c").says(&["4 keys, 4 of them new"]);
    env.ok("check -c f b").stdout("2\n");
    env.write("n", gzip(b"3\n1\n"));
    env.ok("sort n").stdout("1\n3\n");
}

#[test]
fn what_only_begins_like_compressed_input_is_plain() {
    let env = TestEnv::new();
    for input in [
        &b"\x1F\n"[..],
        b"\x28\xB5\n",
        b"\x28\xB5\x2F\n",
        b"\x1F",
        b"(\n",
    ] {
        let mut expected = input.to_vec();
        if expected.last() != Some(&b'\n') {
            expected.push(b'\n');
        }
        env.gives("uniq", input, expected);
    }
}

#[test]
fn damaged_compressed_input_is_an_error() {
    // 64 places spread over the file have a bit flipped. A flip in what is no content, such as the time in
    // a gzip header, may be harmless: then the output must be right.
    let env = TestEnv::new();
    let input: Vec<u8> = (0..5000)
        .flat_map(|i| format!("{i}\n").into_bytes())
        .collect();
    for packed in [gzip(&input), zstd(&input)] {
        let mut noticed = 0;
        for place in 0..64 {
            let mut damaged = packed.clone();
            let at = packed.len() * place / 64;
            damaged[at] ^= 1 << (place % 8);
            env.write("input", &damaged);

            let outcome = env.mayhap("uniq --quiet input").run();

            match outcome.stderr.as_str() {
                "" => assert_eq!(
                    outcome.code(0).stdout,
                    first(&damaged_as_plain(&damaged, &input))
                ),
                _ => {
                    outcome.code(2).says(&["error: cannot read input: "]);
                    noticed += 1;
                }
            }
        }
        assert!(noticed >= 60, "{noticed} of 64");

        for length in [5, packed.len() / 2, packed.len() - 1] {
            env.write("input", &packed[..length]);
            let outcome = env.mayhap("uniq input").run().code(2);
            outcome.says(&["error: cannot read input: "]);
        }
    }
}

/// The kind of a file whose first bytes no longer show that it is compressed.
fn damaged_as_plain(damaged: &[u8], input: &[u8]) -> Vec<u8> {
    let is_packed =
        damaged.starts_with(&[0x1F, 0x8B]) || damaged.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]);
    if is_packed {
        input.to_vec()
    } else {
        damaged.to_vec()
    }
}

#[test]
fn every_line_before_the_damage_is_printed_in_every_mode() {
    let env = TestEnv::new();
    let mut random = Random(6);
    // Lines that hardly compress, each once: what is printed shows how far it was read.
    let input: Vec<u8> = (0..60_000)
        .flat_map(|i| format!("{i} {:x}\n", random.next()).into_bytes())
        .collect();
    for (name, packed) in [("gzip", gzip(&input)), ("zstd", zstd(&input))] {
        for (what, damaged) in [
            ("cut off", packed[..packed.len() * 3 / 4].to_vec()),
            ("damaged", {
                let mut damaged = packed.clone();
                let at = packed.len() * 3 / 4;
                damaged[at..at + 64].fill(0xFF);
                damaged
            }),
        ] {
            env.write("input", &damaged);
            let mut printed = None;
            for (words, head) in [
                ("uniq", ""),
                ("uniq --threads 1", ""),
                ("uniq --exact", ""),
                ("uniq -u", ""),
                ("uniq -c", "      1 "),
            ] {
                println!("{name} {what}: {words:?}");
                let run = env.mayhap(words).arg("input").run().code(2);
                let run = run.says(&["error: cannot read input: "]);
                let lines: Vec<&[u8]> = run.stdout.split_inclusive(|byte| *byte == b'\n').collect();
                let whole: Vec<u8> = lines
                    .iter()
                    .flat_map(|line| &line[head.len()..])
                    .copied()
                    .collect();
                assert!(!run.stderr.contains("Error("), "{}", run.stderr);
                // Damaged data may give wrong bytes before that is noticed, but never many.
                let right = whole
                    .iter()
                    .zip(&input)
                    .take_while(|(left, right)| left == right)
                    .count();
                assert!(
                    right > input.len() * 2 / 3,
                    "{name} {what}: {right} of {}",
                    input.len()
                );
                if what == "cut off" {
                    assert_eq!(right, whole.len());
                }
                let printed = printed.get_or_insert_with(|| whole.clone());
                assert!(*printed == whole, "{name} {what}: {words:?} prints others");
            }
        }
    }
}

#[test]
fn zeros_after_gzip_are_padding_and_all_else_is_an_error_after_the_lines() {
    let env = TestEnv::new();
    let packed = gzip(b"a\nb\n");
    env.write("padded", [&packed[..], &[0; 70_000]].concat());
    env.write(
        "padded between",
        [&packed[..], &[0; 512], &gzip(b"c\n")].concat(),
    );
    env.write(
        "followed",
        [&packed[..], b"garbage, and more of it"].concat(),
    );

    env.ok("uniq padded").stdout("a\nb\n");
    let run = env.mayhap(&["uniq", "padded between"]).run();
    run.code(0).stdout("a\nb\nc\n");
    let run = env.mayhap("uniq followed").run().code(2);
    run.stdout("a\nb\n").says(&["not gzip"]);
}

#[test]
fn a_gzip_header_may_have_every_field() {
    // Extra field, name, comment and checksum of the header: flags 2, 4, 8 and 16.
    let env = TestEnv::new();
    let packed = gzip(b"a\nb\n");
    for flags in 0..16_u8 {
        let flags = flags << 1;
        let mut file = packed[..10].to_vec();
        file[3] = flags;
        if flags & 4 != 0 {
            file.extend_from_slice(b"\x03\0abc");
        }
        if flags & 8 != 0 {
            file.extend_from_slice(b"name\0");
        }
        if flags & 16 != 0 {
            file.extend_from_slice(b"comment\0");
        }
        if flags & 2 != 0 {
            file.extend_from_slice(b"\0\0");
        }
        file.extend_from_slice(&packed[10..]);
        env.gives("uniq", file, "a\nb\n");
    }
}

#[test]
fn input_of_other_packings_is_refused_by_name() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for (packed, name, unpack) in [
        (&b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4\x46"[..], "xz", "xz -dc"),
        (
            b"]\0\0\x80\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\x30",
            "lzma",
            "xz -dc",
        ),
        (b"BZh91AY&SY\x71\x5C", "bzip2", "bzip2 -dc"),
        (
            b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0",
            "bzip2",
            "bzip2 -dc",
        ),
        (b"\x04\x22\x4D\x18\x64\x40\xA7", "lz4", "lz4 -dc"),
        (b"\x02\x21\x4C\x18\x03\0\0\0", "lz4", "lz4 -dc"),
        (b"PK\x03\x04\x0A\0\0\0", "zip", "unzip -p"),
        (b"PK\x05\x06\0\0\0\0", "zip", "unzip -p"),
        (b"7z\xBC\xAF\x27\x1C\0\x04", "7z", "7z x -so"),
        (b"Rar!\x1A\x07\x01\0", "rar", "unrar p"),
        (b"\x1F\x9D\x90\x61\x14", "compress", "gzip -dc"),
        (b"LZIP\x01\x0C\0", "lzip", "lzip -dc"),
        (b"\x89LZO\0\r\n\x1A\n\x10", "lzop", "lzop -dc"),
        (b"\xFF\x06\0\0sNaPpY\x01", "snappy", "snzip -dc"),
    ] {
        env.write("words", packed);
        let by = format!("words is packed by {name}, ");
        for words in ["uniq", "check f", "add f", "sort"] {
            let run = env.mayhap(words).arg("words").run();
            run.fails_with(&[&by, unpack, "words | mayhap"]);
        }
        let run = env.fed("uniq", packed);
        run.fails_with(&["standard input is packed by", name, unpack]);
    }
    // What only begins like it is text.
    for text in [
        "BZh\n", "BZh9\n", "PK\n", "7z\n", "LZIP\n", "LZIP", "Rar!\n", "]\n", "\x04\n",
    ] {
        let lines = format!("{}\n", text.trim_end_matches('\n'));
        env.gives("uniq", text, lines);
    }
}

/// Numbers of threads: with the first nothing is unpacked before its turn.
const THREADS: [&str; 4] = ["1", "2", "5", "33"];

/// Files of many sizes, from none to several blocks, packed in every way, whose lines repeat within and across them;
/// their names and all their lines.
fn many_files(env: &TestEnv) -> (Vec<String>, Vec<u8>) {
    let mut random = Random(11);
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for number in 0..14 {
        let lines = [0, 1, 40_000, 300, 90_000][number % 5];
        let lines: Vec<u8> = (0..lines)
            .flat_map(|_| format!("https://example.org/{}\n", random.below(60_000)).into_bytes())
            .collect();
        let name = format!("part{number}");
        env.write(
            &name,
            match number % 4 {
                0 | 2 => gzip(&lines),
                1 => zstd(&lines),
                _ => lines.clone(),
            },
        );
        all.extend_from_slice(&lines);
        names.push(name);
    }
    (names, all)
}

#[test]
fn many_packed_files_are_read_in_order_with_any_number_of_threads() {
    let env = TestEnv::new();
    let (names, all) = many_files(&env);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    env.write("all", &all);
    let runs: [&str; 5] = [
        "uniq",
        "uniq --exact",
        "uniq --memory 64M",
        "uniq -c",
        "uniq --rate 1e-9",
    ];
    for words in runs {
        let run = |threads| {
            env.mayhap(words)
                .args(&format!("--quiet --threads {threads}"))
        };
        let expected = run("1").arg("all").run().code(0).stdout;
        for threads in THREADS {
            let outcome = run(threads).args(&names).run();
            outcome.code(0).stdout(&expected).silent();
        }
    }
    let mut filters = Vec::new();
    for threads in THREADS {
        let run = |words: &str| env.mayhap(words).args(&format!("--threads {threads}"));
        let words = "new --force f -n 100000 -p 1e-4";
        run(words).run().code(0);
        let added = run("add f").args(&names).run().code(0).stderr;
        let numbered = run("check --line-number f")
            .args(&names)
            .run()
            .code(0)
            .stdout;
        filters.push((added, env.read("f"), numbered));
    }
    assert!(filters.iter().all(|outcome| *outcome == filters[0]));
}

#[test]
fn a_bad_file_among_packed_ones_ends_the_run_after_those_before_it() {
    let env = TestEnv::new();
    let (mut names, _) = many_files(&env);
    let lines: String = (0..200_000).map(|line| format!("bad {line}\n")).collect();
    let packed = gzip(lines.as_bytes());
    let damaged = {
        let mut damaged = packed.clone();
        damaged[packed.len() / 2..][..64].fill(0xFF);
        damaged
    };
    names.insert(7, "bad".into());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (bad, error) in [
        (
            &packed[..packed.len() * 3 / 4],
            "cannot read bad: it is cut off",
        ),
        (&damaged[..], "cannot read bad: "),
        (b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4\x46", "bad is packed by xz"),
    ] {
        env.write("bad", bad);
        let run = |threads, names: &[&str]| {
            let run = env.mayhap(&format!("uniq --quiet --threads {threads}"));
            run.args(names).run()
        };
        let before = run("1", &names[..7]).code(0).stdout;
        let expected = run("1", &names).code(2).stdout;
        assert!(expected.starts_with(&before));
        for threads in THREADS {
            run(threads, &names)
                .code(2)
                .says(&[error])
                .stdout(&expected);
        }
    }
}

/// Whoever writes to a pipe may still write the files after it.
#[test]
fn packed_files_after_a_pipe_are_read_when_it_has_ended() {
    for threads in ["2", "5"] {
        let env = TestEnv::new();
        env.write("a", gzip(b"a\n"));
        env.write("b", gzip(b"old\n"));
        env.shell("mkfifo pipe").run().code(0);
        let mut run = env.mayhap(&format!("uniq --quiet --threads {threads}"));
        let child = spawn(run.command.args(["a", "pipe", "b", "b"]));

        // It opens once the command reads from it.
        let mut pipe = std::fs::File::options()
            .write(true)
            .open(env.path("pipe"))
            .expect("a pipe");
        env.write("b", gzip(b"new\n"));
        pipe.write_all(b"pipe\n").expect("it is read");
        drop(pipe);

        let outcome = wait(child, "a file after a pipe");
        assert_eq!(outcome.stdout, b"a\npipe\nnew\n");
    }
}

#[test]
fn a_closed_pipe_ends_a_run_that_reads_many_packed_files() {
    let env = TestEnv::new();
    let (names, _) = many_files(&env);
    let names = names.join(" ");
    for threads in THREADS {
        let command = format!("mayhap uniq --quiet --threads {threads} {names}");
        let script = format!("{{ {command}; echo $? > code; }} | head -1 | wc -l | tr -d ' '");
        let outcome = env.shell(&script).run().code(0).stdout("1\n");
        assert_eq!(env.read("code"), b"0\n", "{}", outcome.stderr);
    }
}
