#!/usr/bin/env bash
# Sets up what this machine lacks, then runs every check and test. Stops at the first that fails.
#
# Needs a Rust toolchain; on Debian and its kin a missing C linker is installed (as root or by
# sudo), and so are, where they can be had, the programs whose files we read: DCSO's bloom, and Guava if
# there is a JDK. Nothing is fetched but packages and crates, and no test leaves the loopback interface.
set -euo pipefail
cd "$(dirname "$0")"

say() { printf '\n== %s\n' "$*"; }

install() { # install COMMAND PACKAGE...: Debian packages, when the command is not there.
    command -v "$1" >/dev/null && return
    shift
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -qq --no-install-recommends "$@"
}

optional() { # optional COMMAND PACKAGE...: as install, but the tests that need it can be skipped.
    install "$@" || echo "cannot install ${*:2}: the tests that need it will say SKIPPED"
}

component() { # component NAME: a part of the Rust toolchain, when it is not there.
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2"
}

say "set up"
install cc gcc libc6-dev
optional bloom golang-github-dcso-bloom-cli
# Guava is no command; without a JDK it would be of no use.
if command -v javac >/dev/null && [ ! -e /usr/share/java/guava.jar ]; then
    optional '' libguava-java
fi
component fmt rustfmt
component clippy clippy
cargo --version

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --workspace --all-targets --all-features -- -D warnings

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

say "unit, law, golden, rate and documentation tests"
cargo test --workspace --all-features

say "no_std: links without the standard library"
cargo build --manifest-path crates/mayhap/tests/no_std/Cargo.toml --target-dir target/no_std

say "loom: every interleaving of the atomic bits"
RUSTFLAGS="--cfg loom" cargo test --release -p mayhap --test loom --target-dir target/loom

say "all checks passed"
