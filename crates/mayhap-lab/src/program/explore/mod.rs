//! `mayhap-lab explore`: a page in which filters can be watched at work.

mod page;

use std::path::PathBuf;

use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, note};
use mayhap_program::shown::shown_path;

use crate::page::Page;

/// Writes a page in which you can watch filters at work.
///
/// The page is one file. It has the filters of the library, compiled for browsers, and needs no network: type a key and
/// watch its bits, choose sizes by sliders, repeat published experiments, attack a filter, and measure the rate on keys of
/// your own, which never leave the page. In English and Chinese.
///
/// Exit codes: 0 when it was written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The page, which is replaced if it is there; `-` is standard output
    #[arg(default_value = "explore.html")]
    page: PathBuf,
}

const EXAMPLES: &str = "Examples:
  mayhap-lab explore                             explore.html in this folder; open it in a browser
  mayhap-lab explore filters.html                another file
  mayhap-lab explore - | gzip > explore.html.gz  to standard output";

impl Args {
    pub(crate) fn run(self) -> Result<Exit> {
        let wasm = wasm()?;
        let page = Page::open(&self.page)?;
        let text = page::assemble(wasm);
        page.write(&text)?;
        if !matches!(page, Page::Standard) {
            let kilobytes = text.len() / 1000;
            let path = shown_path(&self.page);
            note(format!("{path}: {kilobytes} kB; open it in a browser"));
        }
        Ok(Exit::Success)
    }
}

/// The filters, compiled for browsers. A package always has them.
fn wasm() -> Result<&'static [u8]> {
    let wasm = include_bytes!(concat!(env!("OUT_DIR"), "/explore.wasm"));
    if !wasm.is_empty() {
        return Ok(wasm);
    }
    let (missing, hint) = match option_env!("MAYHAP_EXPLORE_MISSING") {
        Some("target") => (
            "without the Rust target wasm32-unknown-unknown, which the page is made with",
            "add it and build again: rustup target add wasm32-unknown-unknown && cargo install --path crates/mayhap-lab",
        ),
        _ => (
            "without the page, because compiling the filters for browsers failed",
            "build it again, and see what cargo warns about",
        ),
    };
    Err(Failure::new(format!("this program was built {missing}")).hint(hint))
}
