//! `mayhap area`: which area, or which of two sets, each key belongs to.

use mayhap::AnyFilter;
use serde_json::Value;

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::given::GivenArgs;

/// Prints each line after the area of its key and a tab; `-` is certainly in none. A filter of the kind `spatial` tells
/// the number of the area, one of the kind `shifting-association` `first`, `second` or `both`, or several of them
/// that it may be. Exit codes: 0 when a key has an area, 1 when none has.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: GivenArgs,
}

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
