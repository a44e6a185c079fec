//! The filter that is asked for.

use mayhap_testing::random::Random;

/// The filter that is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) kind: Option<&'static str>,
    pub(super) scheme: Option<&'static str>,
    pub(super) rate: Option<&'static str>,
    pub(super) capacity: Option<u64>,
    pub(super) shape: Option<(u64, u64)>,
    pub(super) more: &'static [&'static str],
    pub(super) accepts: bool,
    pub(super) grows: bool,
    pub(super) has_secret: bool,
}

impl Plan {
    /// The number of keys past which the filter must not be used, if there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        let grows = self.grows || matches!(self.kind, Some("scalable"));
        self.capacity.filter(|_| !self.accepts && !grows)
    }

    /// The options of the filter, which an existing filter may be compared with.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([name.to_owned(), value]);
            }
        };
        option("--kind", self.kind.map(str::to_owned));
        option("--scheme", self.scheme.map(str::to_owned));
        option("--rate", self.rate.map(str::to_owned));
        option("-n", self.capacity.map(|keys| keys.to_string()));
        option("--bits", self.shape.map(|(bits, _)| bits.to_string()));
        option("--hashes", self.shape.map(|(_, hashes)| hashes.to_string()));
        words.extend(self.more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// The treatment of the filter.
    pub(super) fn other_words(&self) -> impl Iterator<Item = String> {
        let words = [
            (self.accepts, "--accept-rate"),
            (self.grows, "--grow"),
            (self.has_secret, "--secret-file=secret"),
        ];
        let given = words.into_iter().filter(|(given, _)| *given);
        given.map(|(_, word)| word.to_owned())
    }

    /// A filter for a tenth to a hundred times the keys that there are, of any kind that takes keys one by one.
    pub(super) fn draw(random: &mut Random, distinct: u64, is_saved: bool) -> Plan {
        let load = random.number(&[10, 20, 50, 90, 120, 200, 500, 1000, 3000, 10_000]);
        let capacity = (distinct * 100 / load).max(1);
        let rate = Some(random.pick(&["0.3", "5%", "1%", "1/1000", "1e-6"]));
        let has_secret = random.once_in(6);
        let accepts = load > 90 && !random.once_in(5);
        let sized = Plan {
            rate,
            capacity: Some(capacity),
            accepts,
            has_secret,
            ..Plan::default()
        };
        let of = |kind, more| Plan {
            kind: Some(kind),
            more,
            ..sized.clone()
        };
        match random.below(20) {
            0 => of("bloom", &[]),
            1 => of("counting", &["--counter-bits=8"]),
            2 => of("counting", &[]),
            3 => of("spectral", &["--policy=minimal-increase"]),
            4 => of(
                "spectral",
                &["--counter-bits=16", "--policy=recurring-minimum"],
            ),
            5 => of("shifting", &[]),
            6 => of("guarded", &[]),
            7 | 8 => of("scalable", &[]),
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
            12 => Plan {
                kind: Some("bloom"),
                shape: Some((64 + capacity * 8, 1 + random.below(6))),
                has_secret,
                ..Plan::default()
            },
            13 => Plan {
                scheme: Some(match is_saved {
                    // Numbers collide by it, which the second run on a filter cannot notice.
                    false if random.once_in(3) => "three-hash",
                    _ => random.pick(&["guava64", "salted-md5", "murmur", "spark2", "dcso"]),
                }),
                has_secret: false,
                ..sized
            },
            14 => Plan {
                scheme: Some("rapidhash-protected"),
                has_secret: false,
                ..sized
            },
            // It forgets nothing that fits in one of its three generations.
            15 if !is_saved => Plan {
                capacity: Some(distinct * 10),
                ..of("windowed", &["--rotate-by=keys"])
            },
            16 if is_saved => Plan {
                grows: true,
                accepts: false,
                ..sized
            },
            17 if is_saved => Plan {
                has_secret,
                ..Plan::default()
            },
            _ => sized,
        }
    }

    /// An option that a filter of this plan does not have.
    pub(super) fn other(&self, random: &mut Random) -> Option<String> {
        let Plan { kind, more, .. } = self;
        let is = |name: &str| *kind == Some(name);
        let has = |word: &str| more.contains(&word);
        let differing = [
            ("-n7654321", true),
            ("--rate=0.0123", true),
            (
                "--kind=bloom",
                !is("bloom")
                    && self
                        .scheme
                        .is_none_or(|scheme| scheme.starts_with("rapidhash")),
            ),
            ("--kind=counting", !is("counting")),
            ("--scheme=siphash", !self.has_secret),
            ("--scheme=guava32", true),
            ("--counter-bits=2", true),
            ("--counter-bits=16", !is("spectral")),
            ("--policy=minimum-selection", true),
            (
                "--policy=minimal-increase",
                !has("--policy=minimal-increase"),
            ),
            ("--areas=8", true),
            ("--areas=7", !is("spatial")),
            ("--rotate-by=command", true),
            ("--rotate-by=keys", !is("windowed")),
        ];
        let differing: Vec<&str> = differing
            .iter()
            .filter(|(_, differs)| *differs)
            .map(|(word, _)| *word)
            .collect();
        random
            .once_in(2)
            .then(|| random.pick(&differing).to_owned())
    }
}
