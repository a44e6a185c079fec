//! The `mayhap-lab` program: *is the promised rate true, and how fast is it here?*
//!
//! [`cli`] declares the arguments. [`data`] provides keys, [`survey`] the truth about them, [`fill`] fills a filter;
//! [`rate`], [`speed`] and [`posts`] are one experiment each and make a [`report`], whose tables and pictures each
//! format can show. [`explore`] writes a page in which you can watch filters at work.
#![forbid(unsafe_code)]

mod cli;
mod contenders;
mod data;
mod explore;
mod fill;
mod lines;
mod page;
mod posts;
mod rate;
mod report;
mod run;
mod speed;
mod survey;

use std::process::ExitCode;

use clap::Parser as _;
use mayhap_program::exit::Exit;

fn main() -> ExitCode {
    let cli = cli::Cli::try_parse().unwrap_or_else(|error| mayhap_program::refuse(error));
    Exit::of(cli.run()).into()
}
