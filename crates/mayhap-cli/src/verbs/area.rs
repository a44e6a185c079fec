//! `mayhap area`: which area, or which of two sets, each key belongs to.

use mayhap::AnyFilter;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use serde_json::Value;

use crate::given::GivenArgs;

/// Prints which area, or which of two sets, keys belong to.
///
/// Each line is printed after the area of its key and a tab; `-` means that it is certainly in none. In a filter of the
/// kind `spatial` the area is a number; in one of the kind `shifting-association` it is `first`, `second` or `both`, or
/// several of them where it may be any.
///
/// Exit codes: 0 when a key has an area, 1 when none has, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap area zones.mayhap keys                each line after its area
  echo ann | mayhap area --json zones.mayhap   an object for each line
  mayhap area -k 1 zones.mayhap urls.txt       the area of the first field of each line";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        match self.given.read()? {
            AnyFilter::ShiftingAssociation(filter) => self.tell(global, |key| {
                let regions = filter.regions(key);
                match regions.is_empty() {
                    true => Value::Null,
                    false => regions.to_string().into(),
                }
            }),
            other => {
                let filter = other.as_area()?;
                self.tell(global, |key| filter.area_bytes(key).into())
            }
        }
    }

    fn tell(&self, global: &Global, area_of: impl Fn(&[u8]) -> Value) -> Result<Exit> {
        let head = |area: &Value| match area {
            Value::Null => "-\t".into(),
            Value::String(area) => format!("{area}\t"),
            area => format!("{area}\t"),
        };
        self.given.tell(global, "area", area_of, head)
    }
}
