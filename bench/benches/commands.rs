//! The cost of deduplicating a file, or of checking one against a filter, from the command line.
//!
//! `cargo bench -p mayhap-bench --bench commands -- --keys 10000000 --record`
//!
//! Makes a file of URLs, each twice, in random order; builds `mayhap`, finds the peers on the PATH or
//! installs them (`cargo install`, into the build folder), runs them all in turns, and compares what they
//! print with what is right. A peer that cannot be had is named and left out.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::command::{Taken, run};
use mayhap_bench::data::{Block as _, Urls, members, permuted};
use mayhap_bench::machine::Machine;

fn main() -> Result<()> {
    // A program's peak memory counts what its parent had when it was started: judging, which takes much,
    // is left to another process.
    let given: Vec<String> = std::env::args().collect();
    if let [_, judge, output, distinct] = &given[..]
        && judge == "--judge"
    {
        println!("{}", judged(Path::new(output), distinct.parse()?)?);
        return Ok(());
    }
    let arguments = Arguments::parse(Arguments {
        keys: vec![10_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 3,
        only: vec![],
        record: false,
    })?;
    let target = target_folder();
    let folder = target.join("commands");
    fs::create_dir_all(&folder)?;
    let distinct = arguments.keys[0];
    let files = Files::make(&folder, distinct)?;
    let peers = Peers::find(&target, &arguments)?;

    let mut report = String::new();
    report += &format!(
        "# Commands: {} lines, {:.2} GB, {distinct} distinct, random order\n\n",
        distinct * 2,
        fs::metadata(&files.twice)?.len() as f64 / 1e9
    );
    report += &dedup(&arguments, &peers, &files)?;
    report += &membership(&arguments, &peers, &files)?;
    report += &format!("\n{}\n", Machine::current().line());
    print!("{report}");
    if arguments.record {
        Machine::current().record("commands", &report)?;
    }
    Ok(())
}

fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}

/// The inputs, and where outputs go.
struct Files {
    /// Every line twice, in random order.
    twice: PathBuf,
    /// The lines that a filter is built from, and the lines that are looked up: half of them the same.
    build: PathBuf,
    check: PathBuf,
    output: PathBuf,
    /// The number of distinct lines, in `twice`.
    distinct: u64,
}

impl Files {
    fn make(folder: &Path, distinct: u64) -> Result<Files> {
        let files = Files {
            twice: folder.join(format!("twice-{distinct}.txt")),
            build: folder.join(format!("build-{distinct}.txt")),
            check: folder.join(format!("check-{distinct}.txt")),
            output: folder.join("output.txt"),
            distinct,
        };
        let order = permuted(distinct * 2).map(|index| index % distinct);
        write_urls(&files.twice, order)?;
        write_urls(&files.build, 0..distinct)?;
        write_urls(&files.check, distinct / 2..distinct / 2 + distinct)?;
        Ok(files)
    }
}

fn write_urls(path: &Path, indices: impl Iterator<Item = u64>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let unfinished = path.with_extension("unfinished");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
    let mut url = Urls::default();
    for index in indices {
        url.refill(members(index..index + 1));
        for url in url.iter() {
            file.write_all(url)?;
            file.write_all(b"\n")?;
        }
    }
    file.into_inner()?;
    Ok(fs::rename(unfinished, path)?)
}

/// The programs that could be had.
struct Peers {
    found: HashMap<&'static str, PathBuf>,
}

impl Peers {
    /// Programs, and the crate that has them where one has.
    const ALL: &[(&str, Option<&str>)] = &[
        ("huniq", Some("huniq")),
        ("runiq", Some("runiq")),
        ("poppy", Some("poppy-filters")),
        ("bloom", None),
        ("sort", None),
        ("awk", None),
        ("cat", None),
    ];

    fn find(target: &Path, arguments: &Arguments) -> Result<Peers> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(&cargo)
            .args(["build", "--quiet", "--release", "--package", "mayhap-cli"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .status()?;
        if !built.success() {
            return Err("mayhap does not build".into());
        }
        let mut found = HashMap::from([("mayhap", target.join("release/mayhap"))]);
        let root = target.join("peers");
        for &(name, krate) in Self::ALL {
            let installed = root.join("bin").join(name);
            if let (Some(krate), false) = (krate, installed.exists() || on_path(name).is_some()) {
                if !arguments.takes(name) {
                    continue;
                }
                let mut install = Command::new(&cargo);
                install
                    .args(["install", "--quiet", krate, "--root"])
                    .arg(&root);
                let _ = install.status();
            }
            match (installed.exists(), on_path(name)) {
                (true, _) => found.insert(name, installed),
                (false, Some(path)) => found.insert(name, path),
                (false, None) => {
                    println!("SKIPPED: {name} is not here and cannot be installed");
                    continue;
                }
            };
        }
        Ok(Peers { found })
    }

    /// A shell line whose first word is a peer, if there is that peer.
    fn command(&self, line: &str) -> Option<Command> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (variables, name, rest) = match name.split_once('=') {
            Some(_) => {
                let (name, rest) = rest.split_once(' ')?;
                (line.split(' ').next()?, name, rest)
            }
            None => ("", name, rest),
        };
        let path = self.found.get(name)?;
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{variables} exec {} {rest}", path.display()));
        Some(command)
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

/// The outcome of one contender: its best round, and a remark.
struct Row {
    name: String,
    taken: Taken,
    remark: String,
}

fn table(title: &str, rows: &[Row], base: &str) -> String {
    let mut text = format!(
        "## {title}\n\n| command | wall s | CPU s | peak MiB | times {base} | |\n|---|--:|--:|--:|--:|---|\n"
    );
    let wall = |row: &Row| row.taken.wall.as_secs_f64();
    let reference = rows
        .iter()
        .find(|row| row.name == base)
        .map_or(f64::NAN, wall);
    for row in rows {
        text += &format!(
            "| `{}` | {:.2} | {:.2} | {:.0} | {:.2} | {} |\n",
            row.name,
            wall(row),
            row.taken.cpu.as_secs_f64(),
            row.taken.peak as f64 / (1 << 20) as f64,
            wall(row) / reference,
            row.remark
        );
    }
    text + "\n"
}

/// Runs each command in turns; the best of all rounds counts.
fn rounds(
    arguments: &Arguments,
    count: usize,
    mut run: impl FnMut(usize) -> Result<Taken>,
) -> Result<Vec<Taken>> {
    let mut best: Vec<Option<Taken>> = vec![None; count];
    for _ in 0..arguments.rounds.max(1) {
        for (i, best) in best.iter_mut().enumerate() {
            let taken = run(i)?;
            if best.is_none_or(|best| taken.wall < best.wall) {
                *best = Some(taken);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}

fn dedup(arguments: &Arguments, peers: &Peers, files: &Files) -> Result<String> {
    let lines = [
        "cat",
        "mayhap uniq --quiet",
        "mayhap uniq --quiet --threads 1",
        "mayhap uniq --quiet --rate 0.01",
        "mayhap uniq --quiet --memory 64M",
        "mayhap uniq --quiet --exact",
        "mayhap uniq --quiet -c",
        "huniq",
        "runiq --filter quick -",
        "runiq --filter compact -",
        "LC_ALL=C sort -u",
        "LC_ALL=C awk '!seen[$0]++'",
    ];
    let lines: Vec<&str> = lines
        .into_iter()
        .filter(|line| arguments.takes(line) && peers.command(line).is_some())
        .collect();
    let mut remarks = vec![String::new(); lines.len()];
    let taken = rounds(arguments, lines.len(), |i| {
        let mut command = peers.command(lines[i]).ok_or("found before")?;
        let taken = run(&mut command, Some(&files.twice), &files.output)?;
        if remarks[i].is_empty() {
            remarks[i] = match lines[i] {
                "cat" => "copies all".into(),
                _ => judge(&files.output, files.distinct, taken)?,
            };
        }
        Ok(taken)
    })?;
    let rows: Vec<Row> = lines
        .iter()
        .zip(taken)
        .zip(remarks)
        .map(|((line, taken), remark)| Row {
            name: (*line).into(),
            taken,
            remark,
        })
        .collect();
    Ok(table("Deduplicate", &rows, "cat"))
}

/// The worth of an output.
fn judge(output: &Path, distinct: u64, taken: Taken) -> Result<String> {
    let mut judge = Command::new(std::env::current_exe()?);
    judge.arg("--judge").arg(output).arg(distinct.to_string());
    let judged = String::from_utf8(judge.output()?.stdout)?;
    Ok(match taken.code {
        Some(0) => judged.trim().into(),
        code => format!("FAILED with {code:?}; {}", judged.trim()),
    })
}

/// Counts the distinct lines that are missing from an output, and those that are there twice.
fn judged(output: &Path, distinct: u64) -> Result<String> {
    let hasher = RandomState::new();
    let mut seen = mayhap::sets::Fingerprints::new();
    let mut lines = 0;
    let mut reader = BufReader::with_capacity(1 << 20, File::open(output)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        seen.insert(hasher.hash_one(&line))?;
        line.clear();
    }
    let (missing, again) = (distinct - seen.count().min(distinct), lines - seen.count());
    Ok(format!("{missing} lost, {again} printed twice"))
}

fn membership(arguments: &Arguments, peers: &Peers, files: &Files) -> Result<String> {
    let folder = files.output.with_file_name("filters");
    fs::create_dir_all(&folder)?;
    let (n, build, check) = (files.distinct, files.build.display(), files.check.display());
    let folder = folder.display();
    let contenders = [
        (
            "mayhap",
            format!("mayhap new --force {folder}/mayhap --capacity {n} --rate 0.01"),
            format!("mayhap add --quiet {folder}/mayhap {build}"),
            format!("mayhap check {folder}/mayhap {check}"),
        ),
        (
            "poppy",
            format!("poppy create --capacity {n} --probability 0.01 {folder}/poppy"),
            format!("poppy insert {folder}/poppy {build}"),
            format!("poppy check {folder}/poppy {check}"),
        ),
        (
            "bloom",
            format!("bloom create -n {n} -p 0.01 {folder}/bloom"),
            format!("bloom insert {folder}/bloom"),
            format!("bloom check {folder}/bloom"),
        ),
    ];
    let mut rows = Vec::new();
    for (name, create, insert, look) in contenders {
        if !arguments.takes(name) || !peers.found.contains_key(name) {
            continue;
        }
        let run_line = |line: &str, input: Option<&Path>| -> Result<Taken> {
            let mut command = peers.command(line).ok_or("found before")?;
            Ok(run(&mut command, input, &files.output)?)
        };
        let parts = rounds(arguments, 1, |_| {
            let _ = fs::remove_file(Path::new(&folder.to_string()).join(name));
            let made = run_line(&create, None)?;
            let built = run_line(&insert, Some(&files.build))?;
            let looked = run_line(&look, Some(&files.check))?;
            for (part, taken) in [("create", made), ("insert", built), ("check", looked)] {
                rows.push(Row {
                    name: format!("{name} {part}"),
                    taken,
                    remark: remark(part, &files.output, taken, n)?,
                });
            }
            Ok(Taken {
                wall: made.wall + built.wall + looked.wall,
                cpu: made.cpu + built.cpu + looked.cpu,
                peak: built.peak.max(looked.peak),
                code: looked.code,
            })
        })?;
        // Only the sum is compared; the parts of all rounds but the last are dropped.
        let last: Vec<Row> = rows.split_off(rows.len() - 3);
        rows.retain(|row| !row.name.starts_with(&format!("{name} ")));
        rows.extend(last);
        rows.push(Row {
            name: format!("{name}, all"),
            taken: parts[0],
            remark: String::new(),
        });
    }
    Ok(table(
        "Build a filter of 1 %, then check as many lines, half of them in it",
        &rows,
        "mayhap, all",
    ))
}

fn remark(part: &str, output: &Path, taken: Taken, keys: u64) -> Result<String> {
    if part != "check" {
        return Ok(match taken.code {
            Some(0) => String::new(),
            code => format!("FAILED with {code:?}"),
        });
    }
    let mut lines = 0;
    let mut reader = BufReader::with_capacity(1 << 20, File::open(output)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        line.clear();
    }
    let absent = keys - keys / 2;
    let false_positives = (lines as f64 - (keys - absent) as f64) / absent as f64;
    Ok(format!(
        "{lines} lines found, rate {:.2} %",
        false_positives * 100.0
    ))
}
