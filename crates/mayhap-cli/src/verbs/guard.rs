//! `mayhap guard`: a white list for a filter's known false positives.

use std::collections::BTreeSet;

use mayhap::{AnyFilter, Filter as _, kinds::Guarded};
use mayhap_program::amounts::show_count;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, note};
use mayhap_program::global::Global;
use serde_json::json;

use crate::block::Block;
use crate::filters::held::WaitArgs;
use crate::filters::{FormatArgs, name_of};
use crate::given::GivenArgs;
use crate::keys::KeyArgs;
use crate::output::{Output, json_text, print_json};
use crate::pipeline::{self, Sink};

/// The help of the keys, which here are not those of the filter.
const KEYS: &str = "Files of keys that were never inserted; `-` or nothing is standard input";

/// Keeps a list of keys that a filter finds wrongly.
///
/// Give keys that were never inserted. Those that the filter finds anyway are put on a list, which is saved with it, and
/// are not found from then on. A filter of the kind `blocked` becomes one of the kind `guarded`. Give all these keys again
/// after `add`: a new key can make the filter find more of them.
///
/// Exit codes: 0 when the filter was saved or a list was printed, 1 when a list has no keys, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(mut_arg("keys", |keys| keys.help(KEYS)))]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// List more keys than the rate explains
    #[arg(short, long)]
    force: bool,

    /// Print the keys on the list, and change nothing
    #[arg(long, conflicts_with_all = ["keys", "force", "clear", "wait"])]
    list: bool,

    /// Take all keys off the list
    #[arg(long, conflicts_with_all = ["keys", "force"])]
    clear: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap guard spam.mayhap good.txt    no line of good.txt is found any more
  mayhap guard spam.mayhap < good.txt  the same from standard input
  mayhap guard --list spam.mayhap      the keys on its list";

/// Keys are refused when chance would find as many less often than this.
const CHANCE: f64 = 1e-6;

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        if self.list {
            return self.print_list(global);
        }
        let mut held = self.given.hold(self.wait, FormatArgs::default())?;
        let mut filter = guarded(held.filter)?;
        let mut known = 0;
        match self.clear {
            true => filter.clear_list(),
            false => {
                let mut found = Found {
                    filter: &filter,
                    args: &self.given.key,
                    keys: BTreeSet::new(),
                    known: 0,
                };
                pipeline::run(self.given.blocks(None)?, global.threads(), &mut found)?;
                let keys = found.keys;
                known = found.known;
                if !self.force {
                    self.refuse_inserted(keys.len() as u64, known, filter.stats().rate)?;
                }
                // The other known keys are answered rightly as it is.
                filter.refresh(&keys)?;
            }
        }
        let listed = filter.listed();
        held.filter = filter.into();
        held.save()?;
        if global.json {
            let name = name_of(&self.given.filter);
            print_json(&json!({ "filter": name, "known": known, "listed": listed }))?;
        } else {
            let (known, listed) = (show_count(known), show_count(listed as u64));
            note(format_args!(
                "{known} known keys, {listed} on the white list"
            ));
        }
        Ok(Exit::Success)
    }

    /// Prints the keys on the list.
    fn print_list(&self, global: &Global) -> Result<Exit> {
        let filter = guarded(self.given.read()?)?;
        let mut output = Output::standard()?;
        for mut key in filter.listed_keys() {
            match global.json {
                true => key = format!("{}\n", json!({ "key": json_text(&key) })).into(),
                false => key.push(self.given.key.lines.terminator()),
            }
            output.write(&key)?;
        }
        output.flush()?;
        Ok(Exit::found(filter.listed() > 0))
    }

    /// Refuses keys of which the filter finds more than its rate explains.
    ///
    /// Chernoff: of n keys that were never inserted, a share of q or more is found with a chance of at most
    /// e^(-n D), where D = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)) for a filter of rate p < q.
    fn refuse_inserted(&self, found: u64, known: u64, rate: f64) -> Result<()> {
        let share = found as f64 / known as f64;
        if known == 0 || rate >= share {
            return Ok(());
        }
        let term = |share: f64, rate: f64| match share > 0.0 {
            true => share * (share / rate).ln(),
            false => 0.0,
        };
        let distance = term(share, rate) + term(1.0 - share, 1.0 - rate);
        if (-(known as f64) * distance).exp() >= CHANCE {
            return Ok(());
        }
        let text = format!(
            "{} finds {} of the {} keys, and its rate explains {:.1}: inserted ones seem to be among them, and would \
             be denied",
            name_of(&self.given.filter),
            show_count(found),
            show_count(known),
            known as f64 * rate,
        );
        Err(Failure::new(text).hint(
            "give all keys that were never inserted, and no others; --force lists what is found all the same",
        ))
    }
}

/// The filter with its white list; one without gets an empty one.
fn guarded(filter: AnyFilter) -> Result<Guarded> {
    match filter {
        AnyFilter::Blocked(filter) => Ok(Guarded::guard(filter)?),
        AnyFilter::Guarded(filter) => Ok(filter),
        other => {
            let text = format!("a {} filter has no white list", other.kind());
            Err(Failure::new(text).hint("blocked and guarded ones have"))
        }
    }
}

/// The known keys that a filter finds wrongly.
struct Found<'a> {
    filter: &'a Guarded,
    args: &'a KeyArgs,
    /// Each once, however often it was given.
    keys: BTreeSet<Vec<u8>>,
    known: u64,
}

impl Sink for Found<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        for key in block.keys(self.args) {
            self.known += 1;
            if self.filter.contains_bytes(key) {
                self.keys.insert(key.to_vec());
            }
        }
        Ok(())
    }
}
