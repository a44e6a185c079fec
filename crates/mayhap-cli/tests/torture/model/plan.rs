//! The filter of a run: made by it, or by `new` before it.

use mayhap_testing::random::Random;

/// The filter of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) rate: Option<&'static str>,
    pub(super) capacity: Option<u64>,
    pub(super) accepts: bool,
    pub(super) grows: bool,
    pub(super) has_secret: bool,
    /// The options of `new`, where that makes the filter.
    new: Option<Vec<String>>,
    /// True when a second run may lose what it does not state.
    pub(super) is_for_one_run: bool,
}

impl Plan {
    /// The number of keys past which the filter must not be used, if there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        let mut words = self.new.iter().flatten();
        let grows = self.grows || words.any(|word| word == "--kind=scalable");
        self.capacity.filter(|_| !self.accepts && !grows)
    }

    /// The size of the filter, which an existing one is compared with.
    fn size_words(&self) -> Vec<String> {
        let rate = self.rate.map(|rate| format!("--rate={rate}"));
        let capacity = self.capacity.map(|keys| format!("-n{keys}"));
        rate.into_iter().chain(capacity).collect()
    }

    /// The words that make the filter before the first run, if `uniq` does not.
    pub(super) fn new_words(&self) -> Option<Vec<String>> {
        let mut words: Vec<String> = ["new", "seen"].map(str::to_owned).into();
        words.extend(self.new.clone()?);
        words.extend(self.size_words());
        words.extend(self.has_secret.then(|| "--secret-file=secret".to_owned()));
        Some(words)
    }

    /// The words of `uniq`.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.size_words();
        let others = [
            (self.accepts, "--accept-rate"),
            (self.grows, "--grow"),
            (self.has_secret, "--secret-file=secret"),
        ];
        let given = others.into_iter().filter(|(given, _)| *given);
        words.extend(given.map(|(_, word)| word.to_owned()));
        words
    }

    /// A filter for a tenth to a hundred times the keys that there are. One that is saved is of any kind that takes keys one
    /// by one.
    pub(super) fn draw(random: &mut Random, distinct: u64, is_saved: bool) -> Plan {
        let load = random.number(&[10, 20, 50, 90, 120, 200, 500, 1000, 3000, 10_000]);
        let capacity = (distinct * 100 / load).max(1);
        let sized = Plan {
            rate: Some(random.pick(&["0.3", "5%", "1%", "1/1000", "1e-6"])),
            capacity: Some(capacity),
            accepts: load > 90 && !random.once_in(5),
            has_secret: random.once_in(6),
            ..Plan::default()
        };
        if !is_saved {
            return match random.once_in(4) {
                true => Plan {
                    capacity: None,
                    ..sized
                },
                false => sized,
            };
        }
        let of = |kind: &str, more: &[&str]| {
            let kind = [format!("--kind={kind}")].into_iter();
            let more = more.iter().map(|word| (*word).to_owned());
            Plan {
                new: Some(kind.chain(more).collect()),
                ..sized.clone()
            }
        };
        // Without a secret a public hash, or one by a key in the file.
        let scheme: &[&str] = match !sized.has_secret && random.once_in(2) {
            true => &["--scheme=universal"],
            false => &[],
        };
        let hashed_by = |name: &str| Plan {
            new: Some(vec![format!("--scheme={name}")]),
            has_secret: false,
            ..sized.clone()
        };
        match random.below(20) {
            0 => of("bloom", scheme),
            1 => of("counting", &["--counter-bits=8"]),
            2 => of("counting", scheme),
            3 => of("spectral", &["--policy=minimal-increase"]),
            4 => of(
                "spectral",
                &["--counter-bits=16", "--policy=recurring-minimum"],
            ),
            5 => of("shifting", scheme),
            6 => of("guarded", scheme),
            7 | 8 => of("scalable", scheme),
            9 => Plan {
                has_secret: false,
                ..of("spatial", &["--areas=7"])
            },
            10 => Plan {
                has_secret: false,
                ..of("split-block", &[])
            },
            11 => Plan {
                capacity: None,
                ..sized
            },
            12 => {
                let (bits, hashes) = (64 + capacity * 8, 1 + random.below(6));
                let shape = [format!("--bits={bits}"), format!("--hashes={hashes}")];
                Plan {
                    rate: None,
                    capacity: None,
                    accepts: false,
                    ..of("bloom", &shape.each_ref().map(String::as_str))
                }
            }
            // Numbers collide by it, which the second run on a filter cannot notice.
            13 if random.once_in(3) => Plan {
                is_for_one_run: true,
                ..hashed_by("three-hash")
            },
            13 => hashed_by(random.pick(&["guava64", "salted-md5", "murmur", "spark2", "dcso"])),
            14 => hashed_by("rapidhash-protected"),
            // It forgets nothing that fits in one of its three generations.
            15 => Plan {
                capacity: Some(distinct * 10),
                is_for_one_run: true,
                ..of("windowed", &["--rotate-by=keys"])
            },
            16 => Plan {
                grows: true,
                accepts: false,
                ..sized
            },
            17 => Plan {
                has_secret: sized.has_secret,
                ..Plan::default()
            },
            18 => of("blocked", scheme),
            _ => sized,
        }
    }

    /// An option that an existing filter refuses: another size, or one that only `new` has.
    pub(super) fn other(&self, random: &mut Random) -> Option<&'static str> {
        let differing = [
            "-n7654321",
            "--rate=0.0123",
            "--kind=bloom",
            "--scheme=rapidhash",
            "--counter-bits=16",
            "--areas=7",
        ];
        random.once_in(2).then(|| random.pick(&differing))
    }
}
