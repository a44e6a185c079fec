#!/usr/bin/env bash
# Runs redis-py's own tests of BF.* and CF.* against the module, in every server there is, with both protocols. They come from
# its source package; where that cannot be had, this says SKIPPED. Left out are only the tests named `bf_reserve`, which also
# need sketches (CMS.*, TOPK.*) that this module does not have.
set -euo pipefail
cd "$(dirname "$0")/../../.."

version=8.1.0
servers=$PWD/target/servers
module=${CARGO_TARGET_DIR:-$PWD/target}/debug/deps/libmayhap_module.so
packages=(pytest pytest-asyncio pytest-timeout numpy mock cachetools)

if [ ! -d "$servers/redis-$version/tests" ]; then
    { mkdir -p "$servers" && python3 -m venv "$servers/python" &&
        "$servers/python/bin/pip" install -q "${packages[@]}" &&
        "$servers/python/bin/pip" download -q --no-deps --no-binary :all: "redis==$version" -d "$servers" &&
        tar xzf "$servers/redis-$version.tar.gz" -C "$servers"; } || {
        echo "SKIPPED: the tests of redis-py, whose package cannot be had"
        exit 0
    }
fi

folder=$(mktemp -d)
process=
end() {
    [ -z "$process" ] || kill "$process" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

port=$((11000 + $$ % 900))
for program in "$(command -v redis-server || true)" "$servers/redis8-server" \
    "$(command -v valkey-server || echo "$servers/valkey-server")"; do
    if [ ! -x "$program" ]; then
        echo "SKIPPED: redis-py on a server that is not installed"
        continue
    fi
    port=$((port + 1))
    "$program" --port "$port" --bind 127.0.0.1 --save "" --dir "$folder" --enable-debug-command yes \
        --loadmodule "$module" DIALECT redis >"$folder/log" 2>&1 &
    process=$!
    for _ in $(seq 200); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        kill -0 "$process" || { cat "$folder/log"; exit 1; }
        sleep 0.05
    done
    for protocol in 2 3; do
        echo "redis-py $version on $program, RESP$protocol"
        (cd "$servers/redis-$version" &&
            "$servers/python/bin/python" -m pytest -q -p no:cacheprovider --disable-warnings --protocol "$protocol" \
                --redis-url "redis://127.0.0.1:$port/0" --redis-mod-url "redis://127.0.0.1:$port" \
                -k "(bf_ or cf_) and not bf_reserve" tests/test_bloom.py tests/test_asyncio/test_bloom.py | tail -3)
    done
    kill "$process"
    wait "$process" 2>/dev/null || true
    process=
done
