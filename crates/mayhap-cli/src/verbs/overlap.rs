//! `mayhap overlap`: how many keys two filters have in common.

use std::path::PathBuf;

use mayhap::Assemble as _;
use mayhap_program::amounts::{show_count, show_rate};
use mayhap_program::columns;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use serde_json::json;

use crate::filters::{OpenArgs, explain, name_of, read};
use crate::output::{print, print_json};

/// Estimates how many keys two filters have in common.
///
/// Shows how many keys are in either filter, in both, and in one only. The filters must be built alike: same kind (bloom,
/// blocked or split-block), shape and scheme. The truth lies within the errors 19 times in 20.
///
/// Exit codes: 0 when the filters may have keys in common, 1 when they certainly have none, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A filter: a file, or redis://host#name
    #[arg(value_name = "A")]
    left: PathBuf,

    /// The filter to compare it with
    #[arg(value_name = "B")]
    right: PathBuf,

    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap overlap monday.mayhap tuesday.mayhap   keys of both days, and of one
  mayhap overlap --json a.mayhap b.mayhap       the same for a script
  mayhap overlap seen.mayhap redis://host#seen  a file and a filter on a server";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let OpenArgs { format, secret } = &self.open;
        let key = secret.secret()?;
        let (left, _, _) = read(&self.left, *format, key.as_ref())?;
        let (right, _, _) = read(&self.right, *format, key.as_ref())?;
        let descriptions = [&left.description(), &right.description()];
        secret.check_used(&descriptions, &self.left)?;
        let there = left.overlap(&right);
        let there = there.map_err(|error| explain(error, &self.right))?;
        let back = right.overlap(&left)?;
        if global.json {
            print_json(&json!({
                "left": there.left(),
                "right": there.right(),
                "union": there.union(),
                "union_error": 2.0 * there.union_deviation(),
                "intersection": there.intersection(),
                "intersection_error": 2.0 * there.deviation(),
                "only_left": there.difference(),
                "only_left_error": 2.0 * there.difference_deviation(),
                "only_right": back.difference(),
                "only_right_error": 2.0 * back.difference_deviation(),
                "similarity": there.jaccard(),
                "similarity_error": 2.0 * there.jaccard_deviation(),
                "disjoint": there.is_disjoint(),
            }))?;
            return Ok(Exit::found(!there.is_disjoint()));
        }
        let keys = |what: String, keys: f64, deviation: f64| {
            let error = show_count((2.0 * deviation).ceil() as u64);
            vec![what, show_count(keys.round() as u64), format!("± {error}")]
        };
        let (a, b) = (name_of(&self.left), name_of(&self.right));
        let mut rows = vec![
            keys("in either".into(), there.union(), there.union_deviation()),
            keys("in both".into(), there.intersection(), there.deviation()),
            keys(
                format!("only in {a}"),
                there.difference(),
                there.difference_deviation(),
            ),
            keys(
                format!("only in {b}"),
                back.difference(),
                back.difference_deviation(),
            ),
            vec![
                "similarity".into(),
                show_rate(there.jaccard()),
                format!("± {}", show_rate(2.0 * there.jaccard_deviation())),
            ],
        ];
        if there.is_disjoint() {
            rows.push(vec!["no bit is in both: no key is, for certain".into()]);
        } else if !there.is_certain() {
            rows.push(vec![
                "too little to tell from nothing: there may be no common key".into(),
            ]);
        }
        print(&columns::lines(&rows))?;
        Ok(Exit::found(!there.is_disjoint()))
    }
}
