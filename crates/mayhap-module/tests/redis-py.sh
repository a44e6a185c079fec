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

# answers PORT: whether the server there is the one that was started, by its process id.
answers() {
    local line
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'INFO server\r\nQUIT\r\n' >&3
    while read -r -t 5 line <&3; do
        if [ "${line%$'\r'}" = "process_id:$process" ]; then
            exec 3>&-
            return 0
        fi
    done
    exec 3>&-
    return 1
} 2>/dev/null

end_server() {
    kill "$process"
    wait "$process" 2>/dev/null || true
    process=
}

port=$((11000 + $$ % 900))
# begin PROGRAM DIALECT: starts a server with the module on a port that is free, and waits until that very server answers.
begin() {
    for _ in $(seq 20); do
        port=$((port + 1))
        "$1" --port "$port" --bind 127.0.0.1 --save "" --dir "$folder" --enable-debug-command yes \
            --loadmodule "$module" DIALECT "$2" >"$folder/log" 2>&1 &
        process=$!
        # Ends when the server answers, or is gone because the port was taken.
        while kill -0 "$process" 2>/dev/null; do
            answers "$port" && return
            sleep 0.05
        done
    done
    cat "$folder/log"
    exit 1
}

for program in "$(command -v redis-server || true)" "$servers/redis8-server" \
    "$(command -v valkey-server || echo "$servers/valkey-server")"; do
    if [ ! -x "$program" ]; then
        echo "SKIPPED: redis-py on a server that is not installed"
        continue
    fi
    begin "$program" redis
    for protocol in 2 3; do
        echo "redis-py $version on $program, RESP$protocol"
        (cd "$servers/redis-$version" &&
            "$servers/python/bin/python" -m pytest -q -p no:cacheprovider --disable-warnings --protocol "$protocol" \
                --redis-url "redis://127.0.0.1:$port/0" --redis-mod-url "redis://127.0.0.1:$port" \
                -k "(bf_ or cf_) and not bf_reserve" tests/test_bloom.py tests/test_asyncio/test_bloom.py | tail -3)
    done
    end_server
    # Its tests have RedisBloom's errors; its calls work in valkey-bloom's dialect too.
    begin "$program" valkey
    (cd "$servers/redis-$version" && "$servers/python/bin/python" - "$port" <<'PYTHON'
import sys
import redis

for protocol in (2, 3):
    server = redis.Redis(port=int(sys.argv[1]), protocol=protocol, decode_responses=True)
    server.flushall()
    bloom = server.bf()
    assert bloom.create("f", 0.01, 1000)
    assert bloom.add("f", "a") == 1 and bloom.add("f", "a") == 0
    assert bloom.madd("f", "a", "b") == [0, 1] and bloom.mexists("f", "b", "c") == [1, 0]
    assert bloom.insert("g", ["a"], capacity=50) == [1] and bloom.exists("g", "a") == 1 and bloom.card("g") == 1
    # In RESP3 the answer is the server's map itself.
    names = ("capacity", "insertedNum", "expansionRate")
    if protocol == 3:
        names = ("Capacity", "Number of items inserted", "Expansion rate")
    info = bloom.info("f")
    assert [info.get(name) for name in names] == [1000, 2, 2], info
    cuckoo = server.cf()
    assert cuckoo.create("c", 1000) and cuckoo.add("c", "a") == 1 and cuckoo.info("c").get(names[1]) == 1
    print(f"calls in the dialect valkey, RESP{protocol}: passed")
PYTHON
    )
    end_server
done
