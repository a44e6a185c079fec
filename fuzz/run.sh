#!/usr/bin/env bash
# run.sh TARGET SECONDS [OPTION...]: fuzzes a target, or `all` of them in turn, for so many seconds
# each. Options are libFuzzer's.
#
# Works with the stable toolchain and a C++ compiler: the flags are those of cargo-fuzz. What a target
# learns is kept in the build folder and used again; it starts from the files in seeds/TARGET. Fails when
# a target does, and says which input did it.
set -euo pipefail
cd "$(dirname "$0")"

[ $# -ge 2 ] || {
    sed -n 's/^# \{0,1\}//; 2,8p' "$0" >&2
    exit 2
}
wanted=$1 seconds=$2
shift 2

host=$(rustc -vV | sed -n 's/^host: //p')
folder=${CARGO_TARGET_DIR:-../target}/fuzz
flags=(
    --cfg fuzzing
    -Zsanitizer=address
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0
)
# With --target, build scripts do not get these flags. The sanitizer ships with the stable toolchain,
# behind a flag that only this variable unlocks there.
RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" \
    cargo build --release --bins --target "$host" --target-dir "$folder"

targets=("$wanted")
if [ "$wanted" = all ]; then
    targets=(fuzz_targets/*.rs)
    targets=("${targets[@]##*/}")
    targets=("${targets[@]%.rs}")
fi

# Targets that need a file have it in memory, where the system has a folder for that.
scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch

for target in "${targets[@]}"; do
    corpus=$folder/corpus/$target
    log=$folder/$target.log
    mkdir -p "$corpus"
    folders=("$corpus")
    [ ! -d "seeds/$target" ] || folders+=("seeds/$target")
    # Leaks are not looked for: that needs rights which containers do not give.
    if ! ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 "$folder/$host/release/$target" \
        -max_total_time="$seconds" -timeout=10 -artifact_prefix="$folder/$target-" \
        "$@" "${folders[@]}" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "$target failed; run it again with: $folder/$host/release/$target $folder/$target-…" >&2
        exit 1
    fi
    printf '%-20s %s\n' "$target" "$(tail -n 1 "$log")"
done
