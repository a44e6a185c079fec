//! Builds the WebAssembly of the page that `mayhap-lab explore` writes.
//!
//! In the repository the crate `mayhap-explore` is compiled for `wasm32-unknown-unknown`, in a folder of its own,
//! because cargo has locked the one it works in. If that target is missing, the program is built without the page and
//! says how to get it. A package has the WebAssembly instead of that crate, put there by `pack.sh`: without it the
//! package does not build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// The WebAssembly in a package.
const PACKED: &str = "explore.wasm";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let wasm = match build(&out) {
        Ok(wasm) => fs::read(&wasm).unwrap_or_else(|error| panic!("{}: {error}", wasm.display())),
        Err(missing) => {
            println!("cargo::rustc-env=MAYHAP_EXPLORE_MISSING={missing}");
            Vec::new()
        }
    };
    fs::write(out.join("explore.wasm"), wasm).expect("cargo made the folder");
}

/// Returns the path of the WebAssembly, or the name of what is missing for it.
fn build(out: &Path) -> Result<PathBuf, &'static str> {
    let explore = Path::new("explore/Cargo.toml");
    if !explore.exists() {
        println!("cargo::rerun-if-changed={PACKED}");
        return Ok(PathBuf::from(PACKED));
    }
    for source in ["explore", "../mayhap/src", "../mayhap/Cargo.toml"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let library =
        printed(Command::new(var("RUSTC")).args(["--print", "target-libdir", "--target", TARGET]));
    let library = PathBuf::from(library.ok_or("target")?.trim());
    if !library.exists() {
        // The file that rustup changes when it adds a target.
        if let Some(components) = library.ancestors().nth(2).map(|all| all.join("components"))
            && components.exists()
        {
            println!("cargo::rerun-if-changed={}", components.display());
        }
        return Err("target");
    }
    let folder = page_folder(out);
    let mut cargo = Command::new(var("CARGO"));
    cargo.args(["rustc", "--quiet", "--profile", "page", "--target", TARGET]);
    // For other targets it is a library like others.
    cargo
        .args(["--lib", "--crate-type", "cdylib", "--manifest-path"])
        .arg(explore);
    cargo.arg("--target-dir").arg(&folder);
    // The flags of the program itself are not for a browser.
    for flags in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        cargo.env_remove(flags);
    }
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    match printed(&mut cargo) {
        Some(_) => Ok(folder.join(TARGET).join("page/mayhap_explore.wasm")),
        None => Err("build"),
    }
}

/// The folder that all builds of a workspace share, in the one that cargo builds in: `out` is `build/PACKAGE/out` in the
/// folder of a profile, which may be in one of a target.
fn page_folder(out: &Path) -> PathBuf {
    let above = out.ancestors().nth(4).unwrap_or(out);
    let shared = match above.ends_with(var("TARGET")) {
        true => above.parent().unwrap_or(above),
        false => above,
    };
    shared.join("page")
}

fn var(name: &str) -> std::ffi::OsString {
    env::var_os(name).expect("cargo sets it")
}

/// The output of a command, if it succeeds.
fn printed(command: &mut Command) -> Option<String> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            println!("cargo::warning=cannot run {command:?}: {error}");
            return None;
        }
    };
    if !output.status.success() {
        for line in String::from_utf8_lossy(&output.stderr).lines().take(20) {
            println!("cargo::warning={line}");
        }
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
