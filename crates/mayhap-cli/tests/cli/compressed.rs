use std::io::Write as _;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::env::TestEnv;
use crate::oracle::{Random, first};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

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
        for mode in [&[][..], &["--exact"], &["--memory", "64M"]] {
            for threads in ["1", "2"] {
                println!("{name} {mode:?} {threads}");
                let run = || {
                    env.mayhap(&["uniq", "--quiet", "--threads", threads])
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

    let run = env.mayhap(&["uniq", "a", "b", "c", "d"]).run();
    run.code(0).stdout("x\ny\nz\nw\n");
    env.mayhap(&["new", "f", "-n100", "-p1e-9"]).run().code(0);
    env.mayhap(&["add", "f", "a", "c"])
        .run()
        .code(0)
        .says(&["4 keys, 4 of them new"]);
    env.mayhap(&["check", "-c", "f", "b"])
        .run()
        .code(0)
        .stdout("2\n");
    env.write("n", gzip(b"3\n1\n"));
    env.mayhap(&["sort", "n"]).run().code(0).stdout("1\n3\n");
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
        env.mayhap(&["uniq"])
            .input(input)
            .run()
            .code(0)
            .stdout(expected);
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

            let outcome = env.mayhap(&["uniq", "--quiet", "input"]).run();

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
            let outcome = env.mayhap(&["uniq", "input"]).run().code(2);
            outcome.says(&["error: cannot read input: "]);
        }
    }
}

/// What a file is when its first bytes no longer say that it is compressed.
fn damaged_as_plain(damaged: &[u8], input: &[u8]) -> Vec<u8> {
    let is_packed =
        damaged.starts_with(&[0x1F, 0x8B]) || damaged.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]);
    if is_packed {
        input.to_vec()
    } else {
        damaged.to_vec()
    }
}
