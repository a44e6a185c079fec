#!/bin/sh
# Puts the page of `mayhap-lab explore` into what will be packaged: run it before `cargo package` or `cargo publish`.
set -eu
cd "$(dirname "$0")/../.."
# Compiles it, or fails and says what is missing for that.
cargo run --quiet -p mayhap-lab -- explore - >/dev/null
cp "${CARGO_TARGET_DIR:-target}/page/wasm32-unknown-unknown/page/mayhap_explore.wasm" crates/mayhap-lab/explore.wasm
