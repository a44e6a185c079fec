//! Runs a command and tells what it took.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The cost of a command.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// From start to end.
    pub wall: Duration,
    /// On all cores together, in the program and in the system on its behalf.
    pub cpu: Duration,
    /// The most memory it had at a time, in bytes.
    pub peak: u64,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
}

/// Runs a program with its input from one file and its output to another.
///
/// # Errors
///
/// When it cannot be started or waited for.
pub fn run(command: &mut Command, input: Option<&Path>, output: &Path) -> io::Result<Taken> {
    let input = match input {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    };
    command
        .stdin(input)
        .stdout(File::create(output)?)
        .stderr(Stdio::null());
    let start = Instant::now();
    let child = command.spawn()?;
    let (mut status, mut usage) = (0, core::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to live memory of the right types; the child is ours, and nobody else
    // waits for it, because `child` is only asked for its id.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let wall = start.elapsed();
    // SAFETY: all bytes zero are a valid `rusage`, and the call filled it.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    Ok(Taken {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak: usage.ru_maxrss as u64 * 1024,
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
    })
}
