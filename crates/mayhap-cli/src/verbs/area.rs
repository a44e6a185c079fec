//! `mayhap area`: which area, or which of two sets, each key belongs to.

use mayhap::AnyFilter;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use serde_json::Value;

use crate::given::GivenArgs;

pub(crate) const EXAMPLES: &str = "Examples:
  mayhap area zones.mayhap keys               each line after its area
  echo ann | mayhap area --json zones.mayhap  an object for each line
  mayhap area -k 1 zones.mayhap urls.txt      the area of the first field";

pub(crate) fn run(given: &GivenArgs, global: &Global) -> Result<Exit> {
    let tell = |area_of: &dyn Fn(&[u8]) -> Value| given.tell(global, "area", area_of, head);
    match given.read()? {
        AnyFilter::ShiftingAssociation(filter) => tell(&|key| {
            let regions = filter.regions(key);
            match regions.is_empty() {
                true => Value::Null,
                false => regions.to_string().into(),
            }
        }),
        other => {
            let filter = other.as_area()?;
            tell(&|key| filter.area_bytes(key).into())
        }
    }
}

/// The text before a line.
fn head(area: &Value) -> String {
    match area {
        Value::Null => "-\t".into(),
        Value::String(area) => format!("{area}\t"),
        area => format!("{area}\t"),
    }
}
