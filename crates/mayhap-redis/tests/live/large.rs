//! Past the 2^32 bits of one string. Takes a gibibyte of memory.

use mayhap::{Description, Kind};
use mayhap_redis::{Options, RedisBloom};

use crate::keys;
use mayhap_testing::server::{Server, engines};

#[test]
fn a_filter_of_2_to_the_33_bits_uses_all_of_them() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        for (kind, shards) in [(Kind::Bloom, None), (Kind::Blocked, Some(3))] {
            let description = Description {
                // One shard has a little less than 2^32.
                bits: 1 << 33,
                hashes: 6,
                promise: None,
                ..kind.plan(1, 0.5).expect("valid")
            };
            let options = Options {
                shards,
                ..Options::default()
            };
            let address = server.address(&format!("large-{kind}"));
            let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
            assert_eq!(filter.shards().expect("known"), shards.unwrap_or(3));

            let new = filter.insert_batch(&keys(0..100_000)).expect("inserted");
            assert!(
                new.iter().all(|&new| new),
                "nothing collides in that many bits"
            );
            let found = filter.contains_batch(&keys(0..100_000)).expect("asked");
            assert!(found.iter().all(|&found| found));
            let stats = filter.stats().expect("counted");
            assert!((99_000.0..101_000.0).contains(&stats.keys.expect("not full")));
            // The bits are spread evenly: as many in each quarter of each shard.
            let mut connection = server.connection();
            let shards: Vec<String> = server
                .keys()
                .into_iter()
                .filter(|key| key.starts_with(&format!("mayhap:{{large-{kind}}}:")))
                .collect();
            let quarters = shards.len() as u64 * 4;
            for shard in &shards {
                let bytes: u64 = redis::cmd("STRLEN")
                    .arg(shard)
                    .query(&mut connection)
                    .expect("a length");
                for quarter in 0..4 {
                    let ones: u64 = redis::cmd("BITCOUNT")
                        .arg(shard)
                        .arg(bytes / 4 * quarter)
                        .arg(bytes / 4 * (quarter + 1) - 1)
                        .query(&mut connection)
                        .expect("a count");
                    let expected = stats.ones as f64 / quarters as f64;
                    assert!(
                        (ones as f64 / expected - 1.0).abs() < 0.03,
                        "{shard}: {ones}"
                    );
                }
            }

            // With every other bit set the rate has to be 2^-6, wherever a key's bits are.
            let mut random = 1_u64;
            let half: Vec<u8> = (0..1 << 20)
                .map(|_| {
                    random = random.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
                    (random >> 56) as u8
                })
                .collect();
            for shard in &shards {
                let bytes: u64 = redis::cmd("STRLEN")
                    .arg(shard)
                    .query(&mut connection)
                    .expect("a length");
                for at in (0..bytes).step_by(half.len()) {
                    let part = &half[..half.len().min((bytes - at) as usize)];
                    redis::cmd("SETRANGE")
                        .arg(shard)
                        .arg(at)
                        .arg(part)
                        .exec(&mut connection)
                        .expect("written");
                }
            }
            let found = filter
                .contains_batch(&keys(1_000_000..1_200_000))
                .expect("asked");
            let rate = found.iter().filter(|&&found| found).count() as f64 / 200_000.0;
            // Five standard deviations are 0.14 %, the tested bytes are within 0.1 % of half.
            assert!((rate - 1.0 / 64.0).abs() < 0.0016, "{kind}: {rate}");
            let stated = filter.stats().expect("counted").rate;
            assert!(
                kind == Kind::Blocked || (stated * 64.0 - 1.0).abs() < 0.02,
                "{stated}"
            );
            filter.delete().expect("dropped");
        }
    }
}
