//! A filter on display.

use std::collections::BTreeMap;

use mayhap::kinds::{
    Cascade, FuseShape, Place, Places, Region, RibbonShape, ShiftingAssociation,
    ShiftingMultiplicity,
};
use mayhap::{
    AnyFilter, Assemble as _, Bitmap, Bloom, Digester, Filter as _, Fuse, Hashing, Inserts, Kind,
    Ribbon, Scheme, SecretKey, Shape, Stats, bits::Bits as _, kinds::Needed,
};

use crate::Refusal;

/// The properties asked of a filter.
///
/// ```
/// use mayhap_explore::{Exhibit, Request};
///
/// let request = Request::new("bloom guava64 -", 1000, 0.01, None)?;
/// let mut exhibit = Exhibit::new(request)?;
/// assert!(exhibit.insert(b"hello", 1)?, "definitely new");
/// assert!(exhibit.contains(b"hello"));
/// # Ok::<(), mayhap_explore::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    /// The kind; `None` for a plain bitmap.
    kind: Option<Kind>,
    /// The scheme; `None` for the default of the kind.
    scheme: Option<Scheme>,
    capacity: u64,
    rate: f64,
    shape: Option<Shape>,
}

impl Request {
    /// Parses a kind, a scheme or `-`, and a secret in hexadecimal or `-`, for this capacity and rate; or for exactly
    /// these bits and hashes, which only `bloom` can have. The kind `bitmap` is not a filter: its keys are the numbers
    /// of bits.
    ///
    /// # Errors
    ///
    /// When a name is unknown, or the secret is invalid.
    pub fn new(
        words: &str,
        capacity: u64,
        rate: f64,
        shape: Option<(u64, u32)>,
    ) -> Result<Request, Refusal> {
        let mut words = words.split_whitespace();
        let mut word = || {
            let missing = || Refusal::new("name", "expected a kind, a scheme and a secret");
            words.next().ok_or_else(missing)
        };
        let (kind, scheme, secret) = (word()?, word()?, word()?);
        let secret = match secret {
            "-" => None,
            hex => Some(secret_of(hex)?),
        };
        let scheme = match scheme {
            "-" => None,
            name => Some(Scheme::named(name, secret.as_ref())?),
        };
        let kind = match kind {
            "bitmap" => None,
            name => Some(name.parse::<Kind>()?),
        };
        let shape = shape.map(|(bits, hashes)| Shape::new(bits, hashes));
        Ok(Request {
            kind,
            scheme,
            capacity,
            rate,
            shape: shape.transpose()?,
        })
    }

    fn digester(&self) -> Result<Digester, Refusal> {
        match &self.scheme {
            None => Ok(Digester::default()),
            Some(Scheme::Native(digester)) => Ok(digester.clone()),
            Some(other) => {
                let reason = format!("only the kind bloom has the scheme {other}");
                Err(Refusal::new("scheme", reason))
            }
        }
    }
}

fn secret_of(hex: &str) -> Result<SecretKey, Refusal> {
    let byte = |at: usize| {
        hex.get(at..at + 2)
            .and_then(|two| u8::from_str_radix(two, 16).ok())
    };
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Refusal::new("secret", "a secret is 32 hexadecimal digits"))?;
    Ok(SecretKey::from_bytes(bytes))
}

/// A filter, or a bitmap, and its keys if it has to be built again.
#[derive(Debug)]
pub struct Exhibit {
    request: Request,
    body: Body,
    /// The keys of a filter that is built once, and the set or the count of each.
    keys: BTreeMap<Vec<u8>, Labels>,
}

#[derive(Debug)]
enum Body {
    Filter(Box<AnyFilter>),
    Bitmap(Bitmap),
}

/// The number of times a key was inserted with the label 1, and with 2.
type Labels = [u64; 2];

impl Exhibit {
    /// Makes an empty filter.
    ///
    /// # Errors
    ///
    /// When such a filter cannot exist, or there is no memory for it.
    pub fn new(request: Request) -> Result<Exhibit, Refusal> {
        let body = match request.kind {
            None => Body::Bitmap(Bitmap::new(request.capacity)?),
            Some(kind) => Body::Filter(Box::new(empty(kind, &request)?)),
        };
        Ok(Exhibit {
            request,
            body,
            keys: BTreeMap::new(),
        })
    }

    /// Inserts a key; returns true when it was *definitely* not in the filter before.
    ///
    /// The label is the area of a spatial filter, and 1 or 2 for the first or the second set of the kinds that have
    /// two: included or excluded in a cascade, and on the white list of a guarded filter if it is 2.
    ///
    /// # Errors
    ///
    /// When a kind cannot have the key with this label.
    pub fn insert(&mut self, key: &[u8], label: u32) -> Result<bool, Refusal> {
        let filter = match &mut self.body {
            Body::Bitmap(bitmap) => {
                let mut new = false;
                for position in positions(key)? {
                    new |= bitmap.try_set(position)?;
                }
                return Ok(new);
            }
            Body::Filter(filter) => filter,
        };
        let was_there = filter.contains(key);
        match (&mut **filter, label) {
            (AnyFilter::Spatial(spatial), area) => {
                let before = spatial.insert_area(key, area.max(1))?;
                return Ok(before.is_none());
            }
            (AnyFilter::Guarded(guarded), 2) => {
                guarded.report_false_positive(key)?;
                return Ok(false);
            }
            (other, _) if other.kind().inserts() != Inserts::Never => {
                return Ok(other.insert(key)?);
            }
            _ => {}
        }
        let before = self.keys.clone();
        let labels = self.keys.entry(key.to_vec()).or_default();
        labels[usize::from(label == 2)] += 1;
        match built(&self.request, &self.keys) {
            Ok(filter) => self.body = Body::Filter(Box::new(filter)),
            Err(refused) => {
                self.keys = before;
                return Err(refused);
            }
        }
        Ok(!was_there)
    }

    /// Returns whether a key may be in the filter; for a bitmap, whether all of its bits are set.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.body {
            Body::Filter(filter) => filter.contains(key),
            Body::Bitmap(bitmap) => positions(key)
                .is_ok_and(|positions| positions.iter().all(|&position| bitmap.get(position))),
        }
    }

    /// Removes a key once; returns false when it was certainly not there.
    ///
    /// # Errors
    ///
    /// When nothing can be removed from filters of the kind.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool, Refusal> {
        match &mut self.body {
            Body::Filter(filter) => {
                let filter = filter.as_remove()?;
                Ok(filter.remove_bytes(key)?)
            }
            Body::Bitmap(bitmap) => {
                let mut cleared = false;
                for position in positions(key)? {
                    cleared |= position < bitmap.size() && bitmap.clear(position);
                }
                Ok(cleared)
            }
        }
    }

    /// Ends the current generation of a window; other kinds have none.
    pub fn rotate(&mut self) {
        if let Body::Filter(filter) = &mut self.body
            && let AnyFilter::Windowed(windowed) = &mut **filter
        {
            windowed.rotate();
        }
    }

    /// Finds the places of a key.
    pub fn places(&self, key: &[u8]) -> Vec<Places> {
        match &self.body {
            Body::Filter(filter) => filter.places(key),
            Body::Bitmap(bitmap) => {
                let positions = positions(key).unwrap_or_default();
                let place = |number| Place {
                    number,
                    first_bit: number,
                    value: u64::from(bitmap.get(number)),
                };
                vec![Places {
                    part: 0,
                    layer: None,
                    unit: "bit",
                    width: 1,
                    stride: 1,
                    places: positions.into_iter().map(place).collect(),
                    needed: Needed::NoZero,
                }]
            }
        }
    }

    /// The arrays of bits.
    pub fn parts(&self) -> Vec<&Bitmap> {
        match &self.body {
            Body::Filter(filter) => filter.parts(),
            Body::Bitmap(bitmap) => vec![bitmap],
        }
    }

    /// The statistics of the filter; `None` for a bitmap.
    pub fn stats(&self) -> Option<Stats> {
        self.filter().map(|filter| filter.stats())
    }

    /// The filter, if it is one.
    pub fn filter(&self) -> Option<&AnyFilter> {
        match &self.body {
            Body::Filter(filter) => Some(filter),
            Body::Bitmap(_) => None,
        }
    }

    /// The filter, to insert millions of keys into.
    pub fn filter_mut(&mut self) -> Option<&mut AnyFilter> {
        match &mut self.body {
            Body::Filter(filter) => Some(filter),
            Body::Bitmap(_) => None,
        }
    }
}

/// Parses the numbers in a key of a bitmap.
fn positions(key: &[u8]) -> Result<Vec<u64>, Refusal> {
    let text = std::str::from_utf8(key).unwrap_or("");
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers {
        Ok(numbers) if !numbers.is_empty() => Ok(numbers),
        _ => Err(Refusal::new(
            "numbers",
            "the keys of a bitmap are whole numbers",
        )),
    }
}

/// Makes the filter of a request, without keys.
fn empty(kind: Kind, request: &Request) -> Result<AnyFilter, Refusal> {
    if let (Kind::Bloom, Some(shape)) = (kind, request.shape) {
        let scheme = request.scheme.clone().unwrap_or_default();
        return Ok(Bloom::new(shape, scheme)?.into());
    }
    if kind.inserts() == Inserts::Never {
        return built(request, &BTreeMap::new());
    }
    let mut plan = kind.plan(request.capacity, request.rate)?;
    if let Some(scheme) = &request.scheme
        && plan.hashing != Hashing::Xxh64
    {
        plan = plan.hashed_by(scheme.clone())?;
    }
    Ok(AnyFilter::new(&plan)?)
}

/// Builds the filter of a kind that is built once, from these keys.
fn built(request: &Request, keys: &BTreeMap<Vec<u8>, Labels>) -> Result<AnyFilter, Refusal> {
    let (digester, rate) = (request.digester()?, request.rate);
    let labelled = |label: usize| {
        let keys = keys.iter().filter(move |(_, labels)| labels[label] > 0);
        keys.map(|(key, _)| key.as_slice())
    };
    let all = keys.keys().map(Vec::as_slice);
    let count = (keys.len() as u64).max(1);
    let filter = match request.kind {
        Some(Kind::Fuse) => FuseShape::for_rate(count, rate)
            .and_then(|shape| Fuse::build(digester, shape.fingerprint_bits(), all))
            .map(AnyFilter::from),
        Some(Kind::Ribbon) => RibbonShape::for_rate(count, rate)
            .and_then(|shape| Ribbon::build(digester, shape.fingerprint_bits(), all))
            .map(AnyFilter::from),
        Some(Kind::Cascade) => {
            Cascade::build(digester, labelled(0), labelled(1)).map(AnyFilter::from)
        }
        Some(Kind::ShiftingAssociation) => {
            let made = windows(Kind::ShiftingAssociation, request)
                .and_then(|(shape, span)| ShiftingAssociation::new(shape, span, digester));
            made.map(|mut filter| {
                for (key, labels) in keys {
                    filter.insert_region(&key[..], region(labels));
                }
                filter.into()
            })
        }
        Some(Kind::ShiftingMultiplicity) => {
            let made = windows(Kind::ShiftingMultiplicity, request)
                .and_then(|(shape, most)| ShiftingMultiplicity::new(shape, most, digester));
            made.and_then(|mut filter| {
                for (key, labels) in keys {
                    filter.insert_times(&key[..], labels[0] + labels[1])?;
                }
                Ok(filter.into())
            })
        }
        _ => return Err(Refusal::new("other", "the kind is not built once")),
    };
    Ok(filter?)
}

fn region(labels: &Labels) -> Region {
    match labels {
        [0, _] => Region::Second,
        [_, 0] => Region::First,
        _ => Region::Both,
    }
}

/// The positions and the width of the windows of a kind for a capacity and a rate.
fn windows(kind: Kind, request: &Request) -> mayhap::Result<(Shape, u32)> {
    let plan = kind.plan(request.capacity, request.rate)?;
    let span = plan.detail;
    let shape = Shape::new(plan.bits + 1 - u64::from(span), plan.hashes)?;
    Ok((shape, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn every_kind_and_scheme_finds_what_was_inserted() {
        let kinds = Kind::ALL.iter().map(|kind| (kind.name(), "-"));
        let schemes = Scheme::NAMES.iter().map(|&(name, _)| ("bloom", name));
        let keyed = Kind::ALL.iter().map(|kind| (kind.name(), "siphash"));
        for (kind, scheme) in kinds.chain(schemes).chain(keyed) {
            let secret = if scheme == "siphash" { SECRET } else { "-" };
            let words = format!("{kind} {scheme} {secret}");
            let request = Request::new(&words, 100, 0.01, None).expect("valid");
            let mut exhibit = Exhibit::new(request).expect(&words);
            for key in 0..20 {
                let key = format!("key {key}");
                // At 1 % a few are found before they are inserted.
                let found = exhibit.contains(key.as_bytes());
                let is_new = exhibit.insert(key.as_bytes(), 1).expect(&words);
                assert_eq!(is_new, !found, "{words}: {key}");
            }
            for key in 0..20 {
                assert!(exhibit.contains(format!("key {key}").as_bytes()), "{words}");
            }
        }
    }

    #[test]
    fn labels_are_sets_areas_and_lists() {
        let make = |kind: &str| {
            let request = Request::new(&format!("{kind} - -"), 100, 0.01, None);
            let mut exhibit = Exhibit::new(request.expect("valid")).expect("small");
            exhibit.insert(b"one", 1).expect("possible");
            exhibit.insert(b"two", 2).expect("possible");
            exhibit
        };
        assert!(!make("cascade").contains(b"two") && make("cascade").contains(b"one"));
        let refused = make("cascade").insert(b"one", 2);
        assert!(
            refused.is_err_and(|refused| refused.name == "overlap"),
            "in both sets"
        );
        match make("shifting-association").filter() {
            Some(AnyFilter::ShiftingAssociation(filter)) => {
                assert_eq!(filter.regions("two").only(), Some(Region::Second));
            }
            other => panic!("{other:?}"),
        }
        match make("spatial").filter() {
            Some(AnyFilter::Spatial(filter)) => assert_eq!(filter.area("two"), Some(2)),
            other => panic!("{other:?}"),
        }
        assert!(!make("guarded").contains(b"two"));
    }

    #[test]
    fn a_bitmap_has_a_bit_for_every_number() {
        let request = Request::new("bitmap - -", 8, 0.01, None).expect("valid");
        let mut bitmap = Exhibit::new(request).expect("small");
        for number in ["4", "7", "2", "5", "3"] {
            assert!(bitmap.insert(number.as_bytes(), 1).expect("a number"));
        }
        assert_eq!(
            bitmap.parts()[0].ones().collect::<Vec<u64>>(),
            [2, 3, 4, 5, 7]
        );
        assert!(bitmap.contains(b"2 3 4") && !bitmap.contains(b"2 6"));
        assert!(bitmap.insert(b"8", 1).is_err() && bitmap.insert(b"x", 1).is_err());
        assert!(bitmap.remove(b"4").expect("a number") && !bitmap.contains(b"4"));
    }
}
